// How far the large view looks ahead and back, as the step of a signal allows. Pure.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const HORIZONS_MS = [10 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE];
const SPANS_MS = [10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR];
const HORIZON_STEPS = [1, 10, 30, 60];

/** More steps than this are asked for as means over buckets. */
const MOST_POINTS = 3_600;
/** More steps ahead than this would take the node long and are not seen on any screen. */
const MOST_STEPS_AHEAD = 20_000;

/** The confidences to choose from. */
export const CONFIDENCES = [0.5, 0.8, 0.95, 0.99];

/** The horizons to choose from: at least one step, and in steps where the usual ones are too short. */
export function horizonsMs(stepMs: number): number[] {
  const usual = HORIZONS_MS.filter((horizon) => horizon >= stepMs && horizon / stepMs <= MOST_STEPS_AHEAD);
  return usual.length >= 2 ? usual : HORIZON_STEPS.map((steps) => steps * stepMs);
}

/** The lengths of history to choose from: at least ten steps, and in steps where the usual ones are too short. */
export function spansMs(stepMs: number): number[] {
  const usual = SPANS_MS.filter((span) => span >= 10 * stepMs);
  return usual.length > 0 ? usual : [100 * stepMs];
}

/**
 * The step to ask for so that `spanMs` has at most 3,600 values: the signal's own where that is enough, otherwise a
 * whole multiple of it, and of a minute where possible, because older samples are kept by the minute.
 */
export function bucketMs(spanMs: number, stepMs: number): number {
  if (spanMs / stepMs <= MOST_POINTS) return stepMs;
  const least = Math.ceil(spanMs / MOST_POINTS);
  if (MINUTE % stepMs === 0) {
    const round = [SECOND, 10 * SECOND, MINUTE, 5 * MINUTE].find((size) => size >= least && size % stepMs === 0);
    if (round !== undefined) return round;
  }
  return Math.ceil(least / stepMs) * stepMs;
}

/** `wanted` if it is one of `options`, otherwise the nearest of them. */
export function nearest(options: readonly number[], wanted: number): number {
  return options.reduce((best, option) => (Math.abs(option - wanted) < Math.abs(best - wanted) ? option : best));
}
