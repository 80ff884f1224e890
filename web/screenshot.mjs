// Pictures of a running node's page: `node screenshot.mjs http://127.0.0.1:7311/ FOLDER [SIGNAL]`.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "@playwright/test";

import { CHROMIUM, FLAGS } from "./browser.mjs";

const SHOTS = [
  { name: "page-light.png", width: 1400, height: 1000, scheme: "light", isLarge: false },
  { name: "page-dark.png", width: 1400, height: 1000, scheme: "dark", isLarge: false },
  { name: "signal-light.png", width: 1400, height: 1000, scheme: "light", isLarge: true },
  { name: "signal-dark.png", width: 1400, height: 1000, scheme: "dark", isLarge: true },
  { name: "phone.png", width: 390, height: 844, scheme: "light", isLarge: false },
  { name: "phone-signal.png", width: 390, height: 844, scheme: "dark", isLarge: true },
];

const [url, folder, signal = "cpu.availability"] = process.argv.slice(2);
if (url === undefined || folder === undefined) {
  console.error("usage: node screenshot.mjs NODE_URL FOLDER [SIGNAL]");
  process.exit(2);
}

await mkdir(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
try {
  for (const shot of SHOTS) await shoot(shot);
} finally {
  await browser.close();
}

async function shoot({ name, width, height, scheme, isLarge }) {
  const page = await browser.newPage({
    viewport: { width, height },
    colorScheme: scheme,
    deviceScaleFactor: 2,
  });
  const hash = isLarge ? `#/signal/${encodeURIComponent(signal)}` : "";
  await page.goto(new URL(hash, url).href);
  // A picture without a forecast would show nothing of what the page is for.
  if (isLarge) {
    await page.locator(".chart[data-upper-95]:not([data-upper-95=''])").waitFor();
    await page.locator(".accuracy table").waitFor();
    await page.locator(".chart[data-said-before]:not([data-said-before='0'])").waitFor();
  } else {
    await page.locator(".tile[data-upper]").first().waitFor();
    // The stream brings a sample or two before the history of a tile is there.
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".tile")]
        .filter((tile) => tile.checkVisibility() && tile.getBoundingClientRect().top < innerHeight)
        .every((tile) => Number(tile.dataset.samples) > 60),
    );
  }
  await page.screenshot({ path: join(folder, name) });
  await page.close();
  console.log(join(folder, name));
}
