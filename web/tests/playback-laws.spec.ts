// The laws of other players, written anew in `crates/playback`, against the players themselves.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, type Browser } from "@playwright/test";

import type { Core } from "../playback/core.ts";
import type { Line } from "../playback/laws.ts";
import { core, open, PLAYERS, test } from "./playback.ts";

/** Bits per second; a live medium falls behind in each, and comes back. */
const TRACES: Record<string, [seconds: number, bits: number][]> = {
  outage: [[5, 300_000], [3.5, 0], [600, 300_000]],
  slow: [[4, 300_000], [8, 50_000], [600, 300_000]],
  lumps: [[0.4, 800_000], [1.2, 20_000]],
};

/** Of each run. */
const N_LINES = 45;

/** Of the moments: dash.js puts a change off while the element has no data, and makes it when it is no longer what its law says. */
const SHARE_SAME = 0.95;

/** How far apart two rates may be that are the same: dash.js and its law are each up to the smallest change off the curve, and the others' rates are in steps. */
const SAME: Record<string, number> = { "hls.js": 1e-6, "dash.js": 2 * 0.02 + 1e-6, shaka: 1e-6 };

for (const player of PLAYERS) {
  test(`${player}: its rate follows the law that is written after it`, async ({ browser, server }) => {
    // Shaka has one law for live media and one on demand; the others have none on demand.
    const kinds = player === "shaka" ? [true, false] : [true];
    const runs = kinds.flatMap((isLive) => Object.keys(TRACES).map((trace) => ({ player, trace, isLive })));
    const laws = await core();
    const recorded = await Promise.all(runs.map(async (run) => ({ ...run, lines: await record(browser, server.url, run) })));
    const compared = recorded.flatMap((run) => compare(laws, run).map((line) => ({ ...line, run })));
    // A law that is told the same a moment later does the same a moment later.
    const others = compared.filter(({ near, rate }) => near.every((ours) => Math.abs(ours - rate) > SAME[player]!));
    const rates = new Set(compared.map(({ rate }) => rate.toFixed(2)));
    const version = await versionOf(player);
    console.log(`${player} ${version}: ${compared.length} moments, ${rates.size} rates; at ${others.length} of them ours is another`);
    for (const { run, rate, ours, bufferSeconds, offsetSeconds } of others) {
      console.log(`  ${run.trace}: buffer ${bufferSeconds}, offset ${offsetSeconds}, played at ${rate}, ours ${ours}`);
    }
    expect(others.length).toBeLessThanOrEqual((1 - SHARE_SAME) * compared.length);
    // One that never moved would follow anything.
    expect(rates.size).toBeGreaterThan(1);
  });
}

interface Run {
  player: string;
  trace: string;
  isLive: boolean;
}

async function record(browser: Browser, url: string, { player, trace, isLive }: Run): Promise<Line[]> {
  const made = await fetch(`${url}links`, { method: "POST", body: JSON.stringify({ trace: TRACES[trace], isLive }) });
  const { path } = (await made.json()) as { path: string };
  const page = await open(browser, `${url}laws.html`, { player, link: path, live: isLive ? "1" : "0" });
  const enough = page.waitForFunction((n) => window.lines.length >= n || window.failure !== null, N_LINES, { timeout: 100_000, polling: 250 });
  await enough.catch(async (error: Error) => {
    const lines = await page.evaluate(() => window.lines);
    throw new Error(`${player} on ${trace}, live ${isLive}: ${error.message}: ${lines.length} lines, ${JSON.stringify(lines.at(-1))}`);
  });
  const { lines, failure } = await page.evaluate(() => ({ lines: window.lines, failure: window.failure }));
  if (failure !== null) throw new Error(`${player} on ${trace}: ${failure}`);
  await page.close();
  return lines;
}

/** What our law says at each line, and what it says at the ones beside it. */
function compare(laws: Core, { player, lines }: Run & { lines: Line[] }) {
  // What the players are configured with.
  const controller = laws.open({ law: player, model: "LAST", slowest: 0.5, fastest: 1.5, requestedRate: 1 });
  const ours = lines.map(({ seconds, bufferSeconds, offsetSeconds, targetSeconds }, idx) => {
    const situation = {
      bufferSeconds,
      capacitySeconds: 6,
      startSeconds: 3,
      leftSeconds: Infinity,
      doesSenderWait: true,
      live: offsetSeconds === null ? null : { offsetSeconds: Math.max(offsetSeconds, 0), targetSeconds },
      requestedRate: 1,
      scale: 1,
    };
    return controller.decide(situation, seconds - (lines[idx - 1]?.seconds ?? seconds)).rate;
  });
  controller.close();
  return lines.map((line, idx) => ({ ...line, ours: ours[idx]!, near: ours.slice(Math.max(idx - 1, 0), idx + 2) }));
}

async function versionOf(player: string): Promise<string> {
  const folder = { "hls.js": "hls.js", "dash.js": "dashjs", shaka: "shaka-player" }[player]!;
  const text = await readFile(join(import.meta.dirname, "../node_modules", folder, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
