// The drawing in a small multiple: history, the mark where it ends, and the forecast with its band.

import { TILE_STEPS_AHEAD, type Signal, type TileForecast } from "./board.ts";
import { extentOf, fixedExtent, minMax, type Extent } from "./scale.ts";
import type { Palette } from "./theme.ts";

/** The scale of a small multiple: that of the history, stretched by the band to at most three times its height. */
export function sparkExtent(signal: Signal): Extent {
  if (fixedExtent(signal.info) !== null) return extentOf(signal.info, []);
  const past = minMax(signal.history.values);
  const { forecast } = signal;
  if (forecast === null) return extentOf(signal.info, signal.history.values);
  // The band of a forecast that knows little would press a calm history flat.
  const span = past === null ? Infinity : past.high - past.low;
  const [least, most] = past === null ? [-Infinity, Infinity] : [past.low - span, past.high + span];
  const band = [...forecast.lower, ...forecast.upper].map((bound) => Math.min(Math.max(bound, least), most));
  return extentOf(signal.info, [past?.low, past?.high, ...forecast.mean, ...band]);
}

/** Draws `signal` on a canvas of `width` x `height` CSS pixels, whose context is scaled to them. */
export function drawSpark(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  signal: Signal,
  extent: Extent,
  colours: Palette,
): void {
  context.clearRect(0, 0, width, height);
  const endMs = signal.history.endMs;
  if (endMs === null) return;
  const historyMs = signal.history.capacity * signal.stepMs;
  const spanMs = historyMs + TILE_STEPS_AHEAD * signal.stepMs;
  const x = (timeMs: number) => ((timeMs - endMs + historyMs) / spanMs) * width;
  // Half a line's width stays free at either end.
  const y = (value: number) => height - 1 - ((value - extent.low) / (extent.high - extent.low)) * (height - 2);
  const nowX = Math.round(x(endMs)) + 0.5;

  context.lineWidth = 1;
  context.strokeStyle = colours.rule;
  line(context, [nowX, 0], [nowX, height]);
  if (signal.forecast !== null) drawForecast(context, signal, signal.forecast, colours, x, y);
  drawHistory(context, signal, colours, x, y);
}

type Axis = (value: number) => number;

function drawHistory(context: CanvasRenderingContext2D, signal: Signal, colours: Palette, x: Axis, y: Axis): void {
  const { values } = signal.history;
  context.strokeStyle = colours.ink;
  context.lineWidth = 1;
  context.lineJoin = "round";
  context.beginPath();
  values.forEach((value, idx) => {
    if (value === null) return;
    const [left, top] = [x(signal.history.timeOf(idx)), y(value)];
    const [before, after] = [values[idx - 1] ?? null, values[idx + 1] ?? null];
    if (before !== null) {
      context.lineTo(left, top);
    } else {
      context.moveTo(left, top);
      // A sample between two gaps would leave no trace.
      if (after === null) context.lineTo(left + 1, top);
    }
  });
  context.stroke();
}

function drawForecast(
  context: CanvasRenderingContext2D,
  signal: Signal,
  forecast: TileForecast,
  colours: Palette,
  x: Axis,
  y: Axis,
): void {
  const at = (idx: number) => x(forecast.originMs + (forecast.leads[idx] ?? 0) * signal.stepMs);
  const origin = signal.value;
  const start: [number, number][] = origin === null ? [] : [[x(forecast.originMs), y(origin)]];
  const path = (values: number[]): [number, number][] => values.map((value, idx) => [at(idx), y(value)]);

  context.fillStyle = colours.band;
  context.beginPath();
  const outline = [...start, ...path(forecast.upper), ...path(forecast.lower).reverse()];
  outline.forEach(([left, top]) => context.lineTo(left, top));
  context.closePath();
  context.fill();

  context.strokeStyle = colours.accent;
  context.lineWidth = 1.25;
  line(context, ...start, ...path(forecast.mean));
}

function line(context: CanvasRenderingContext2D, ...points: [number, number][]): void {
  context.beginPath();
  points.forEach(([left, top]) => context.lineTo(left, top));
  context.stroke();
}
