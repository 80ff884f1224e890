// A picture of the demo after a minute over a mobile link: `node screenshot.mjs MEDIA_FOLDER FILE`.

import { join } from "node:path";
import { chromium } from "@playwright/test";

import { CHROMIUM, FLAGS } from "../browser.mjs";
import { makeMedia } from "./media.mjs";
import { serve } from "./server.mjs";

const [media, file] = process.argv.slice(2);
if (media === undefined || file === undefined) {
  console.error("usage: node screenshot.mjs MEDIA_FOLDER FILE");
  process.exit(2);
}
await makeMedia(media, 120);
const server = await serve({ pages: join(import.meta.dirname, "dist"), media });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
try {
  const page = await browser.newPage({ viewport: { width: 1120, height: 900 }, colorScheme: "light", deviceScaleFactor: 2 });
  await page.goto(`${server.url}?player=hls.js&link=mobile&start=1`);
  await page.waitForFunction(() => window.moments.at(-1)?.wallSeconds > 75, undefined, { timeout: 300_000 });
  await page.screenshot({ path: file, fullPage: true });
  console.log(file);
} finally {
  await browser.close();
  server.close();
}
