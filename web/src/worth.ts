// Which signals are worth a look: those that are likely to change, and those that just did what nobody forecast. Pure.

import type { Signal } from "./board.ts";
import { coreOf, groupName } from "./group.ts";
import { sparkExtent } from "./spark.ts";

/** How much of the band's half-width a change has to be: half of it is about one standard error. */
const CHANGE = 0.5;
/** Every twentieth sample leaves a 95 % band; only one in three hundred is this far outside. */
const SURPRISING = 1.5;
/** The least half-width of a band, as shares of the drawing's height and of the value: less cannot be seen. */
const LEAST = { ofHeight: 0.1, ofValue: 0.02 };
/** What a CPU does shows in many signals; more of one group would say the same again. */
const MOST_OF_A_GROUP = 2;

/** Why a signal is worth a look; `points` orders them, and 1 is just enough. */
export interface Worth {
  points: number;
  why: "likely to rise" | "likely to fall" | "unexpected";
}

/** What there is to see in a signal: the greater of the change that is forecast and the last surprise. */
export function worthOf(signal: Signal): Worth {
  const { low, high } = sparkExtent(signal);
  const leastHalf = Math.max((high - low) * LEAST.ofHeight, Math.abs(signal.value ?? 0) * LEAST.ofValue);
  const surprise = signal.surprise.points(leastHalf) / SURPRISING;
  const change = changeOf(signal, leastHalf) / CHANGE;
  if (surprise > Math.abs(change)) return { points: surprise, why: "unexpected" };
  return { points: Math.abs(change), why: change > 0 ? "likely to rise" : "likely to fall" };
}

/** The signals most worth a look, at most `n`; single cores are left to their host's signals. */
export function worthiest(signals: Iterable<Signal>, n: number): Signal[] {
  const rated = [...signals]
    .filter((signal) => coreOf(signal.info) === null)
    .map((signal) => ({ signal, worth: worthOf(signal) }))
    .filter(({ worth }) => worth.points >= 1)
    .sort((left, right) => right.worth.points - left.worth.points)
    .map(({ signal }) => signal);
  const nOf = new Map<string, number>();
  const isRoom = (signal: Signal) => {
    const group = groupName(signal.info);
    nOf.set(group, (nOf.get(group) ?? 0) + 1);
    return (nOf.get(group) ?? 0) <= MOST_OF_A_GROUP;
  };
  return rated.filter(isRoom).slice(0, n);
}

/**
 * The greatest change that is forecast for the leads shown, in half-widths of the wider band there, with its sign.
 *
 * Only where the value is outside the narrower band, so that the change comes three times out of four: if a signal is
 * zero but for a few peaks, its mean is always above it.
 */
function changeOf({ forecast, lastLead, value }: Signal, leastHalf: number): number {
  const inner = forecast?.inner ?? null;
  if (forecast === null || inner === null || lastLead === null || value === null) return 0;
  const changes = forecast.mean.slice(0, lastLead + 1).map((mean, idx) => {
    if (value >= (inner.lower[idx] ?? -Infinity) && value <= (inner.upper[idx] ?? Infinity)) return 0;
    const half = ((forecast.upper[idx] ?? NaN) - (forecast.lower[idx] ?? NaN)) / 2;
    return (mean - value) / Math.max(half, leastHalf);
  });
  return changes.reduce((most, change) => (Math.abs(change) > Math.abs(most) ? change : most), 0);
}
