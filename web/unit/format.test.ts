import { expect, test } from "vitest";

import {
  axisRangeText,
  countText,
  lengthParameter,
  lengthText,
  momentTickText,
  plain,
  quantityText,
  rangeText,
  tickText,
  tickTexts,
} from "../src/format.ts";

const cases: [string, number | null, string][] = [
  ["97.2 %", 0.972, "ratio"],
  ["100.0 %", 1, "ratio"],
  ["0.04 %", 0.0004, "ratio"],
  ["9.99 %", 0.0999, "ratio"],
  ["10.0 %", 0.09999, "ratio"],
  ["0.31 tasks", 0.3149, "tasks"],
  ["0.00 tasks", -0.0001, "tasks"],
  ["−0.50 cores", -0.5, "cores"],
  ["45.1 °C", 45.123, "celsius"],
  ["−3.0 °C", -3, "celsius"],
  ["12.35 W", 12.345678, "watts"],
  ["0 B", 0, "bytes"],
  ["1023 B", 1023, "bytes"],
  ["1.00 KiB", 1023.7, "bytes"],
  ["1.50 KiB/s", 1536, "bytes/s"],
  ["11.5 GiB", 12.4e9, "bytes"],
  ["1.00 GiB", 2 ** 30 - 1, "bytes"],
  ["2\u202f412 packets/s", 2412.2, "packets/s"],
  ["0.50 operations/s", 0.5, "operations/s"],
  ["340.0 µs", 0.00034, "seconds"],
  ["12.30 ms", 0.0123, "seconds"],
  ["1.50 s", 1.5, "seconds"],
  ["12.50 mV", 12.5, "mV"],
  ["12.50", 12.5, ""],
  ["–", null, "ratio"],
  ["–", Number.NaN, "tasks"],
];

test.each(cases)("a value is written %s", (text, value, unit) => {
  expect(quantityText(value, unit)).toBe(text);
});

test("a range says its unit once where both ends have the same", () => {
  expect(rangeText(0.28, 0.36, "tasks")).toBe("0.28 – 0.36 tasks");
  expect(rangeText(512 * 1024, 3 * 2 ** 20, "bytes")).toBe("512 KiB – 3.00 MiB");
  expect(rangeText(0, 3 * 2 ** 20, "bytes/s")).toBe("0 – 3.00 MiB/s");
});

test("a range of nothing is one value", () => {
  expect(rangeText(0, 0, "ratio")).toBe("0.00 %");
});

test("an axis has no zeros that it does not need", () => {
  expect(axisRangeText(0, 1, "ratio")).toBe("0 – 100 %");
  expect(tickText(0.5, "ratio")).toBe("50 %");
  expect(tickText(0.125, "ratio")).toBe("12.5 %");
  expect(tickText(100 * 1024, "bytes")).toBe("100 KiB");
});

test("ticks far from zero and close together can be told apart", () => {
  const gib = 2 ** 30;
  expect(tickTexts([46.875 * gib, 46.890625 * gib], "bytes")).toEqual(["46.88 GiB", "46.89 GiB"]);
  expect(tickTexts([0.4851, 0.4852], "ratio")).toEqual(["48.51 %", "48.52 %"]);
  expect(tickTexts([12000.1, 12000.2], "watts")).toEqual(["12000.1 W", "12000.2 W"]);
  expect(tickTexts([0, 0.5], "ratio")).toEqual(["0 %", "50 %"]);
});

test("a length of time is in the largest unit that divides it", () => {
  expect([250, 1_000, 90_000, 300_000, 3_600_000, 86_400_000].map(lengthText)).toEqual([
    "250 ms",
    "1 s",
    "90 s",
    "5 min",
    "1 h",
    "1 d",
  ]);
});

test("a length of time in a query has a unit", () => {
  expect([10, 1_000, 600_000].map(lengthParameter)).toEqual(["10ms", "1s", "600s"]);
});

test("a plain number keeps about four digits at any size", () => {
  expect([0, 0.0345, 1.234, 123.456, 12_345.6, 1.5e12, -2e-7].map((value) => plain(value))).toEqual([
    "0.00",
    "0.0345",
    "1.23",
    "123.5",
    "12\u202f346",
    "1.50e+12",
    "−2.00e−7",
  ]);
  expect(countText(1_234_567)).toBe("1\u202f234\u202f567");
});

test("ticks of time are as fine as their distance", () => {
  const ms = new Date(2026, 10, 21, 9, 5, 7, 40).getTime();
  const distances = [10, 1_000, 60_000, 86_400_000];
  expect(distances.map((distance) => momentTickText(ms, distance))).toEqual([
    "09:05:07.040",
    "09:05:07",
    "09:05",
    "11-21",
  ]);
});
