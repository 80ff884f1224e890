// The large view of one signal: choices, drawing, model and accuracy.

import type { Api } from "./api.ts";
import type { Board, Signal } from "./board.ts";
import { Chart } from "./chart.ts";
import { choice, type Option } from "./choice.ts";
import { csvName, toCsv } from "./csv.ts";
import { make, setAttribute, setText } from "./dom.ts";
import { clockText, dateText, lengthText, momentText, quantity } from "./format.ts";
import { CONFIDENCES, Inquiry } from "./inquiry.ts";
import { aheadText, farText, forecastLine, heldText, historyLine, NOTHING_SAID, readingText } from "./lines.ts";
import type { ForecastLine, HistoryLine, Reading } from "./lines.ts";
import { hostOf } from "./group.ts";
import { accuracyTable, modelPanel, residualsText } from "./panel.ts";
import { orderFor } from "./process.ts";
import { Processes } from "./processes.ts";
import { hashOfRules, zoomIn, type View, type Zoom } from "./route.ts";
import type { Tick } from "./wire.ts";

/** What the view wants of the page. */
export interface DetailEvents {
  close(): void;
  /** A person chose how the signal is looked at. */
  chosen(): void;
  /** Something differs from what is drawn. */
  stale(): void;
}

/** The view of `signal`. Lives until `close`. */
export class Detail {
  readonly signal: Signal;
  readonly element: HTMLElement;
  readonly #api: Api;
  readonly #board: Board;
  readonly #view: View;
  readonly #on: DetailEvents;
  readonly #inquiry: Inquiry;
  readonly #figure = make("b");
  readonly #unit = make("small");
  readonly #since = make("span", { class: "since", role: "status" });
  readonly #reading = make("p", { class: "reading" });
  readonly #key = make("ul", { class: "key", "aria-label": "lines" });
  readonly #note = make("p", { class: "note", role: "status" });
  readonly #plot = make("div", { class: "chart", role: "img" });
  readonly #choiceRow = make("div", { class: "choices" });
  readonly #model = make("section", { class: "model", "aria-label": "model" });
  readonly #accuracy = make("section", { class: "accuracy", "aria-label": "accuracy" });
  readonly #chart: Chart;
  readonly #who = make("button", { type: "button", class: "plain" }, "who used the host");
  readonly #users = make("div");
  /** In there while a moment is chosen. */
  #processes: Processes | null = null;
  /** A second signal, on the same axis. */
  #other: { signal: Signal; inquiry: Inquiry } | null = null;
  #shownLeads = "";
  /** What of a person's choices cannot be shown. */
  readonly #notes = { range: "", other: "" };
  #pointed: Reading | null = null;

  constructor(api: Api, board: Board, signal: Signal, view: View, on: DetailEvents) {
    this.#api = api;
    this.#board = board;
    this.#view = view;
    this.signal = signal;
    this.#on = on;
    this.#inquiry = new Inquiry(api, signal, view, () => this.#onAnswer());
    this.element = this.#layOut();
    this.#chart = new Chart(this.#plot, signal.info, {
      read: (reading) => this.#onPoint(reading),
      zoomed: (zoom) => {
        this.#chooseZoom(zoom);
        this.#showChoices();
      },
      picked: (ms) => this.#pick(ms),
    });
    // The node has the processes of its own host alone.
    this.#who.hidden = signal.info.source !== "sensor" || hostOf(signal.info) !== null;
    this.#who.addEventListener("click", () => this.#pick(this.#processes === null ? Date.now() : null));
    this.#showProcesses();
    this.#showOther();
    this.#showChoices();
    this.refresh();
  }

  /** Takes what a tick brought for the signal. */
  onTick(tick: Tick): void {
    const isIn = ({ info }: Signal) => Object.hasOwn(tick.values, info.id);
    if (isIn(this.signal)) this.#inquiry.onTick();
    if (this.#other !== null && isIn(this.#other.signal)) this.#other.inquiry.onTick();
  }

  /** Asks for everything. */
  refresh(): void {
    this.#inquiry.refresh();
    this.#other?.inquiry.refresh();
  }

  /** Brings texts and drawing up to date. */
  draw(): void {
    const { signal } = this;
    const nowMs = Date.now();
    const shown = quantity(signal.value, signal.info.unit);
    const stale = signal.staleSinceMs(this.#board.nodeNowMs(nowMs), nowMs);
    setText(this.#figure, shown.figure);
    setText(this.#unit, shown.unit);
    setText(this.#since, stale === null ? "" : `no sample since ${momentText(stale, nowMs)}`);
    this.element.classList.toggle("stale", stale !== null);
    this.#drawChart();
    this.#drawReading();
  }

  /** Draws again with the colours in use. */
  recolour(): void {
    this.#chart.recolour();
  }

  /** Shows the minute before (-1) or after (1), if one is shown. */
  step(direction: -1 | 1): void {
    this.#processes?.step(direction);
  }

  close(): void {
    this.#processes?.close();
    this.#inquiry.close();
    this.#other?.inquiry.close();
    this.#chart.close();
    this.element.remove();
  }

  #layOut(): HTMLElement {
    const { info } = this.signal;
    const close = make("button", { type: "button", class: "plain", "aria-keyshortcuts": "Escape" }, "← all signals");
    close.addEventListener("click", this.#on.close);
    const csv = make("a", { href: "#", class: "csv", title: "the samples and the forecast shown" }, "CSV");
    csv.addEventListener("click", () => this.#fillCsv(csv));
    const warn = make("a", { href: hashOfRules(info.id), class: "plain", title: "make a rule for warnings about this signal" }, "warn me");
    const aliases = info.aliases.length === 0 ? null : make("span", { class: "aliases" }, info.aliases.join(", "));
    const sentence = make("p", { class: "sentence" }, info.sentence);
    return make(
      "main",
      { class: "detail", "aria-label": info.id },
      make("div", { class: "top" }, close, make("span", {}, this.#who, warn, csv)),
      make(
        "div",
        { class: "title" },
        make("div", {}, make("h2", { tabindex: "-1" }, info.id, " "), aliases, sentence),
        make("p", { class: "value" }, this.#figure, " ", this.#unit, this.#since),
      ),
      this.#choiceRow,
      this.#plot,
      make("div", { class: "under" }, this.#reading, this.#key),
      this.#note,
      this.#users,
      make("div", { class: "panels" }, this.#model, this.#accuracy),
    );
  }

  #showChoices(): void {
    const focused = document.activeElement instanceof HTMLInputElement ? document.activeElement.name : "";
    const inquiry = this.#inquiry;
    const view = this.#view;
    const none: Option<number | null> = { value: null, text: "none" };
    const isZoomed = view.zoom !== null;
    const spans: Option<number | "range">[] = [...lengths(inquiry.spansMs), { value: "range", text: "from – to" }];
    const chosen = (ask: () => void) => {
      ask();
      this.#drawKey();
      this.#on.chosen();
      this.#on.stale();
    };
    this.#choiceRow.replaceChildren(
      choice("horizon", "horizon", lengths(inquiry.horizonsMs), inquiry.horizonMs, (ms) => {
        view.horizonMs = ms;
        // A day ahead beside ten minutes of the past would say little.
        if (inquiry.isFar && !isZoomed && view.spanMs < ms) {
          view.spanMs = ms;
          this.#all((asked) => asked.askSpan());
          this.#showChoices();
        }
        chosen(() => this.#all((asked) => asked.askAhead()));
      }),
      choice("span", "history", spans, isZoomed ? "range" : inquiry.spanMs, (ms) => {
        if (ms !== "range") view.spanMs = ms;
        this.#chooseZoom(ms === "range" ? this.#shownRange() : null);
        this.#showChoices();
      }),
      ...(view.zoom === null ? [] : [this.#rangeFields(view.zoom)]),
      choice("lead", "past forecasts, made before", [none, ...lengths(inquiry.leadsMs)], inquiry.leadMs, (ms) => {
        view.leadMs = ms;
        chosen(() => inquiry.askLead());
      }),
      this.#otherChoice(),
    );
    if (focused !== "") this.#choiceRow.querySelector<HTMLElement>(`[name="${focused}"]:checked`)?.focus();
    this.#drawKey();
  }

  /** Another range of moments; `null` for the last ones. */
  #chooseZoom(zoom: Zoom | null): void {
    // A range in whole seconds reads better, and a second is no loss in a long one.
    const round = (ms: number) =>
      zoom !== null && zoom.toMs - zoom.fromMs > 20_000 ? Math.round(ms / 1_000) * 1_000 : ms;
    this.#view.zoom = zoom === null ? null : { fromMs: round(zoom.fromMs), toMs: round(zoom.toMs) };
    this.#notes.range = "";
    this.#all((asked) => asked.askSpan());
    this.#on.chosen();
    this.#on.stale();
  }

  #shownRange(): Zoom {
    const endMs = this.signal.history.endMs ?? Date.now();
    return { fromMs: endMs - this.#inquiry.spanMs, toMs: endMs };
  }

  #rangeFields({ fromMs, toMs }: Zoom): HTMLElement {
    const field = (label: string, ms: number) => {
      const value = `${dateText(ms)}T${clockText(ms)}`;
      return make("input", { type: "datetime-local", step: "1", "aria-label": label, value });
    };
    const [from, to] = [field("from", fromMs), field("to", toMs)];
    const change = () => {
      const zoom = zoomIn(from.value, to.value);
      // The fields stay as they are: a person may be in the middle of one.
      if (zoom !== null) this.#chooseZoom(zoom);
      else this.#notes.range = "the first moment of the range has to be earlier than the second";
      this.#showNotes();
    };
    from.addEventListener("change", change);
    to.addEventListener("change", change);
    return make("fieldset", { class: "range" }, make("legend", {}, "range"), from, " – ", to);
  }

  /** Only signals of the same unit can be on the same axis. */
  #otherChoice(): HTMLElement {
    const { id, unit } = this.signal.info;
    const fitting = [...this.#board.signals.values()].filter(({ info }) => info.unit === unit && info.id !== id);
    const chosen = this.#other?.signal.info.id ?? "";
    const options = ["", ...fitting.map(({ info }) => info.id)].map((value) => {
      const option = make("option", { value }, value === "" ? "none" : value);
      option.selected = value === chosen;
      return option;
    });
    const select = make("select", { "aria-label": "second signal" }, ...options);
    select.addEventListener("change", () => {
      this.#view.other = select.value === "" ? null : select.value;
      this.#showOther();
      this.#drawKey();
      this.#on.chosen();
      this.#on.stale();
    });
    return make("fieldset", { class: "other" }, make("legend", {}, "second signal"), select);
  }

  #showOther(): void {
    this.#other?.inquiry.close();
    this.#other = null;
    const { other } = this.#view;
    const signal = other === null ? null : this.#board.find(other);
    const { id, unit } = this.signal.info;
    const isFitting = signal !== null && signal.info.id !== id && signal.info.unit === unit;
    this.#notes.other = other === null || isFitting ? "" : `no signal “${other}” in ${unit} to draw beside ${id}`;
    this.#showNotes();
    if (signal === null || !isFitting) return;
    const inquiry = new Inquiry(this.#api, signal, this.#view, this.#on.stale, true);
    this.#other = { signal, inquiry };
    inquiry.refresh();
  }

  /** Shows who used the host at a moment; `null` for none. */
  #pick(ms: number | null): void {
    if (this.#who.hidden) return;
    this.#view.atMs = ms;
    if (ms !== null && this.#processes !== null) return this.#processes.go(ms);
    this.#showProcesses();
    this.#on.chosen();
  }

  #showProcesses(): void {
    const isShown = this.#view.atMs !== null && !this.#who.hidden;
    setAttribute(this.#who, "aria-expanded", String(isShown));
    this.#processes?.close();
    this.#processes = null;
    if (isShown) {
      const events = { chosen: this.#on.chosen, shown: this.#on.stale };
      this.#processes = new Processes(this.#api, this.#view, orderFor(this.signal.info.id), false, events);
      this.#users.replaceChildren(this.#processes.element);
    }
    this.#on.stale();
  }

  #showNotes(): void {
    const { hindcast, outlook, refusal } = this.#inquiry;
    const [far, held] = [outlook === null ? "" : farText(outlook), hindcast === null ? "" : heldText(hindcast, this.signal.info.unit)];
    const notes = [refusal, far, held, this.#notes.range, this.#notes.other];
    setText(this.#note, notes.filter((note) => note !== "").join("; "));
  }

  #all(ask: (inquiry: Inquiry) => void): void {
    ask(this.#inquiry);
    if (this.#other !== null) ask(this.#other.inquiry);
  }

  #onAnswer(): void {
    const { accuracy, detail, leadMs, leadsMs } = this.#inquiry;
    this.#showNotes();
    if (detail !== null) this.#model.replaceChildren(make("h3", {}, "model"), ...modelPanel(detail));
    if (accuracy !== null) {
      const table = make("div", { class: "scroll" }, accuracyTable(accuracy));
      const notes = accuracy.residuals === null ? [] : [make("p", { class: "residuals" }, residualsText(accuracy.residuals))];
      this.#accuracy.replaceChildren(make("h3", {}, "accuracy so far"), table, ...notes);
    }
    // Only a change, so that the focus in the row is not lost with every answer.
    const leads = [leadMs, ...leadsMs].join();
    if (leads !== this.#shownLeads) {
      this.#shownLeads = leads;
      this.#showChoices();
    }
    this.#on.stale();
  }

  #drawChart(): void {
    const endMs = this.signal.history.endMs;
    if (endMs === null) return;
    const { forecast, forecasts, horizonMs, isFar, spanMs } = this.#inquiry;
    const { zoom } = this.#view;
    const { info, stepMs } = this.signal;
    const leastMs = 60 * stepMs;
    const [line, history] = linesOf(this.signal, this.#inquiry, zoom);
    const [otherLine, otherHistory] =
      this.#other === null ? [null, null] : linesOf(this.#other.signal, this.#other.inquiry, zoom);
    const remembered = this.#inquiry.said ?? NOTHING_SAID;
    this.#chart.show({
      history,
      forecast: line,
      remembered,
      other: otherLine === null ? null : { history: otherHistory, forecast: otherLine },
      // The steps of an outlook end before the last sample.
      originMs: forecast === null || isFar ? endMs : Date.parse(forecast.origin),
      // A node that has just begun fills its drawing all the same.
      fromMs: zoom?.fromMs ?? Math.max(endMs - spanMs, Math.min(history.times[0] ?? endMs, endMs - leastMs)),
      toMs: zoom?.toMs ?? endMs + horizonMs,
      marked: this.#processes?.minute ?? null,
      isEven: zoom !== null,
    });
    const bands = forecasts.flatMap(({ confidence, lower, upper }) => [
      [`data-lower-${confidence * 100}`, String(lower.at(-1) ?? "")],
      [`data-upper-${confidence * 100}`, String(upper.at(-1) ?? "")],
    ]);
    const drawn: Record<string, string> = {
      "data-origin": forecast?.origin ?? "",
      "data-forecast-points": String(forecast?.mean.length ?? 0),
      ...(Object.fromEntries(bands) as Record<string, string>),
      "data-from": String(zoom?.fromMs ?? ""),
      "data-other-samples": String(otherHistory?.values.filter((value) => value !== null).length ?? 0),
      "data-samples": String(history.values.filter((value) => value !== null).length),
      "data-said-before": String(remembered.times.length),
      "aria-label": `${info.id}: history and forecast; ${aheadText(forecast, info.unit)}`,
    };
    for (const [name, value] of Object.entries(drawn)) setAttribute(this.#plot, name, value);
  }

  #drawKey(): void {
    const { leadMs } = this.#inquiry;
    const shares = CONFIDENCES.map((share) => Math.round(share * 100)).join(", ");
    const other = this.#other?.signal.info.id;
    const lines = [
      make("li", { class: "measured" }, "measured"),
      make("li", { class: "forecast" }, `forecast, ${shares} % intervals`),
      leadMs === null
        ? null
        : make("li", { class: "said" }, `forecast made ${lengthText(leadMs)} before, ${this.#inquiry.isFarLead ? "95 % interval" : "± 2 standard errors"}`),
      other === undefined ? null : make("li", { class: "second" }, `${other}, 95 % interval`),
    ];
    this.#key.replaceChildren(...lines.filter((line) => line !== null));
  }

  #onPoint(reading: Reading | null): void {
    this.#pointed = reading;
    this.#drawReading();
  }

  #drawReading(): void {
    const { forecast, isFar, leadMs } = this.#inquiry;
    const { history, info } = this.signal;
    const endMs = history.endMs ?? 0;
    const originMs = forecast === null || isFar ? endMs : Date.parse(forecast.origin);
    const pointed = this.#pointed;
    const said = { originMs, leadMs, other: this.#other?.signal.info.id ?? null };
    const text = pointed === null ? aheadText(forecast, info.unit) : readingText(pointed, info.unit, said);
    setText(this.#reading, text);
  }

  #fillCsv(link: HTMLAnchorElement): void {
    const { forecast, history } = this.#inquiry;
    const text = toCsv(history.startMs, history.stepMs, history.values, forecast);
    const time = new Date(this.signal.history.endMs ?? Date.now()).toISOString();
    link.download = csvName(this.#board.node?.host ?? "node", this.signal.info.id, time);
    if (link.href.startsWith("blob:")) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  }
}

/** What is drawn of a signal: its forecast, and its samples, up to the last tick unless a past range is shown. */
function linesOf(signal: Signal, { forecasts, history, outlook }: Inquiry, zoom: Zoom | null): [ForecastLine, HistoryLine] {
  const { endMs } = signal.history;
  const originMs = Date.parse(forecasts[0]?.origin ?? "");
  const isPast = zoom !== null && endMs !== null && zoom.toMs < endMs;
  return [
    outlook === null
      ? forecastLine(forecasts, originMs === endMs ? signal.value : null)
      : forecastLine(forecasts, null, endMs ?? undefined),
    historyLine(history, isPast ? history : signal.history),
  ];
}

function lengths(all: number[]): Option<number>[] {
  return all.map((ms) => ({ value: ms, text: lengthText(ms) }));
}
