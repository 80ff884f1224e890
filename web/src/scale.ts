// Which values the height of a drawing stands for, and where its ticks go. Pure.

import type { Range } from "./wire.ts";

/** The values at the bottom and at the top of a drawing. */
export interface Extent {
  low: number;
  high: number;
}

/** What of a signal decides about its scale. */
export interface Scaled {
  id: string;
  unit: string;
  kind: "gauge" | "rate";
  range: Range;
}

/** The share of a quantity's size below which its variation is drawn as none. */
const LEAST_SPAN = 1e-3;

/** The scale that a signal always has, so that tiles can be compared; `null` where it follows the values. */
export function fixedExtent(signal: Scaled): Extent | null {
  const isShare = signal.unit === "ratio" && signal.range.min === 0 && signal.range.max === 1;
  return isShare && /^(cpu|pressure)\.|\bbusy\b/.test(signal.id) ? { low: 0, high: 1 } : null;
}

/**
 * The scale for these values: the signal's fixed one, or one that holds them all with a little room.
 *
 * Rates, and whatever comes near zero, start at zero. The room never leaves the signal's range.
 */
export function extentOf(signal: Scaled, values: Iterable<number | null | undefined>): Extent {
  const fixed = fixedExtent(signal);
  if (fixed !== null) return fixed;
  const seen = minMax(values);
  if (seen === null) return { low: 0, high: 1 };
  let { low, high } = seen;
  if (low >= 0 && (signal.kind === "rate" || low <= high / 2)) low = 0;
  const least = Math.max(Math.abs(low), Math.abs(high)) * LEAST_SPAN || 1;
  if (high - low < least) {
    const middle = (low + high) / 2;
    [low, high] = low === 0 ? [0, least] : [middle - least / 2, middle + least / 2];
  }
  const room = (high - low) * 0.06;
  return {
    low: low === 0 ? 0 : Math.max(low - room, signal.range.min ?? -Infinity),
    high: Math.min(high + room, signal.range.max ?? Infinity),
  };
}

/** `extent` widened to round numbers, so that it can be said in few digits and seldom moves. */
export function rounded({ low, high }: Extent, unit: string): Extent {
  const distance = tickDistances(unit).find((size) => size >= (high - low) / 5) ?? 1;
  // Sums of tenths are a little off; a ten-billionth of a distance is not meant.
  return {
    low: Math.floor(low / distance + 1e-10) * distance,
    high: Math.ceil(high / distance - 1e-10) * distance,
  };
}

/** The least and the greatest value; `null` when there is none. */
export function minMax(values: Iterable<number | null | undefined>): Extent | null {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : null;
}

/**
 * The distances between ticks that read well in `unit`, ascending.
 *
 * Bytes are counted in halves and doubles, for 5,000,000 bytes are 4.77 MiB; everything else in 1, 2 and 5.
 */
export function tickDistances(unit: string): number[] {
  if (unit === "bytes" || unit === "bytes/s") return Array.from({ length: 64 }, (_, power) => 2 ** power);
  const powers = Array.from({ length: 28 }, (_, idx) => idx - 12);
  return powers.flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`)));
}

/** The distances between ticks of time that read well, in milliseconds, ascending. */
const TIME_DISTANCES_MS: number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => ms),
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...[1, 2, 7, 14, 28].map((days) => days * 86_400_000),
];

/** The distance between at most `n` ticks over `spanMs`. */
export function timeDistance(spanMs: number, n: number): number {
  return TIME_DISTANCES_MS.find((distance) => spanMs / distance <= n) ?? 28 * 86_400_000;
}

/** The multiples of `distance`, counted from `baseMs`, between two moments. */
export function ticksBetween(fromMs: number, toMs: number, distance: number, baseMs: number): number[] {
  const first = baseMs + Math.ceil((fromMs - baseMs) / distance) * distance;
  return Array.from(
    { length: Math.max(0, Math.floor((toMs - first) / distance) + 1) },
    (_, idx) => first + idx * distance,
  );
}
