// From the node's answers to lines and sentences of the large view. Pure.

import { lengthText, momentText, quantityText, rangeText } from "./format.ts";
import type { History, Sample } from "./history.ts";
import type { Forecast, Remembered } from "./wire.ts";

/** Samples by their moments; `null` breaks the line. */
export interface HistoryLine {
  times: number[];
  values: Sample[];
}

/** A forecast with its band; all arrays have the same length. */
export interface ForecastLine {
  times: number[];
  mean: number[];
  lower: number[];
  upper: number[];
}

/** Remembered forecasts by the moment they were for; `null` breaks the line. */
export interface RememberedLine {
  times: number[];
  mean: Sample[];
}

/** What is drawn at the moment under the pointer. */
export interface Reading {
  timeMs: number;
  measured: Sample;
  mean: Sample;
  lower: Sample;
  upper: Sample;
  remembered: Sample;
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

/** The forecast, begun at `known`, the sample it was made from, unless that was a gap. */
export function forecastLine(forecast: Forecast | null, known: Sample): ForecastLine {
  if (forecast === null) return { times: [], mean: [], lower: [], upper: [] };
  const { mean, lower, upper } = forecast;
  const originMs = Date.parse(forecast.origin);
  const times = mean.map((_, idx) => originMs + Math.round((idx + 1) * forecast.step_seconds * 1_000));
  if (known === null) return { times, mean, lower, upper };
  const begun = (values: number[]) => [known, ...values];
  return { times: [originMs, ...times], mean: begun(mean), lower: begun(lower), upper: begun(upper) };
}

/** The remembered forecasts as a line that breaks where some are missing. */
export function rememberedLine(remembered: Remembered | null): RememberedLine {
  const line: RememberedLine = { times: [], mean: [] };
  const moments = remembered?.time.map((time) => Date.parse(time)) ?? [];
  const usual = Math.min(...moments.slice(1).map((ms, idx) => ms - (moments[idx] ?? ms)));
  moments.forEach((ms, idx) => {
    const before = moments[idx - 1];
    if (before !== undefined && ms - before > 1.5 * usual) {
      line.times.push(before + 1);
      line.mean.push(null);
    }
    line.times.push(ms);
    line.mean.push(remembered?.mean[idx] ?? null);
  });
  return line;
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

/** What is under the pointer, in one line; `originMs` is where history ends and the forecast begins. */
export function readingText(reading: Reading, unit: string, originMs: number, leadMs: number | null): string {
  const { timeMs, measured, mean, lower, upper, remembered } = reading;
  const band = lower === null || upper === null ? "" : ` (${rangeText(lower, upper, unit)})`;
  const drawn =
    timeMs > originMs ? `forecast ${quantityText(mean, unit)}${band}` : `measured ${quantityText(measured, unit)}`;
  const said =
    remembered === null || leadMs === null
      ? []
      : [`said ${lengthText(leadMs)} before ${quantityText(remembered, unit)}`];
  return [momentText(timeMs, originMs), drawn, ...said].join(" · ");
}
