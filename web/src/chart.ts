// The large drawing: history, past forecasts, the forecast with its bands, a second signal. uPlot does the drawing.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { dateText, lengthText, momentTickText, tickTexts, zoneText } from "./format.ts";
import type { Sample } from "./history.ts";
import type { ForecastLine, HistoryLine, Reading, RememberedLine } from "./lines.ts";
import type { Zoom } from "./route.ts";
import { extentOf, tickDistances, ticksBetween, timeDistance } from "./scale.ts";
import { palette, type Palette } from "./theme.ts";
import type { SeriesInfo } from "./wire.ts";

/** What to draw. Moments are milliseconds; arrays of one part have the same length. */
export interface ChartData {
  history: HistoryLine;
  forecast: ForecastLine;
  remembered: RememberedLine;
  /** Another signal on the same axis. */
  other: { history: HistoryLine; forecast: ForecastLine } | null;
  originMs: number;
  fromMs: number;
  toMs: number;
  /** A minute that is looked at. */
  marked: Zoom | null;
  /** Whether time runs evenly; otherwise the last third of the width is the forecast's. */
  isEven: boolean;
}

/** What the drawing tells. */
export interface ChartEvents {
  read(reading: Reading | null): void;
  /** A person dragged over a range; `null` to leave it. */
  zoomed(zoom: Zoom | null): void;
  /** A person clicked at a moment of the past. */
  picked(ms: number): void;
}

const HEIGHT_PX = 380;
const PHONE_HEIGHT_PX = 280;
const PHONE_WIDTH_PX = 560;
const FONT = '11px system-ui, -apple-system, "Segoe UI", sans-serif';
/** The room for the label of a moment. */
const TICK_PX = 72;
/** A drag over less is a click. */
const LEAST_DRAG_PX = 6;

/** The lines by their place in uPlot's table, those behind first. Of a band the upper end comes first. */
const ROW = {
  said: 1,
  wide: 3,
  middle: 5,
  narrow: 7,
  otherBand: 9,
  other: 11,
  otherMean: 12,
  saidMean: 13,
  measured: 14,
  mean: 15,
};

/** A uPlot of one signal that follows the width of its element and the colours of the page. */
export class Chart {
  readonly element: HTMLElement;
  readonly #info: SeriesInfo;
  readonly #on: ChartEvents;
  readonly #sizes = new ResizeObserver(() => this.#resize());
  #plot: uPlot | null = null;
  #data: ChartData | null = null;

  constructor(element: HTMLElement, info: SeriesInfo, on: ChartEvents) {
    this.element = element;
    this.#info = info;
    this.#on = on;
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
    return {
      ...this.#size(),
      ms: 1,
      legend: { show: false },
      padding: [16, 26, 0, 0],
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { size: 5 },
        bind: { dblclick: () => () => (this.#on.zoomed(null), null) },
      },
      scales: {
        x: {
          range: () => [this.#data?.fromMs ?? 0, this.#data?.toMs ?? 1],
          distr: 100,
          fwd: (ms) => this.#placeOf(ms),
          bwd: (place) => this.#momentAt(place),
        },
        y: { range: () => this.#extent() },
      },
      axes: [
        {
          ...axis,
          size: 40,
          splits: (plot) => this.#moments(plot),
          // Otherwise uPlot takes the scale for a logarithmic one and leaves labels out.
          filter: (_, moments) => moments,
          values: (_, moments) => this.#momentLabels(moments),
        },
        {
          ...axis,
          size: (_, labels) => 14 + 6.2 * Math.max(4, ...(labels ?? []).map((label) => label.length)),
          space: 36,
          incrs: tickDistances(unit),
          values: (_, splits) => tickTexts(splits, unit),
        },
      ],
      series: [{}, ...linesIn(colours)],
      bands: [
        { series: [ROW.said, ROW.said + 1], fill: colours.faintBand },
        ...[ROW.wide, ROW.middle, ROW.narrow].map((row): uPlot.Band => ({
          series: [row, row + 1],
          fill: colours.band,
        })),
        { series: [ROW.otherBand, ROW.otherBand + 1], fill: colours.otherBand },
      ],
      hooks: {
        drawClear: [(plot) => this.#drawMarked(plot, colours.rule)],
        drawAxes: [(plot) => this.#drawNow(plot, colours.quiet)],
        ready: [(plot) => plot.over.addEventListener("click", () => this.#pick(plot))],
        setCursor: [(plot) => this.#read(plot)],
        setSelect: [(plot) => this.#zoom(plot)],
      },
    };
  }

  /** How far time ahead is stretched, so that the forecast has a third of the width. */
  get #stretch(): number {
    const { isEven, fromMs, originMs, toMs } = this.#data ?? { isEven: true, fromMs: 0, originMs: 0, toMs: 1 };
    return isEven ? 1 : (originMs - fromMs) / 2 / (toMs - originMs);
  }

  #placeOf(ms: number): number {
    const originMs = this.#data?.originMs ?? 0;
    return ms <= originMs ? ms : originMs + (ms - originMs) * this.#stretch;
  }

  #momentAt(place: number): number {
    const originMs = this.#data?.originMs ?? 0;
    return place <= originMs ? place : originMs + (place - originMs) / this.#stretch;
  }

  /** Round times of day; where the forecast has a scale of its own, round lengths of time ahead. */
  #moments(plot: uPlot): number[] {
    if (this.#data === null) return [];
    const { fromMs, originMs, toMs, isEven } = this.#data;
    const n = Math.max(2, plot.bbox.width / uPlot.pxRatio / TICK_PX);
    // Hours and days are round where the person is.
    const baseMs = new Date(fromMs).getTimezoneOffset() * 60_000;
    if (isEven) return ticksBetween(fromMs, toMs, timeDistance(toMs - fromMs, n), baseMs);
    const past = timeDistance(originMs - fromMs, (n * 2) / 3);
    const ahead = timeDistance(toMs - originMs, n / 3);
    // The label of a moment just before the origin would run into that of the first one after it.
    const spareMs = ((originMs - fromMs) / ((n * 2) / 3)) * 0.4;
    return [
      ...ticksBetween(fromMs, originMs - spareMs, past, baseMs),
      ...ticksBetween(originMs + ahead, toMs, ahead, originMs),
    ];
  }

  #momentLabels(moments: number[]): string[] {
    const { originMs, isEven } = this.#data ?? { originMs: 0, isEven: true };
    const distance = (moments[1] ?? 0) - (moments[0] ?? 0);
    return moments.map((ms, idx) => {
      if (!isEven && ms > originMs) return `+${lengthText(ms - originMs)}`;
      const label = momentTickText(ms, distance);
      const day = dateText(ms);
      if (idx === 0) return `${label}\n${day} ${zoneText(ms)}`;
      return day === dateText(moments[idx - 1] ?? ms) || distance >= 86_400_000 ? label : `${label}\n${day}`;
    });
  }

  #extent(): [number, number] {
    if (this.#data === null) return [0, 1];
    const { history, forecast, remembered, other, fromMs, toMs } = this.#data;
    const within = (times: number[], ...lines: (readonly Sample[])[]) =>
      lines.flatMap((line) => line.filter((_, idx) => (times[idx] ?? 0) >= fromMs && (times[idx] ?? 0) <= toMs));
    const wide = (line: ForecastLine) => [line.mean, line.bands[0]?.lower ?? [], line.bands[0]?.upper ?? []];
    const { low, high } = extentOf(this.#info, [
      ...within(history.times, history.values),
      ...within(forecast.times, ...wide(forecast)),
      ...within(remembered.times, remembered.mean),
      ...within(other?.history.times ?? [], other?.history.values ?? []),
      ...(other === null ? [] : within(other.forecast.times, ...wide(other.forecast))),
    ]);
    return [low, high];
  }

  #drawNow(plot: uPlot, colour: string): void {
    if (this.#data === null || this.#data.originMs < this.#data.fromMs || this.#data.originMs > this.#data.toMs) return;
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

  #drawMarked({ bbox, ctx, valToPos }: uPlot, colour: string): void {
    const { fromMs = 0, marked = null, toMs = 0 } = this.#data ?? {};
    if (marked === null || marked.toMs < fromMs || marked.fromMs > toMs) return;
    const [left = 0, right = 0] = [Math.max(marked.fromMs, fromMs), Math.min(marked.toMs, toMs)].map((ms) => valToPos(ms, "x", true));
    ctx.save();
    ctx.fillStyle = colour;
    ctx.globalAlpha = 0.6;
    // In a long history a minute would be no pixel wide.
    ctx.fillRect(left, bbox.top, Math.max(right - left, 2 * uPlot.pxRatio), bbox.height);
    ctx.restore();
  }

  #pick(plot: uPlot): void {
    const ms = plot.posToVal(plot.cursor.left ?? -1, "x");
    if (this.#data !== null && ms >= this.#data.fromMs && ms <= this.#data.originMs) this.#on.picked(Math.round(ms));
  }

  #read(plot: uPlot): void {
    const idx = plot.cursor.idx;
    const timeMs = idx === null || idx === undefined ? undefined : plot.data[0][idx];
    if (idx === null || idx === undefined || timeMs === undefined) return this.#on.read(null);
    const at = (row: number): Sample => plot.data[row]?.[idx] ?? null;
    this.#on.read({
      timeMs,
      measured: at(ROW.measured),
      mean: at(ROW.mean),
      upper: at(ROW.wide),
      lower: at(ROW.wide + 1),
      remembered: at(ROW.saidMean),
      other: at(ROW.other) ?? at(ROW.otherMean),
    });
  }

  #zoom(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < LEAST_DRAG_PX) return;
    const [fromMs = 0, toMs = 0] = [left, left + width].map((px) => Math.round(plot.posToVal(px, "x")));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (toMs > fromMs) this.#on.zoomed({ fromMs, toMs });
  }
}

/** The looks of the rows, in their order. */
function linesIn(colours: Palette): uPlot.Series[] {
  const hidden = { points: { show: false } };
  // An end of a band is seen by its fill alone.
  const ends: uPlot.Series[] = Array.from({ length: 10 }, () => ({ ...hidden, width: 0 }));
  return [
    ...ends,
    { ...hidden, stroke: colours.other, width: 1.25 },
    { ...hidden, stroke: colours.other, width: 1.75 },
    { ...hidden, stroke: colours.accent, width: 1.25, dash: [5, 4], alpha: 0.85 },
    { ...hidden, stroke: colours.ink, width: 1.25 },
    { ...hidden, stroke: colours.accent, width: 1.75 },
  ];
}

/** One row of moments for all lines; where a line has no value at a moment it goes on, where it has a gap it breaks. */
function tableOf({ history, forecast, remembered, other }: ChartData): uPlot.AlignedData {
  const ends = ({ times, bands }: ForecastLine, n: number) =>
    Array.from({ length: n }, (_, idx) => bands[idx] ?? { upper: times.map(() => null), lower: times.map(() => null) });
  const table = (times: number[], ...lines: Sample[][]): uPlot.AlignedData => [times, ...lines];
  const flat = (line: ForecastLine, n: number) => ends(line, n).flatMap(({ upper, lower }) => [upper, lower]);
  const [ahead, past] = [other?.forecast ?? NO_FORECAST, other?.history ?? NO_HISTORY];
  return uPlot.join([
    table(remembered.times, remembered.upper, remembered.lower),
    table(forecast.times, ...flat(forecast, 3)),
    table(ahead.times, ...flat(ahead, 1)),
    table(past.times, past.values),
    table(ahead.times, ahead.mean),
    table(remembered.times, remembered.mean),
    table(history.times, history.values),
    table(forecast.times, forecast.mean),
  ]);
}

const NO_FORECAST: ForecastLine = { times: [], mean: [], bands: [] };
const NO_HISTORY: HistoryLine = { times: [], values: [] };
