// Small drawings: a small multiple with its history, the mark where it ends, the forecast and its band; a curve in a table.

import type { Band, Signal, TileForecast } from "./board.ts";
import { draw } from "./dom.ts";
import type { Sample } from "./history.ts";
import type { Zoom } from "./route.ts";
import { extentOf, fixedExtent, minMax, rounded, type Extent } from "./scale.ts";
import type { Palette } from "./theme.ts";

/** The scale of a small multiple, in round numbers: the history's, stretched by the band to at most three times that. */
export function sparkExtent(signal: Signal): Extent {
  const { forecast, info, nSteps } = signal;
  const fixed = fixedExtent(info);
  if (fixed !== null) return fixed;
  const values = signal.history.values.slice(-nSteps);
  const past = minMax(values);
  if (forecast === null) return rounded(extentOf(info, values), info.unit);
  // The band of a forecast that knows little would press a calm history flat.
  const span = past === null ? Infinity : past.high - past.low;
  const [least, most] = past === null ? [-Infinity, Infinity] : [past.low - span, past.high + span];
  const band = [...forecast.lower, ...forecast.upper].map((bound) => Math.min(Math.max(bound, least), most));
  return rounded(extentOf(info, [past?.low, past?.high, ...forecast.mean, ...band]), info.unit);
}

/** Draws `signal` on a canvas of `width` x `height` CSS pixels, to which its context is scaled. */
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
  const nowX = Math.round((width * 2) / 3) + 0.5;
  const x = (timeMs: number) => nowX + ((timeMs - endMs) / (signal.nSteps * signal.stepMs)) * nowX;
  // Half a line's width stays free at either end.
  const y = (value: number) => height - 1 - ((value - extent.low) / (extent.high - extent.low)) * (height - 2);

  context.lineWidth = 1;
  context.strokeStyle = colours.rule;
  line(context, [nowX, 0], [nowX, height]);
  if (signal.forecast !== null) drawForecast(context, signal, signal.forecast, colours, x, y);
  drawHistory(context, signal, colours, x, y);
}

const [CURVE_WIDTH, CURVE_HEIGHT] = [120, 20];

/**
 * A small curve of values `stepMs` apart, from 0 to the greatest, with a mark at `markMs`; it breaks at `null` and
 * where a value is missing.
 */
export function curve(times: number[], values: Sample[], { fromMs, toMs }: Zoom, markMs: number, stepMs: number): SVGSVGElement {
  const most = Math.max(...values.map((value) => value ?? 0)) || 1;
  const x = (ms: number) => (((ms - fromMs) / (toMs - fromMs)) * (CURVE_WIDTH - 1)).toFixed(1);
  const y = (value: number) => (CURVE_HEIGHT - 1 - (value / most) * (CURVE_HEIGHT - 2)).toFixed(1);
  let path = "";
  let beforeMs = -Infinity;
  values.forEach((value, idx) => {
    const ms = times[idx];
    if (value === null || ms === undefined) return;
    // A value between two gaps would leave no trace.
    path += ms - beforeMs > 1.5 * stepMs ? `M${x(ms)} ${y(value)}h1` : `L${x(ms)} ${y(value)}`;
    beforeMs = ms;
  });
  const mark = draw("path", { class: "mark", d: `M${x(markMs)} 0v${CURVE_HEIGHT}` });
  const size = { width: String(CURVE_WIDTH), height: String(CURVE_HEIGHT), viewBox: `0 0 ${CURVE_WIDTH} ${CURVE_HEIGHT}` };
  return draw("svg", { ...size, preserveAspectRatio: "none", role: "img" }, mark, draw("path", { d: path }));
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

  const fill = (band: Band | null) => {
    if (band === null) return;
    context.beginPath();
    const outline = [...start, ...path(band.upper), ...path(band.lower).reverse()];
    outline.forEach(([left, top]) => context.lineTo(left, top));
    context.closePath();
    context.fill();
  };
  context.fillStyle = colours.band;
  fill(forecast);
  fill(forecast.inner);

  context.strokeStyle = colours.accent;
  context.lineWidth = 1.25;
  line(context, ...start, ...path(forecast.mean));
}

function line(context: CanvasRenderingContext2D, ...points: [number, number][]): void {
  context.beginPath();
  points.forEach(([left, top]) => context.lineTo(left, top));
  context.stroke();
}
