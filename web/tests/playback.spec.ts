// Plug-ins and demo: what the controller makes of slow links, against what the players make of them.

import { expect, type Page } from "@playwright/test";

import type { Moment } from "../playback/pace.ts";
import { moments, open, PLAYERS, test } from "./playback.ts";

test("on a link at nine tenths of the rate each player breaks off more often than with this controller", async ({ browser, server }) => {
  const isEnough = (all: Moment[]) => (all.at(-1)?.wallSeconds ?? 0) > 32;
  const run = async (player: string, law: string) => {
    const page = await open(browser, server.url, { player, law, link: "slow", start: "1" });
    const all = await moments(page, isEnough);
    const keepsPitch = await page.evaluate(() => document.querySelector("video")!.preservesPitch);
    await page.close();
    return { all, keepsPitch };
  };
  await Promise.all(
    PLAYERS.map(async (player) => {
      const [ours, own] = await Promise.all([run(player, "restricted"), run(player, "own")]);
      const nOwn = own.all.at(-1)!.nBreaks;
      console.log(`${player}: ${ours.all.at(-1)!.nBreaks} breaks with ours, ${nOwn} with its own law`);
      expect(nOwn, player).toBeGreaterThan(0);
      expect(ours.all.at(-1)!.nBreaks, player).toBeLessThan(nOwn);
      expect(ours.keepsPitch, player).toBe(true);
      checkRates(ours.all, player);
      const slowest = Math.min(...ours.all.map(({ rate }) => rate).filter((rate) => rate > 0));
      expect(slowest, player).toBeLessThan(1);
      expect(ours.all.map(({ decision }) => decision?.cause), player).toContain("arrival");
    }),
  );
});

test("a rendition that is not carried at the wished speed is not picked", async ({ browser, server }) => {
  const limited = async (player: string, rate: string, limit: number) => {
    const page = await open(browser, server.url, { player, rate, link: "enough", start: "1" });
    const source = `(all) => { const last = all.at(-1); return last?.bitrateLimit === ${limit} && last.bitrate !== null && last.bitrate <= ${limit}; }`;
    await moments(page, source as unknown as (all: Moment[]) => boolean);
    await page.close();
  };
  // 105 kbit/s carry the second rendition as it is, and not at 1.6 times its speed.
  await Promise.all(PLAYERS.flatMap((player) => [limited(player, "1", 71_560), limited(player, "1.6", 38_280)]));
});

test("after a break it goes on half a second before, and a listener's own rate is the one asked for", async ({ browser, server }) => {
  const page = await open(browser, server.url, { player: "hls.js", link: "slow", start: "1" });
  const carry = async (bits: number) => {
    const link = await page.evaluate(() => window.link);
    await fetch(link, { method: "POST", body: JSON.stringify({ trace: [[600, bits]] }) });
  };
  await moments(page, (all) => (all.at(-1)?.mediaSeconds ?? 0) > 1);
  await carry(0);
  await moments(page, (all) => all.at(-1)!.nBreaks === 1);
  await carry(300_000);
  const all = await moments(page, (all) => !all.at(-1)!.isHolding);
  const resumed = all.findLastIndex(({ isHolding }) => isHolding);
  const back = all[resumed]!.mediaSeconds - all[resumed + 1]!.mediaSeconds;
  // What was played since then is less than it went back.
  expect(back).toBeGreaterThan(0);
  expect(back).toBeLessThanOrEqual(0.5);
  await setRate(page, 1.25);
  await moments(page, (all) => all.at(-1)!.requestedRate === 1.25 && all.at(-1)!.rate > 1.2);
  const refusal = await page.evaluate(() => {
    try {
      window.pace!.requestedRate = NaN;
      return "";
    } catch (error) {
      return String(error);
    }
  });
  expect(refusal).toContain("a rate of NaN: it has to be from 0.0625 to 16");
});

test("one file over a slow link, and live media over one that is fast enough", async ({ browser, server }) => {
  const plain = async () => {
    const page = await open(browser, server.url, { player: "plain", link: "slow", start: "1" });
    checkRates(await moments(page, (all) => all.some(({ rate, decision }) => rate > 0 && rate < 1 && decision?.cause === "arrival")), "plain");
  };
  const live = async (player: string) => {
    const page = await open(browser, server.url, { player, link: "plenty", live: "1", start: "1" });
    const all = await moments(page, (all) => all.filter(({ rate }) => rate > 0).length > 20);
    checkRates(all, player);
  };
  await Promise.all([plain(), ...PLAYERS.map(live)]);
});

/** Within the limits, and never a jump while there is sound. */
function checkRates(all: Moment[], player: string): void {
  const heard = all.map(({ rate }) => rate).filter((rate) => rate > 0);
  expect(heard.length, player).toBeGreaterThan(0);
  expect(heard.every((rate) => rate >= 0.8 - 1e-9 && rate <= 1.1 + 1e-9), `${player}: ${heard}`).toBe(true);
  for (const [idx, { rate }] of all.entries()) {
    const before = all[idx - 1]?.rate ?? 0;
    if (rate > 0 && before > 0) expect(Math.abs(rate - before), `${player} at ${idx}`).toBeLessThan(0.0101);
  }
}

async function setRate(page: Page, rate: number): Promise<void> {
  await page.evaluate((rate) => (document.querySelector("video")!.playbackRate = rate), rate);
}
