// From the node's answers to lines and sentences of the large view. Pure.

import { lengthText, momentText, percentText, quantityText, rangeText } from "./format.ts";
import type { History, Sample } from "./history.ts";
import type { Forecast, Hindcast, Outlook, Range, Remembered } from "./wire.ts";

/** Samples by their moments; `null` breaks the line. */
export interface HistoryLine {
  times: number[];
  values: Sample[];
}

/** The ends of a band, as long as the line that it belongs to. */
export interface BandLine<T> {
  lower: T[];
  upper: T[];
}

/** A forecast with its bands, the widest first; all arrays have the same length. */
export interface ForecastLine {
  times: number[];
  mean: number[];
  bands: BandLine<number>[];
}

/** Past forecasts by the moment they were for, with two standard errors to either side; `null` breaks the line. */
export interface RememberedLine extends BandLine<Sample> {
  times: number[];
  mean: Sample[];
}

/** What is drawn at the moment under the pointer. */
export interface Reading {
  timeMs: number;
  measured: Sample;
  mean: Sample;
  /** The widest band of the forecast. */
  lower: Sample;
  upper: Sample;
  remembered: Sample;
  /** The second signal: what was measured, or what is forecast. */
  other: Sample;
}

/** What a reading has to know beside its values. */
export interface Said {
  /** Where history ends and the forecast begins. */
  originMs: number;
  leadMs: number | null;
  /** The name of the second signal. */
  other: string | null;
}

/**
 * Samples for drawing. Where `history` has means over buckets, it ends with the single samples of `recent`, so that the
 * line reaches the last tick.
 */
export function historyLine(history: History, recent: History): HistoryLine {
  const times = history.values.map((_, idx) => history.timeOf(idx));
  const values = [...history.values];
  const endMs = history.endMs;
  if (endMs === null || recent.stepMs === history.stepMs) return { times, values };
  // The last bucket was not complete when it was fetched.
  if (recent.startMs <= endMs) {
    times.pop();
    values.pop();
  }
  recent.values.forEach((value, idx) => {
    if (recent.timeOf(idx) < endMs) return;
    times.push(recent.timeOf(idx));
    values.push(value);
  });
  return { times, values };
}

/**
 * One forecast with the bands of all `forecasts`, begun at `known`, the sample it was made from, if not a gap. Steps up to
 * `afterMs` are left out.
 */
export function forecastLine(forecasts: readonly Forecast[], known: Sample, afterMs = -Infinity): ForecastLine {
  const [first] = forecasts;
  if (first === undefined) return { times: [], mean: [], bands: [] };
  const originMs = Date.parse(first.origin);
  const all = first.mean.map((_, idx) => originMs + Math.round((idx + 1) * first.step_seconds * 1_000));
  const nPast = all.findLastIndex((ms) => ms <= afterMs) + 1;
  const times = all.slice(nPast);
  const begun = (values: number[]) => (known === null ? values.slice(nPast) : [known, ...values.slice(nPast)]);
  return {
    times: known === null ? times : [originMs, ...times],
    mean: begun(first.mean),
    bands: forecasts.map(({ lower, upper }) => ({ lower: begun(lower), upper: begun(upper) })),
  };
}

export const NOTHING_SAID: RememberedLine = { times: [], mean: [], lower: [], upper: [] };

/** The remembered forecasts as a line that breaks where some are missing; its band stays within `range`. */
export function rememberedLine(remembered: Remembered, range: Range): RememberedLine {
  const line: RememberedLine = { times: [], mean: [], lower: [], upper: [] };
  const put = (ms: number, mean: Sample, half: number) => {
    line.times.push(ms);
    line.mean.push(mean);
    line.lower.push(mean === null ? null : Math.max(mean - half, range.min ?? -Infinity));
    line.upper.push(mean === null ? null : Math.min(mean + half, range.max ?? Infinity));
  };
  const moments = remembered.time.map((time) => Date.parse(time));
  const usual = Math.min(...moments.slice(1).map((ms, idx) => ms - (moments[idx] ?? ms)));
  moments.forEach((ms, idx) => {
    const before = moments[idx - 1];
    if (before !== undefined && ms - before > 1.5 * usual) put(before + 1, null, 0);
    put(ms, remembered.mean[idx] ?? null, 2 * (remembered.standard_error[idx] ?? 0));
  });
  return line;
}

/** What outlooks would have said before, as a line. */
export function hindcastLine({ start, step_seconds, median, lower, upper }: Hindcast): RememberedLine {
  const startMs = Date.parse(start);
  return { times: median.map((_, idx) => startMs + 1_000 * step_seconds * idx), mean: median, lower, upper };
}

/** How much of that came true. */
export function heldText({ lead_seconds, confidence, n, held_ratio, median_width }: Hindcast, unit: string): string {
  const lead = lengthText(1_000 * lead_seconds);
  if (held_ratio === null || median_width === null) return `nothing was known ${lead} before what is shown`;
  return `of what was forecast ${lead} before, ${percentText(confidence)} intervals held ${percentText(held_ratio, 1)} of ${n.toLocaleString("en")} values, and half were narrower than ${quantityText(median_width, unit)}`;
}

/** An outlook as a forecast, which has no standard errors. */
export function farForecast({ median, ...outlook }: Outlook): Forecast {
  return { ...outlook, model: "OUTLOOK", mean: median, standard_error: [] };
}

/** What a reader has to know of an outlook: over what its values are means, and how far its band is more than a guess. */
export function farText({ median, step_seconds, seen_seconds }: Outlook): string {
  const means = `each value is a mean over ${lengthText(step_seconds * 1_000)}`;
  if (seen_seconds >= median.length * step_seconds) return means;
  if (seen_seconds === 0) return `${means}; the band is a guess, for no forecast has been checked yet`;
  return `${means}; the band is a guess beyond ${lengthText(seen_seconds * 1_000)}, for no longer forecast has been checked yet`;
}

/** How the forecast ends: `in 1 min: 72.9 %, with 95 % confidence 40.2 – 98.1 %`. */
export function aheadText(forecast: Forecast | null, unit: string): string {
  const [mean, lower, upper] = [forecast?.mean.at(-1), forecast?.lower.at(-1), forecast?.upper.at(-1)];
  if (forecast === null || mean === undefined || lower === undefined || upper === undefined) return "no forecast yet";
  const lengthMs = Math.round(forecast.mean.length * forecast.step_seconds * 1_000);
  const share = `${Math.round(forecast.confidence * 100)} %`;
  const band = rangeText(lower, upper, unit);
  return `in ${lengthText(lengthMs)}: ${quantityText(mean, unit)}, with ${share} confidence ${band}`;
}

/** What is under the pointer, in one line. */
export function readingText(reading: Reading, unit: string, said: Said): string {
  const { timeMs, measured, mean, lower, upper, remembered, other } = reading;
  const band = lower === null || upper === null ? "" : ` (95 %: ${rangeText(lower, upper, unit)})`;
  const parts = [
    momentText(timeMs, said.originMs),
    timeMs > said.originMs ? `forecast ${quantityText(mean, unit)}${band}` : `measured ${quantityText(measured, unit)}`,
  ];
  if (remembered !== null && said.leadMs !== null) {
    parts.push(`forecast ${lengthText(said.leadMs)} before: ${quantityText(remembered, unit)}`);
  }
  if (other !== null && said.other !== null) parts.push(`${said.other} ${quantityText(other, unit)}`);
  return parts.join(" · ");
}
