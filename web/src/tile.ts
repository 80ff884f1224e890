// A small multiple: one signal's value, history and forecast, as a link to its large view.

import type { Signal } from "./board.ts";
import { make, setAttribute, setText } from "./dom.ts";
import { axisRangeText, lengthText, momentText, quantity, quantityText, rangeText, withoutUnit } from "./format.ts";
import { hashOf } from "./route.ts";
import { drawSpark, sparkExtent } from "./spark.ts";
import type { Palette } from "./theme.ts";

/** What a redraw needs to know beside the signal. */
export interface Frame {
  nowMs: number;
  nodeNowMs: number;
  colours: Palette;
}

/** The element of one signal. What is drawn is also in `data-` attributes and in the accessible name. */
export class Tile {
  readonly signal: Signal;
  readonly element: HTMLAnchorElement;
  /** Why the signal is worth a look; said in place of the axis. */
  why: string | null = null;
  readonly canvas = make("canvas", { "aria-hidden": "true" });
  readonly #figure = make("b");
  readonly #unit = make("small");
  readonly #scale = make("span", { class: "scale" });
  readonly #ahead = make("span", { class: "ahead" });
  readonly #context = this.canvas.getContext("2d");
  /** The size of the canvas in CSS pixels. */
  #width = 0;
  #height = 0;

  constructor(signal: Signal, shownName: string) {
    this.signal = signal;
    const { info } = signal;
    const name = make("span", { class: "name" }, shownName);
    const value = make("span", { class: "value" }, this.#figure, " ", this.#unit);
    this.element = make(
      "a",
      { class: "tile", href: hashOf(info.id), title: `${info.id}\n${info.sentence}`, tabindex: "-1" },
      make("span", { class: "head" }, name, value),
      this.canvas,
      make("span", { class: "foot" }, this.#scale, this.#ahead),
    );
    this.element.dataset["signal"] = info.id;
  }

  /** Takes the canvas' size in CSS pixels. */
  resize(width: number, height: number): void {
    [this.#width, this.#height] = [width, height];
    const ratio = window.devicePixelRatio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.#context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  /** Brings text, attributes and drawing up to date. */
  draw(frame: Frame): void {
    const { signal } = this;
    const { unit } = signal.info;
    const shown = quantity(signal.value, unit);
    const extent = sparkExtent(signal);
    const stale = signal.staleSinceMs(frame.nodeNowMs, frame.nowMs);
    const since = stale === null ? null : `no sample since ${momentText(stale, frame.nodeNowMs)}`;
    setText(this.#figure, shown.figure);
    setText(this.#unit, shown.unit);
    setText(
      this.#scale,
      since ?? this.why ?? `axis ${withoutUnit(axisRangeText(extent.low, extent.high, unit), shown.unit)}`,
    );
    setText(this.#ahead, since === null ? withoutUnit(this.#aheadText("in "), shown.unit) : "");
    this.element.classList.toggle("stale", stale !== null);
    this.#describe(since);
    if (this.#context !== null && this.#width > 0) {
      drawSpark(this.#context, this.#width, this.#height, signal, extent, frame.colours);
    }
  }

  /** How the forecast shown ends, after `prefix` and its lead time; empty without one. */
  #aheadText(prefix: string): string {
    const { forecast, info, lastLead, stepMs } = this.signal;
    const idx = lastLead ?? -1;
    const [lead, lower, upper] = [forecast?.leads[idx], forecast?.lower[idx], forecast?.upper[idx]];
    if (lead === undefined || lower === undefined || upper === undefined) return "";
    return `${prefix}${lengthText(lead * stepMs)} ${rangeText(lower, upper, info.unit)}`;
  }

  #describe(since: string | null): void {
    const { forecast, info, history, lastLead, value } = this.signal;
    const idx = lastLead ?? -1;
    const data: Record<string, number | string | null | undefined> = {
      value,
      origin: forecast === null ? null : new Date(forecast.originMs).toISOString(),
      mean: forecast?.mean[idx],
      lower: forecast?.lower[idx],
      upper: forecast?.upper[idx],
      "inner-lower": forecast?.inner?.lower[idx],
      "inner-upper": forecast?.inner?.upper[idx],
      samples: history.values.filter((sample) => sample !== null).length,
    };
    for (const [name, entry] of Object.entries(data)) {
      setAttribute(this.element, `data-${name}`, entry === null || entry === undefined ? null : String(entry));
    }
    const words = [quantityText(value, info.unit), since ?? this.why ?? "", this.#aheadText("forecast in ")];
    setAttribute(this.element, "aria-label", `${info.id}: ${words.filter((word) => word !== "").join("; ")}`);
  }
}
