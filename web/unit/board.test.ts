import { expect, test } from "vitest";

import { Board, type Signal } from "../src/board.ts";
import type { SeriesInfo, SeriesList } from "../src/wire.ts";

const T0 = Date.parse("2026-11-21T09:00:00Z");
const LEADS = { leads: [1, 10], mean: [1, 2], lower: [0, 0], upper: [2, 4] };

function info(id: string, more: Partial<SeriesInfo> = {}): SeriesInfo {
  return {
    id,
    aliases: [],
    unit: "tasks",
    kind: "gauge",
    sentence: "",
    labels: {},
    source: "sensor",
    step_seconds: 1,
    near_seconds: 600,
    range: { min: 0, max: null },
    last: { time: new Date(T0).toISOString(), value: 1 },
    n_samples: 1,
    n_gaps: 0,
    model: "LAST",
    ...more,
  };
}

function listOf(...series: SeriesInfo[]): SeriesList {
  const node = { host: "db1", version: "0", started: "2026-11-21T09:00:00Z", step_seconds: 1, model: "LAST", has_kernel_agent: false };
  return { node, series };
}

function tick(seconds: number, values: Record<string, number | null>, forecasts = {}) {
  return { time: new Date(T0 + seconds * 1_000).toISOString(), step_seconds: 1, values, forecasts };
}

test("a tick brings value and forecast", () => {
  const board = new Board();
  board.applyList(listOf(info("load.1m")));
  expect(board.applyTick(tick(1, { "load.1m": 2 }, { "load.1m": LEADS }), T0)).toEqual([]);
  expect(board.signals.get("load.1m")?.value).toBe(2);
  expect(board.signals.get("load.1m")?.forecast?.originMs).toBe(T0 + 1_000);
});

test("a tick names the signals that the board does not know", () => {
  expect(new Board().applyTick(tick(1, { later: 1 }), T0)).toEqual(["later"]);
});

test("an id that every object inherits is an id like any other", () => {
  const board = new Board();
  board.applyList(listOf(info("constructor"), info("toString")));
  board.applyTick(tick(1, { constructor: 5 } as unknown as Record<string, number>), T0);
  expect(board.signals.get("constructor")?.value).toBe(5);
  expect(board.signals.get("constructor")?.forecast).toBeNull();
});

test("a list that says the same leaves signals and their history alone", () => {
  const board = new Board();
  expect(board.applyList(listOf(info("a"), info("b")))).toBe(true);
  const before = board.signals.get("a");
  expect(board.applyList(listOf(info("a", { model: "AR(16)" }), info("b")))).toBe(false);
  expect(board.signals.get("a")).toBe(before);
  expect(before?.info.model).toBe("AR(16)");
});

test("a signal that is no longer listed is gone, one with another step starts over", () => {
  const board = new Board();
  board.applyList(listOf(info("a"), info("b")));
  const before = board.signals.get("a");
  expect(board.applyList(listOf(info("a", { step_seconds: 5 })))).toBe(true);
  expect([...board.signals.keys()]).toEqual(["a"]);
  expect(board.signals.get("a")).not.toBe(before);
});

test("a short name finds its signal", () => {
  const board = new Board();
  board.applyList(listOf(info("cpu.availability.vmstat", { aliases: ["cpu.availability"] })));
  expect(board.find("cpu.availability")?.info.id).toBe("cpu.availability.vmstat");
  expect(board.find("nothing")).toBeNull();
});

test("a signal is stale after three steps without a sample", () => {
  const board = new Board();
  board.applyList(listOf(info("a")));
  const signal = board.signals.get("a");
  expect(signal?.staleSinceMs(T0 + 3_000, T0)).toBeNull();
  expect(signal?.staleSinceMs(T0 + 3_001, T0)).toBe(T0);
});

test("gaps make a signal stale, though ticks come", () => {
  const board = new Board();
  board.applyList(listOf(info("a")));
  for (let second = 1; second <= 5; second += 1) board.applyTick(tick(second, { a: null }), T0 + second * 1_000);
  expect(board.signals.get("a")?.staleSinceMs(T0 + 5_000, T0 + 5_000)).toBe(T0);
});

test("a replayed trace of last year is not stale while samples come", () => {
  const board = new Board();
  board.applyList(listOf(info("trace", { source: "pushed" })));
  const nowMs = T0 + 365 * 86_400_000;
  board.applyTick(tick(1, { trace: 1 }), nowMs);
  const signal = board.signals.get("trace");
  expect(signal?.staleSinceMs(nowMs + 1_000, nowMs + 1_000)).toBeNull();
  expect(signal?.staleSinceMs(nowMs + 4_000, nowMs + 4_000)).toBe(T0 + 1_000);
});

test("the node's clock is that of its sensors, not of a replayed trace", () => {
  const board = new Board();
  board.applyList(listOf(info("a"), info("trace", { source: "pushed" })));
  board.applyTick(tick(60, { a: 1 }), T0);
  board.applyTick(tick(9_000, { trace: 1 }), T0);
  expect(board.nodeNowMs(T0)).toBe(T0 + 60_000);
});

function signalOf(board: Board, id: string): Signal {
  const signal = board.signals.get(id);
  if (signal === undefined) throw new Error(`no signal ${id}`);
  return signal;
}

test("a small multiple shows a minute at least, and then what there is, up to its limit", () => {
  const board = new Board();
  board.applyList(listOf(info("a")));
  const signal = signalOf(board, "a");
  const steps = [1, 60, 100, 240, 400].map((seconds) => {
    board.applyTick(tick(seconds, { a: 1 }), T0);
    return signal.nSteps;
  });
  expect(steps).toEqual([60, 61, 101, 240, 240]);
});

test("a tick brings the narrower band too, where it was asked for", () => {
  const board = new Board();
  board.applyList(listOf(info("a")));
  const inner = { a: { lower: [0.5, 1], upper: [1.5, 3] } };
  board.applyTick({ ...tick(1, { a: 1 }, { a: LEADS }), inner }, T0);
  expect(signalOf(board, "a").forecast?.inner).toEqual(inner.a);
  board.applyTick(tick(2, { a: 1 }, { a: LEADS }), T0);
  expect(signalOf(board, "a").forecast?.inner).toBeNull();
});

test("a signal has moved as soon as one sample was not zero, also one from before the page was opened", () => {
  const board = new Board();
  const last = { time: new Date(T0).toISOString(), value: 0 };
  board.applyList(listOf(info("a", { last }), info("b", { last }), info("c", { last: null })));
  const start = new Date(T0 - 2_000).toISOString();
  signalOf(board, "b").takeSamples({ id: "b", unit: "tasks", start, step_seconds: 1, values: [0, 3, 0] });
  board.applyTick(tick(1, { a: 0, b: 0, c: null }), T0);
  expect(["a", "b", "c"].map((id) => signalOf(board, id).hasMoved)).toEqual([false, true, false]);
  board.applyTick(tick(2, { a: 0.1 }), T0);
  expect(signalOf(board, "a").hasMoved).toBe(true);
});
