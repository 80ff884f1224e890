// All that the page knows of a node's signals, kept up to date from lists and ticks. Pure: `now` is passed in.

import { History } from "./history.ts";
import type { Forecast, NodeInfo, Samples, SeriesInfo, SeriesList, Tick } from "./wire.ts";
import { Surprise } from "./surprise.ts";

/** The leads, in steps, at which the small multiples draw the forecast. */
export const TILE_LEADS = [1, 2, 5, 10, 20, 30, 60, 120];

/** How many steps ahead a small multiple reaches at most. */
export const TILE_STEPS_AHEAD = Math.max(...TILE_LEADS);

/** How many steps of history a small multiple shows: twice as many, so that a third of its width is the forecast's. */
const TILE_STEPS = 2 * TILE_STEPS_AHEAD;
const LEAST_STEPS = 60;

/** The confidences of the two bands in a small multiple. */
export const TILE_CONFIDENCES = { outer: 0.95, inner: 0.5 };

/** The ends of a band at some leads. */
export interface Band {
  lower: number[];
  upper: number[];
}

/** A forecast at some leads, as a tick brings it. */
export interface TileForecast extends Band {
  originMs: number;
  leads: number[];
  mean: number[];
  /** The band of less confidence; a forecast that was fetched has none. */
  inner: Band | null;
}

/** One signal: what it is, its last samples, its forecast. */
export class Signal {
  info: SeriesInfo;
  history: History;
  forecast: TileForecast | null = null;
  /** Whether the samples from before the page was opened are here. */
  isLoaded = false;
  /** Whether any sample was something else than zero. */
  hasMoved = false;
  /** Whether there is any sample of late. */
  hasSample = false;
  readonly surprise = new Surprise();
  /** When a sample last came, by the page's own clock; `null` before the first. */
  #arrivedMs: number | null = null;

  constructor(info: SeriesInfo) {
    this.info = info;
    this.history = new History(this.stepMs, TILE_STEPS);
    if (info.last === null) return;
    this.history.put(Date.parse(info.last.time), info.last.value);
    this.hasMoved = isNonzero(info.last.value);
    this.hasSample = true;
  }

  get stepMs(): number {
    return Math.round(this.info.step_seconds * 1_000);
  }

  /** The longest horizon that the signal's own model answers. */
  get nearMs(): number {
    return Math.round(this.info.near_seconds * 1_000);
  }

  /** The value of the last slot; `null` in a gap or before the first sample. */
  get value(): number | null {
    return this.history.values.at(-1) ?? null;
  }

  /** How many steps of history its small multiple shows: as many as there are, within limits. */
  get nSteps(): number {
    return Math.min(Math.max(this.history.values.length, LEAST_STEPS), TILE_STEPS);
  }

  /** The farthest lead that its small multiple shows, by its place in the forecast; `null` without a forecast. */
  get lastLead(): number | null {
    const last = this.forecast?.leads.findLastIndex((lead) => lead <= this.nSteps / 2) ?? -1;
    return last < 0 ? null : last;
  }

  /** Takes one sample with the forecast that was made from it. */
  take(timeMs: number, value: number | null, forecast: TileForecast | null, nowMs: number): void {
    this.history.put(timeMs, value);
    this.surprise.take(timeMs, value, this.stepMs, forecast);
    this.forecast = forecast;
    this.hasMoved ||= isNonzero(value);
    this.hasSample ||= value !== null;
    if (value !== null) this.#arrivedMs = nowMs;
  }

  /** Takes the samples from before the page was opened. */
  takeSamples({ start, values }: Samples): void {
    this.history.merge(Date.parse(start), values);
    this.hasMoved ||= values.some(isNonzero);
    this.hasSample ||= values.some((value) => value !== null);
    this.isLoaded = true;
  }

  /** Takes a fetched forecast of every step, unless a tick brought one. */
  takeForecast({ origin, mean, lower, upper }: Forecast): void {
    if (this.forecast !== null) return;
    const leads = TILE_LEADS.filter((lead) => lead <= mean.length);
    const pick = (values: number[]) => leads.flatMap((lead) => values[lead - 1] ?? []);
    this.forecast = {
      originMs: Date.parse(origin),
      leads,
      mean: pick(mean),
      lower: pick(lower),
      upper: pick(upper),
      inner: null,
    };
  }

  /**
   * Since when there has been no sample, if that is longer than three steps; `null` for a live signal.
   *
   * A replayed trace carries its own times, so a sample that came just now counts whatever its label.
   */
  staleSinceMs(nodeNowMs: number, nowMs: number): number | null {
    const last = this.history.lastSample();
    if (last === null) return null;
    const limitMs = 3 * this.stepMs;
    const cameJustNow = this.#arrivedMs !== null && nowMs - this.#arrivedMs <= limitMs;
    return cameJustNow || nodeNowMs - last.timeMs <= limitMs ? null : last.timeMs;
  }
}

/** The signals of a node by id, in the node's order. */
export class Board {
  node: NodeInfo | null = null;
  readonly signals = new Map<string, Signal>();
  #clockAheadMs = 0;

  /** The signal of this id or short name. */
  find(name: string): Signal | null {
    const byAlias = () => [...this.signals.values()].find((signal) => signal.info.aliases.includes(name));
    return this.signals.get(name) ?? byAlias() ?? null;
  }

  /** Takes the list of all series; says whether signals came, went or changed their step. */
  applyList(list: SeriesList): boolean {
    this.node = list.node;
    const listed = new Set(list.series.map((info) => info.id));
    const gone = [...this.signals.keys()].filter((id) => !listed.has(id));
    gone.forEach((id) => this.signals.delete(id));
    let hasChanged = gone.length > 0;
    for (const info of list.series) {
      const known = this.signals.get(info.id);
      if (known !== undefined && known.info.step_seconds === info.step_seconds) {
        known.info = info;
      } else {
        this.signals.set(info.id, new Signal(info));
        hasChanged = true;
      }
    }
    return hasChanged;
  }

  /** Takes a tick; gives the ids in it that are not on the board. */
  applyTick(tick: Tick, nowMs: number): string[] {
    const timeMs = Date.parse(tick.time);
    const unknown: string[] = [];
    for (const [id, value] of Object.entries(tick.values)) {
      const signal = this.signals.get(id);
      if (signal === undefined) {
        unknown.push(id);
        continue;
      }
      if (signal.info.source === "sensor") this.#clockAheadMs = timeMs - nowMs;
      const forecast = own(tick.forecasts, id);
      const inner = own(tick.inner ?? {}, id);
      signal.take(timeMs, value, forecast === null ? null : { originMs: timeMs, ...forecast, inner }, nowMs);
    }
    return unknown;
  }

  /** The node's wall clock, as far as its sensors' ticks tell. */
  nodeNowMs(nowMs: number): number {
    return nowMs + this.#clockAheadMs;
  }

  /** Has every signal fetch again what it may have missed. */
  forgetLoaded(): void {
    for (const signal of this.signals.values()) signal.isLoaded = false;
  }
}

/** An id may be the name of something that every object inherits. */
function own<T>(record: Record<string, T>, id: string): T | null {
  return Object.hasOwn(record, id) ? (record[id] ?? null) : null;
}

function isNonzero(value: number | null): boolean {
  return value !== null && value !== 0;
}
