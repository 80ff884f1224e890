// How Chromium is started, for the tests and for the screenshots.

/** Debian's package, unless `CHROMIUM` names another. */
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** No sandbox, because containers forbid it; media that play without a click, as a page does by itself in a test; no background requests, because the tests look at every request. */
export const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--autoplay-policy=no-user-gesture-required",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
