// How far the large view looks ahead and back, as the step of a signal allows. Pure.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const DAY = 24 * HOUR;
const HORIZONS_MS = [10 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE];
/** Of these an outlook speaks, whatever the step of the signal. */
const FAR_HORIZONS_MS = [6 * HOUR, DAY, 7 * DAY];
const FAR_LEADS_MS = [HOUR, 6 * HOUR, DAY];
const SPANS_MS = [10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 28 * DAY];
const HORIZON_STEPS = [1, 10, 30, 60];

/** More steps than this are asked for as means over buckets. */
const MOST_POINTS = 3_600;
/** As far as an outlook reaches. */
const FARTHEST_MS = 14 * DAY;

/** Leads of past forecasts, in ascending order: those that the node remembers, and far ones that are made anew. */
export function leadsMs(remembered: number[]): number[] {
  const longest = Math.max(0, ...remembered);
  return [...remembered, ...FAR_LEADS_MS.filter((lead) => lead > longest)];
}

/**
 * The horizons to choose from, up to `nearMs` those that the signal's model answers, with `wanted` if the step allows it: at least one step, and in steps where the usual
 * ones are too short.
 */
export function horizonsMs(stepMs: number, nearMs: number, wanted?: number): number[] {
  const isPossible = (horizon: number) => horizon >= stepMs && horizon <= FARTHEST_MS;
  const near = HORIZONS_MS.filter(isPossible);
  const usual = near.length >= 2 ? near : HORIZON_STEPS.map((steps) => steps * stepMs);
  const far = FAR_HORIZONS_MS.filter((horizon) => horizon > Math.max(...usual) && horizon > nearMs);
  return withWanted([...usual, ...far].filter(isPossible), wanted, isPossible);
}

/** The lengths of history to choose from, likewise: at least ten steps. */
export function spansMs(stepMs: number, wanted?: number): number[] {
  const isPossible = (span: number) => span >= 10 * stepMs;
  const usual = SPANS_MS.filter(isPossible);
  return withWanted(usual.length > 0 ? usual : [100 * stepMs], wanted, isPossible);
}

function withWanted(usual: number[], wanted: number | undefined, isPossible: (ms: number) => boolean): number[] {
  if (wanted === undefined || usual.includes(wanted) || !isPossible(wanted)) return usual;
  return [...usual, wanted].sort((left, right) => left - right);
}

/**
 * The step to ask for so that `spanMs` has at most 3,600 values: the signal's own where that is enough, otherwise a
 * whole multiple of it, and of a minute where possible, because older samples are kept by the minute.
 */
export function bucketMs(spanMs: number, stepMs: number): number {
  if (spanMs / stepMs <= MOST_POINTS) return stepMs;
  const least = Math.ceil(spanMs / MOST_POINTS);
  if (MINUTE % stepMs === 0) {
    const round = [SECOND, 10 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE].find((size) => size >= least && size % stepMs === 0);
    if (round !== undefined) return round;
  }
  return Math.ceil(least / stepMs) * stepMs;
}

/** `wanted` if it is one of `options`, otherwise the nearest of them. */
export function nearest(options: readonly number[], wanted: number): number {
  return options.reduce((best, option) => (Math.abs(option - wanted) < Math.abs(best - wanted) ? option : best));
}
