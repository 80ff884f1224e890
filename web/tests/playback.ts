// What the tests of playback share: media, and a server with links that are as slow as the test says.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test as base, type Browser, type Page } from "@playwright/test";

import { Core } from "../playback/core.ts";
import { makeMedia } from "../playback/media.mjs";
import type { Moment } from "../playback/pace.ts";
import { serve } from "../playback/server.mjs";

const PLAYBACK = join(import.meta.dirname, "../playback");

/** Long enough for each test, and made once for a target folder. */
const MEDIA_SECONDS = 120;
const MEDIA = join(process.env["CARGO_TARGET_DIR"] ?? join(import.meta.dirname, "../../target"), `playback-media-${MEDIA_SECONDS}`);

/** The players that fetch fragments. */
export const PLAYERS = ["hls.js", "dash.js", "shaka"] as const;

interface Fixtures {
  /** Where media and pages are. */
  server: { url: string };
}

/** A test with a server of media, which its worker keeps. */
export const test = base.extend<object, Fixtures>({
  server: [
    async ({}, use) => {
      await makeMedia(MEDIA, MEDIA_SECONDS);
      const server = await serve({ pages: join(PLAYBACK, "dist"), media: MEDIA });
      await use(server);
      server.close();
    },
    { scope: "worker" },
  ],
});

/** The controller, as pages have it. */
export async function core(): Promise<Core> {
  return Core.load(await readFile(join(PLAYBACK, "playback.wasm")));
}

/** A page that runs with these parameters; what is wrong with it fails the test. */
export async function open(browser: Browser, url: string, parameters: Record<string, string>): Promise<Page> {
  const page = await browser.newPage();
  page.on("pageerror", (error) => {
    throw error;
  });
  await page.goto(`${url}?${new URLSearchParams(parameters)}`);
  return page;
}

/** The moments of the demo once `isEnough` says so of them, or it says why there will be no more. */
export async function moments(page: Page, isEnough: (moments: Moment[]) => boolean): Promise<Moment[]> {
  const source = `(() => { const m = window.moments; return document.querySelector("#message").textContent !== "" || (${isEnough})(m); })()`;
  const enough = page.waitForFunction(source, undefined, { timeout: 100_000, polling: 250 });
  // What it came to says more than that time is up.
  await enough.catch(async (error: Error) => {
    const last = await page.evaluate(() => window.moments.at(-1));
    throw new Error(`${page.url()}: ${error.message}: it came to ${JSON.stringify(last)}`);
  });
  const message = await page.textContent("#message");
  if (message) throw new Error(message);
  return page.evaluate(() => window.moments);
}
