import { expect, test } from "vitest";

import { History } from "../src/history.ts";

function historyOf(startMs: number, values: (number | null)[], capacity = 100): History {
  const history = new History(1_000, capacity);
  history.merge(startMs, values);
  return history;
}

test("a tick goes to the end", () => {
  const history = historyOf(5_000, [1, 2]);
  history.put(7_000, 3);
  expect(history.values).toEqual([1, 2, 3]);
  expect(history.endMs).toBe(7_000);
});

test("slots that no tick came for are gaps", () => {
  const history = historyOf(5_000, [1]);
  history.put(8_000, 4);
  expect(history.values).toEqual([1, null, null, 4]);
});

test("a tick a little beside the grid goes to the nearest slot", () => {
  const history = historyOf(5_000, [1]);
  history.put(6_337, 2);
  expect(history.values).toEqual([1, 2]);
});

test("a tick that comes twice replaces itself", () => {
  const history = historyOf(5_000, [1, 2]);
  history.put(6_000, 2);
  expect(history.values).toEqual([1, 2]);
});

test("a tick from before the first slot is left out", () => {
  const history = historyOf(5_000, [1, 2]);
  history.put(1_000, 9);
  expect(history.values).toEqual([1, 2]);
});

test("a tick beyond the capacity starts over", () => {
  const history = historyOf(5_000, [1, 2], 10);
  history.put(1_000_000, 3);
  expect(history.values).toEqual([3]);
  expect(history.startMs).toBe(1_000_000);
});

test("no more than the capacity and an eighth is kept, the latest", () => {
  const history = new History(1_000, 80);
  for (let idx = 0; idx < 1_000; idx += 1) history.put(idx * 1_000, idx);
  expect(history.values.length).toBeLessThanOrEqual(90);
  expect(history.values.at(-1)).toBe(999);
  expect(history.values[0]).toBe(history.startMs / 1_000);
});

test("fetched samples come before the ticks that came meanwhile", () => {
  const history = new History(1_000, 100);
  history.put(8_000, 4);
  history.put(9_000, 5);
  history.merge(5_000, [1, 2, 3, 4]);
  expect(history.startMs).toBe(5_000);
  expect(history.values).toEqual([1, 2, 3, 4, 5]);
});

test("a fetched gap does not erase a sample that the stream brought", () => {
  const history = historyOf(5_000, [1, 2, 3]);
  history.merge(5_000, [1, null, 3]);
  expect(history.values).toEqual([1, 2, 3]);
});

test("fetched gaps at the end are not samples that failed", () => {
  const history = historyOf(5_000, [1, 2, null, null]);
  expect(history.endMs).toBe(6_000);
  history.merge(5_000, [null, null]);
  expect(history.values).toEqual([1, 2]);
});

test("what is older than the fetched samples is kept", () => {
  const history = historyOf(5_000, [1, 2]);
  history.merge(9_000, [5]);
  expect(history.startMs).toBe(5_000);
  expect(history.values).toEqual([1, 2, null, null, 5]);
});

test("the last sample is found behind a gap", () => {
  const history = historyOf(5_000, [1, 2]);
  history.put(7_000, null);
  expect(history.lastSample()).toEqual({ timeMs: 6_000, value: 2 });
  expect(new History(1_000, 10).lastSample()).toBeNull();
});
