import { expect, test } from "vitest";

import { csvName, toCsv } from "../src/csv.ts";
import { History } from "../src/history.ts";
import { downState, retryDelayMs } from "../src/link.ts";
import { aheadText, farForecast, farText, forecastLine, heldText, hindcastLine, historyLine, readingText, rememberedLine } from "../src/lines.ts";
import { neighbour } from "../src/neighbour.ts";
import { waitingText } from "../src/panel.ts";
import { bucketMs, horizonsMs, leadsMs, nearest, spansMs } from "../src/reach.ts";
import { DEFAULT_VIEW, hashOf, hashOfRules, lengthIn, viewIn, type View } from "../src/route.ts";

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
  const far = [21_600_000, 86_400_000, 604_800_000];
  expect(horizonsMs(1_000, 600_000)).toEqual([10_000, 30_000, 60_000, 300_000, 600_000, ...far]);
  expect(horizonsMs(60_000, 3_600_000)).toEqual([60_000, 300_000, 600_000, ...far]);
  expect(horizonsMs(100_000, 3_600_000)).toEqual([300_000, 600_000, ...far]);
  expect(horizonsMs(3_600_000, 3_600_000)).toEqual([...[1, 10, 30, 60].map((steps) => steps * 3_600_000), 604_800_000]);
  expect(nearest(horizonsMs(60_000, 3_600_000), 10_000)).toBe(60_000);
  expect(horizonsMs(60_000, 3_600_000, 120_000)).toEqual([60_000, 120_000, 300_000, 600_000, ...far]);
  expect(horizonsMs(60_000, 3_600_000, 1_000)).toEqual([60_000, 300_000, 600_000, ...far]);
  expect(horizonsMs(1_000, 600_000, 15 * 86_400_000)).not.toContain(15 * 86_400_000);
});

test("an outlook says over what its values are means, and how far its band is more than a guess", () => {
  const { mean, standard_error: _, ...rest } = FORECAST;
  const outlook = { ...rest, step_seconds: 300, median: [...mean, 2], lower: [1, 1], upper: [3, 3], seen_seconds: 600 };
  expect(farText(outlook)).toBe("each value is a mean over 5 min");
  expect(farText({ ...outlook, seen_seconds: 300 })).toContain("the band is a guess beyond 5 min");
  expect(farText({ ...outlook, seen_seconds: 0 })).toContain("the band is a guess, for no forecast");
  expect(aheadText(farForecast(outlook), "tasks")).toBe("in 10 min: 2.00 tasks, with 80 % confidence 1.00 – 3.00 tasks");
  const rows = toCsv(T0, 1_000, [], farForecast(outlook)).trimEnd().split("\n");
  expect(rows[1]).toBe("2026-11-21T09:05:01.000Z,,2,,1,3,0.8");
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

test("a hash holds any id and all that was chosen", () => {
  const zoom = { fromMs: T0, toMs: T0 + 90_500 };
  const chosen = { filter: "cpu & a", horizonMs: 90_000, spanMs: 3_600_000, leadMs: null, zoom, other: "load.5m", sort: "read" as const, atMs: T0 };
  for (const id of ["load.1m", "<img src=x onerror=1>", "a/b?c#d%", "ü"]) {
    const view: View = { ...DEFAULT_VIEW, ...chosen, id };
    expect(viewIn(hashOf(id, view), DEFAULT_VIEW)).toEqual({ view, ignored: [] });
    expect(viewIn(hashOf(id), DEFAULT_VIEW)).toEqual({ view: { ...DEFAULT_VIEW, id }, ignored: [] });
  }
  expect(hashOf("a", { ...DEFAULT_VIEW, id: "a", horizonMs: 300_000 })).toBe("#/signal/a?horizon=5min");
  expect(hashOf(null)).toBe("");
  expect(viewIn(hashOf(null, { ...DEFAULT_VIEW, filter: "net" }), DEFAULT_VIEW).view.filter).toBe("net");
});

test("a hash holds how processes are shown, which does not follow to a signal", () => {
  const view: View = { ...DEFAULT_VIEW, processes: true, by: "cgroup", sort: "memory", atMs: T0 };
  expect(hashOf(null, view)).toBe("#/processes?by=cgroup&sort=memory&at=2026-11-21T09%3A00%3A00Z");
  expect(viewIn(hashOf(null, view), DEFAULT_VIEW)).toEqual({ view, ignored: [] });
  expect(viewIn("#/signal/a", view).view).toEqual({ ...DEFAULT_VIEW, id: "a", by: "cgroup" });
});

test("a hash holds any job, and the list of them", () => {
  for (const job of ["", "node-7-1f", "<b>/..#?%"]) {
    expect(viewIn(hashOf(null, { ...DEFAULT_VIEW, job }), DEFAULT_VIEW)).toEqual({ view: { ...DEFAULT_VIEW, job }, ignored: [] });
  }
  expect(viewIn("#/", { ...DEFAULT_VIEW, job: "a" }).view.job).toBe(null);
});

test.each([
  ["#/other", "the path “/other”"],
  ["#/signal/%E0", "the path “/signal/%E0”"],
  ["#/signal/a?horizon=10parsecs", "horizon “10parsecs”"],
  ["#/signal/a?history=-5min", "history “-5min”"],
  ["#/signal/a?history=9999999d", "history “9999999d”"],
  ["#/signal/a?past=soon", "past “soon”"],
  ["#/signal/a?from=yesterday&to=2026-11-21T09:00:00Z", "from and to “yesterday"],
  ["#/signal/a?from=2026-11-21T09:00:00Z&to=2026-11-20T09:00:00Z", "from and to “2026-11-21T09:00:00Z 2026-11-20"],
  ["#/signal/a?to=2026-11-20T09:00:00Z", "from and to “2026-11-20T09:00:00Z”"],
  ["#/signal/a?constructor=1", "constructor “1”"],
  ["#/signal/a?by=user", "by “user”"],
  ["#/signal/a?at=noon", "at “noon”"],
])("%s changes nothing but what it says rightly, and is told", (hash, word) => {
  const { view, ignored } = viewIn(hash, DEFAULT_VIEW);
  expect(view).toEqual({ ...DEFAULT_VIEW, id: hash.startsWith("#/signal/a") ? "a" : null });
  expect(ignored).toHaveLength(1);
  expect(ignored[0]).toContain(`${word}`);
});

test("a range and a second signal do not follow to the next signal; the rest does", () => {
  const zoom = { fromMs: T0, toMs: T0 + 1_000 };
  const before: View = { ...DEFAULT_VIEW, id: "a", horizonMs: 10_000, zoom, other: "b" };
  expect(viewIn("#/signal/c", before).view).toEqual({ ...before, id: "c", zoom: null, other: null });
  expect(viewIn("#/signal/a", before).view).toEqual(before);
});

test("a length of time needs a unit", () => {
  expect(["30s", "1.5 h", "250ms", "7 d", "30", "s", "0s", "1e3s", ""].map(lengthIn)).toEqual([
    30_000,
    5_400_000,
    250,
    604_800_000,
    ...[null, null, null, null, null],
  ]);
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
  const narrow = { ...FORECAST, lower: [1.5], upper: [2.5] };
  const bands = [
    { lower: [5, 1], upper: [5, 3] },
    { lower: [5, 1.5], upper: [5, 2.5] },
  ];
  const begun = { times: [T0 + 1_000, T0 + 2_000], mean: [5, 2], bands };
  expect(forecastLine([FORECAST, narrow], 5)).toEqual(begun);
  expect(forecastLine([FORECAST], null).times).toEqual([T0 + 2_000]);
  const longer = { ...FORECAST, mean: [2, 4], lower: [1, 3], upper: [3, 5] };
  const after = { times: [T0 + 3_000], mean: [4], bands: [{ lower: [3], upper: [5] }] };
  expect(forecastLine([longer], null, T0 + 2_000)).toEqual(after);
  expect(forecastLine([], 5).times).toEqual([]);
});

test("the line of remembered forecasts breaks where some are missing, and its band stays within the range", () => {
  const time = [0, 10, 20, 50, 60].map((second) => new Date(T0 + second * 1_000).toISOString());
  const standard_error = [0, 1, 2, 0, 0];
  const remembered = { id: "a", lead_seconds: 60, time, mean: [1, 2, 3, 4, 5], standard_error };
  const line = rememberedLine(remembered, { min: 0.5, max: null });
  expect(line.mean).toEqual([1, 2, 3, null, 4, 5]);
  expect(line.lower).toEqual([1, 0.5, 0.5, null, 4, 5]);
  expect(line.upper).toEqual([1, 4, 7, null, 4, 5]);
});

test("what was forecast hours before lies where its steps begin, and is held against what came", () => {
  const start = new Date(T0).toISOString();
  const bounds = { median: [null, 2], lower: [null, 1], upper: [null, 3] };
  const hindcast = { id: "a", lead_seconds: 21_600, step_seconds: 60, confidence: 0.95, start, ...bounds, n: 1_234, held_ratio: 0.9415, median_width: 2 };
  expect(hindcastLine(hindcast)).toEqual({ times: [T0, T0 + 60_000], mean: [null, 2], lower: [null, 1], upper: [null, 3] });
  const held = "95 % intervals held 94.2 % of 1,234 values, and half were narrower than 2.00 tasks";
  expect(heldText(hindcast, "tasks")).toBe(`of what was forecast 6 h before, ${held}`);
  expect(heldText({ ...hindcast, n: 0, held_ratio: null, median_width: null }, "tasks")).toBe("nothing was known 6 h before what is shown");
  expect(leadsMs([60_000, 3_600_000])).toEqual([60_000, 3_600_000, 6 * 3_600_000, 24 * 3_600_000]);
});

test("the end of the forecast is a sentence", () => {
  expect(aheadText(FORECAST, "tasks")).toBe("in 1 s: 2.00 tasks, with 80 % confidence 1.00 – 3.00 tasks");
  expect(aheadText(null, "tasks")).toBe("no forecast yet");
});

test("the pointer reads samples before the origin and the forecast after it", () => {
  const reading = { timeMs: T0, measured: 1, mean: null, lower: null, upper: null, remembered: 2, other: 7 };
  const said = { originMs: T0, leadMs: 60_000, other: "load.5m" };
  expect(readingText(reading, "tasks", said)).toMatch(
    / · measured 1\.00 tasks · forecast 1 min before: 2\.00 tasks · load\.5m 7\.00 tasks$/,
  );
  const ahead = { ...reading, measured: null, mean: 2, lower: 1, upper: 3, remembered: null, other: null };
  expect(readingText(ahead, "tasks", { originMs: T0 - 1_000, leadMs: null, other: null })).toMatch(
    / · forecast 2\.00 tasks \(95 %: 1\.00 – 3\.00 tasks\)$/,
  );
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

test("rules have a place of their own, with a signal or without", () => {
  for (const rules of ["", "net.eth0/1.received"]) {
    const { view, ignored } = viewIn(hashOfRules(rules), DEFAULT_VIEW);
    expect([view, ignored]).toEqual([{ ...DEFAULT_VIEW, rules }, []]);
    expect(hashOf(view.id, view)).toBe(hashOfRules(rules));
  }
  expect(viewIn("#/rulesome", DEFAULT_VIEW).ignored).toHaveLength(1);
});
