import { expect, test } from "vitest";

import { csvName, toCsv } from "../src/csv.ts";
import { History } from "../src/history.ts";
import { downState, retryDelayMs } from "../src/link.ts";
import { aheadText, forecastLine, historyLine, readingText, rememberedLine } from "../src/lines.ts";
import { neighbour } from "../src/neighbour.ts";
import { waitingText } from "../src/panel.ts";
import { bucketMs, horizonsMs, nearest, spansMs } from "../src/reach.ts";
import { hashOf, idIn } from "../src/route.ts";

const T0 = Date.parse("2026-11-21T09:00:00Z");

const FORECAST = {
  id: "a",
  unit: "tasks",
  origin: "2026-11-21T09:00:01Z",
  step_seconds: 1,
  confidence: 0.8,
  model: "LAST",
  mean: [2],
  standard_error: [0.5],
  lower: [1],
  upper: [3],
};

test("the usual horizons are offered as the step allows", () => {
  expect(horizonsMs(1_000)).toEqual([10_000, 30_000, 60_000, 300_000, 600_000]);
  expect(horizonsMs(60_000)).toEqual([60_000, 300_000, 600_000]);
  expect(horizonsMs(100_000)).toEqual([300_000, 600_000]);
  expect(horizonsMs(3_600_000)).toEqual([1, 10, 30, 60].map((steps) => steps * 3_600_000));
  expect(nearest(horizonsMs(60_000), 10_000)).toBe(60_000);
});

test("no history is asked for in more than 3,600 values, each a whole number of steps", () => {
  for (const stepMs of [10, 100, 1_000, 1_500, 7_000, 60_000]) {
    for (const spanMs of spansMs(stepMs)) {
      const bucket = bucketMs(spanMs, stepMs);
      expect(spanMs / bucket).toBeLessThanOrEqual(3_600);
      expect(bucket % stepMs).toBe(0);
    }
  }
  expect(bucketMs(600_000, 1_000)).toBe(1_000);
  expect(bucketMs(86_400_000, 1_000)).toBe(60_000);
});

test("arrow keys move in reading order and to the nearest tile of the next row", () => {
  const row = (top: number, ...lefts: number[]) => lefts.map((left) => ({ left, top }));
  const places = [...row(0, 0, 100, 200), ...row(50, 0), ...row(90, 0, 100)];
  const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"] as const;
  expect(keys.map((key) => neighbour(places, 2, key))).toEqual([1, 3, 2, 3, 0, 5]);
  expect(neighbour(places, 5, "ArrowUp")).toBe(3);
  expect(neighbour(places, 5, "ArrowDown")).toBe(5);
});

test("a hash holds any id", () => {
  for (const id of ["load.1m", "<img src=x onerror=1>", "a/b?c#d%", "ü"]) expect(idIn(hashOf(id))).toBe(id);
  expect([idIn(""), idIn("#/other"), idIn("#/signal/%E0")]).toEqual([null, null, null]);
});

test("the pause between attempts doubles up to eight seconds", () => {
  expect([0, 1, 2, 5, 1_000].map(retryDelayMs)).toEqual([250, 500, 1_000, 8_000, 8_000]);
});

test("a node is called gone after ten seconds", () => {
  expect(downState(T0, T0 + 9_999, "no answer")).toEqual({ kind: "reconnecting", sinceMs: T0 });
  expect(downState(T0, T0 + 10_000, "no answer")).toEqual({ kind: "gone", sinceMs: T0, why: "no answer" });
});

test("the CSV has the samples, gaps empty, and then the forecast", () => {
  expect(toCsv(T0, 1_000, [1, null], FORECAST).split("\n")).toEqual([
    "time,measured,forecast,standard_error,lower,upper,confidence",
    "2026-11-21T09:00:00.000Z,1,,,,,",
    "2026-11-21T09:00:01.000Z,,,,,,",
    "2026-11-21T09:00:02.000Z,,2,0.5,1,3,0.8",
    "",
  ]);
});

test("a file name holds nothing that a file system refuses", () => {
  expect(csvName("db1", "<a>/../b", "2026-11-21T09:00:00Z")).toBe("db1_-a-..-b_2026-11-21T09-00-00Z.csv");
});

test("what a model waits for is a sentence", () => {
  expect(waitingText({ for: "AR(16)", reason: "too_short", have: 40, need: 80 })).toBe(
    "AR(16) needs 80 samples and has 40",
  );
  expect(waitingText({ for: "AR(16)", reason: "constant", have: null, need: null })).toContain("do not vary");
});

test("a forecast begins at the sample it was made from", () => {
  const begun = { times: [T0 + 1_000, T0 + 2_000], mean: [5, 2], lower: [5, 1], upper: [5, 3] };
  expect(forecastLine(FORECAST, 5)).toEqual(begun);
  expect(forecastLine(FORECAST, null).times).toEqual([T0 + 2_000]);
});

test("the line of remembered forecasts breaks where some are missing", () => {
  const time = [0, 10, 20, 50, 60].map((second) => new Date(T0 + second * 1_000).toISOString());
  const remembered = { id: "a", lead_seconds: 60, time, mean: [1, 2, 3, 4, 5], standard_error: [0, 0, 0, 0, 0] };
  expect(rememberedLine(remembered).mean).toEqual([1, 2, 3, null, 4, 5]);
  expect(rememberedLine(null).times).toEqual([]);
});

test("the end of the forecast is a sentence", () => {
  expect(aheadText(FORECAST, "tasks")).toBe("in 1 s: 2.00 tasks, with 80 % confidence 1.00 – 3.00 tasks");
  expect(aheadText(null, "tasks")).toBe("no forecast yet");
});

test("the pointer reads samples before the origin and the forecast after it", () => {
  const reading = { timeMs: T0, measured: 1, mean: null, lower: null, upper: null, remembered: 2 };
  expect(readingText(reading, "tasks", T0, 60_000)).toMatch(/ · measured 1\.00 tasks · said 1 min before 2\.00 tasks$/);
  const ahead = { ...reading, measured: null, mean: 2, lower: 1, upper: 3, remembered: null };
  expect(readingText(ahead, "tasks", T0 - 1_000, null)).toMatch(/ · forecast 2\.00 tasks \(1\.00 – 3\.00 tasks\)$/);
});

test("means over buckets end with the samples of the last ticks", () => {
  const buckets = new History(10_000, 100);
  buckets.merge(T0, [1, 2, 3]);
  const recent = new History(1_000, 100);
  recent.merge(T0 + 19_000, [20, 30, 31, 32]);
  expect(historyLine(buckets, recent)).toEqual({
    times: [0, 10, 20, 21, 22].map((second) => T0 + second * 1_000),
    values: [1, 2, 30, 31, 32],
  });
  expect(historyLine(recent, recent).values).toEqual([20, 30, 31, 32]);
});
