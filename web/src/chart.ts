// The large drawing: history, remembered forecasts over it, and the forecast with its band. uPlot does the drawing.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { dateText, momentTickText, tickText } from "./format.ts";
import type { Sample } from "./history.ts";
import type { ForecastLine, HistoryLine, Reading, RememberedLine } from "./lines.ts";
import { extentOf, tickDistances, TIME_DISTANCES_MS } from "./scale.ts";
import { palette } from "./theme.ts";
import type { SeriesInfo } from "./wire.ts";

/** What to draw. Moments are milliseconds; arrays of one part have the same length. */
export interface ChartData {
  history: HistoryLine;
  forecast: ForecastLine;
  remembered: RememberedLine;
  originMs: number;
  fromMs: number;
  toMs: number;
}

const HEIGHT_PX = 380;
const PHONE_HEIGHT_PX = 260;
const PHONE_WIDTH_PX = 560;
const FONT = '11px system-ui, -apple-system, "Segoe UI", sans-serif';

/** A uPlot of one signal that follows the width of its element and the colours of the page. */
export class Chart {
  readonly element: HTMLElement;
  readonly #info: SeriesInfo;
  readonly #onRead: (reading: Reading | null) => void;
  readonly #sizes = new ResizeObserver(() => this.#resize());
  #plot: uPlot | null = null;
  #data: ChartData | null = null;

  constructor(element: HTMLElement, info: SeriesInfo, onRead: (reading: Reading | null) => void) {
    this.element = element;
    this.#info = info;
    this.#onRead = onRead;
    this.#sizes.observe(element);
  }

  show(data: ChartData): void {
    this.#data = data;
    const table = tableOf(data);
    if (this.#plot === null) this.#plot = new uPlot(this.#options(), table, this.element);
    else this.#plot.setData(table);
  }

  /** Draws again with the colours in use. */
  recolour(): void {
    this.#plot?.destroy();
    this.#plot = null;
    if (this.#data !== null) this.show(this.#data);
  }

  close(): void {
    this.#sizes.disconnect();
    this.#plot?.destroy();
  }

  #size(): { width: number; height: number } {
    const width = Math.max(this.element.clientWidth, 200);
    return { width, height: width < PHONE_WIDTH_PX ? PHONE_HEIGHT_PX : HEIGHT_PX };
  }

  #resize(): void {
    const { width, height } = this.#size();
    if (this.#plot !== null && this.#plot.width !== width) this.#plot.setSize({ width, height });
  }

  #options(): uPlot.Options {
    const colours = palette();
    const { unit } = this.#info;
    const hairline = { stroke: colours.rule, width: 1 };
    const axis = { stroke: colours.quiet, font: FONT, grid: hairline, ticks: { ...hairline, size: 4 } };
    const hidden = { points: { show: false } };
    return {
      ...this.#size(),
      ms: 1,
      legend: { show: false },
      padding: [16, 18, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
      scales: {
        x: { range: () => [this.#data?.fromMs ?? 0, this.#data?.toMs ?? 1] },
        y: { range: () => this.#extent() },
      },
      axes: [
        { ...axis, size: 26, space: 72, incrs: TIME_DISTANCES_MS, values: timeLabels },
        {
          ...axis,
          size: (_, labels) => 14 + 6.2 * Math.max(4, ...(labels ?? []).map((label) => label.length)),
          space: 36,
          incrs: tickDistances(unit),
          values: (_, splits) => splits.map((split) => tickText(split, unit)),
        },
      ],
      series: [
        {},
        { ...hidden, stroke: colours.ink, width: 1.25 },
        { ...hidden, stroke: colours.accent, width: 1.25, dash: [5, 4], alpha: 0.85 },
        { ...hidden, stroke: colours.accent, width: 1.75 },
        { ...hidden, stroke: colours.band, width: 1 },
        { ...hidden, stroke: colours.band, width: 1 },
      ],
      bands: [{ series: [4, 5], fill: colours.band }],
      hooks: {
        drawAxes: [(plot) => this.#drawNow(plot, colours.quiet)],
        setCursor: [(plot) => this.#read(plot)],
      },
    };
  }

  #extent(): [number, number] {
    const { history, forecast, remembered, fromMs } = this.#data ?? {};
    const past = history?.values.filter((_, idx) => (history.times[idx] ?? 0) >= (fromMs ?? 0));
    const values = [past, forecast?.mean, forecast?.lower, forecast?.upper, remembered?.mean];
    const { low, high } = extentOf(
      this.#info,
      values.flatMap((part) => part ?? []),
    );
    return [low, high];
  }

  #drawNow(plot: uPlot, colour: string): void {
    if (this.#data === null) return;
    const { ctx, bbox } = plot;
    const x = Math.round(plot.valToPos(this.#data.originMs, "x", true)) + 0.5;
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top - 6);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillStyle = colour;
    ctx.font = FONT.replace("11px", `${11 * uPlot.pxRatio}px`);
    ctx.textAlign = "center";
    ctx.textBaseline = "bottom";
    ctx.fillText("now", x, bbox.top - 6);
    ctx.restore();
  }

  #read(plot: uPlot): void {
    const idx = plot.cursor.idx;
    const timeMs = idx === null || idx === undefined ? undefined : plot.data[0][idx];
    if (idx === null || idx === undefined || timeMs === undefined) return this.#onRead(null);
    const at = (row: number): Sample => plot.data[row]?.[idx] ?? null;
    const [measured, remembered, mean, upper, lower] = [at(1), at(2), at(3), at(4), at(5)];
    this.#onRead({ timeMs, measured, remembered, mean, lower, upper });
  }
}

/** One row of moments for all lines; where a line has no value at a moment it goes on, where it has a gap it breaks. */
function tableOf({ history, forecast, remembered }: ChartData): uPlot.AlignedData {
  return uPlot.join([
    [history.times, history.values],
    [remembered.times, remembered.mean],
    [forecast.times, forecast.mean, forecast.upper, forecast.lower],
  ]);
}

function timeLabels(_: uPlot, splits: number[], _axis: number, _space: number, distanceMs: number): string[] {
  return splits.map((ms, idx) => {
    const day = dateText(ms);
    const isOtherDay = idx > 0 && day !== dateText(splits[idx - 1] ?? ms);
    return isOtherDay ? day.slice(5) : momentTickText(ms, distanceMs);
  });
}
