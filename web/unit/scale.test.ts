import { expect, test } from "vitest";

import {
  extentOf,
  fixedExtent,
  rounded,
  tickDistances,
  ticksBetween,
  timeDistance,
  type Scaled,
} from "../src/scale.ts";

const bytes: Scaled = { id: "memory.available", unit: "bytes", kind: "gauge", range: { min: 0, max: null } };
const rate: Scaled = { id: "net.eth0.sent", unit: "bytes/s", kind: "rate", range: { min: 0, max: null } };

test.each(["cpu.busy", "cpu.0.user", "pressure.io.some", "disk.sda.busy"])("%s is drawn from 0 to 100 %%", (id) => {
  const signal: Scaled = { id, unit: "ratio", kind: "rate", range: { min: 0, max: 1 } };
  expect(extentOf(signal, [0.2, 0.3])).toEqual({ low: 0, high: 1 });
});

test("a pushed ratio follows its values", () => {
  expect(fixedExtent({ id: "replay.x", unit: "ratio", kind: "gauge", range: { min: null, max: null } })).toBeNull();
});

test("a rate starts at zero", () => {
  expect(extentOf(rate, [900, 1_000]).low).toBe(0);
});

test("a gauge far from zero shows what varies", () => {
  const { low, high } = extentOf(bytes, [1_000, null, 1_100]);
  expect(low).toBeGreaterThan(900);
  expect(low).toBeLessThan(1_000);
  expect(high).toBeGreaterThan(1_100);
});

test("the scale never leaves the range of the quantity", () => {
  const signal: Scaled = { id: "x", unit: "ratio", kind: "gauge", range: { min: 0, max: 1 } };
  expect(extentOf(signal, [0.6, 1]).high).toBe(1);
});

test("a signal that does not vary has a scale all the same", () => {
  for (const value of [0, 5, -5, 1e12]) {
    const { low, high } = extentOf({ ...bytes, range: { min: null, max: null } }, [value, value]);
    expect(high).toBeGreaterThan(low);
    expect(low).toBeLessThanOrEqual(value);
    expect(high).toBeGreaterThanOrEqual(value);
  }
  expect(extentOf(bytes, [null])).toEqual({ low: 0, high: 1 });
});

test("bytes have ticks at powers of two, other units at 1, 2 and 5", () => {
  expect(tickDistances("bytes/s")).toContain(1_024);
  expect(tickDistances("bytes/s")).not.toContain(1_000);
  expect(tickDistances("tasks")).toContain(0.5);
  expect(tickDistances("tasks")).toContain(2e6);
});

test.each([tickDistances("bytes"), tickDistances("tasks")])("tick distances ascend", (...distances) => {
  expect(distances.flat()).toEqual([...new Set(distances.flat())].sort((left, right) => left - right));
});

test("a rounded scale holds the values and is said in few digits", () => {
  expect(rounded({ low: 0, high: 29.68 }, "tasks")).toEqual({ low: 0, high: 30 });
  expect(rounded({ low: 0.51, high: 0.8 }, "tasks").high).toBeCloseTo(0.8);
  expect(rounded({ low: 0, high: 1_000_000 }, "bytes/s")).toEqual({ low: 0, high: 2 ** 20 });
});

test("ticks of time are as many as there is room for, round where the person is", () => {
  expect(timeDistance(600_000, 8)).toBe(120_000);
  const [hour, half] = [3_600_000, 1_800_000];
  // Where the clock is five and a half hours ahead, full hours are half past in UTC.
  expect(ticksBetween(0, 2 * hour, hour, -5 * hour - half)).toEqual([half, half + hour]);
  expect(ticksBetween(10, 5, 1, 0)).toEqual([]);
});
