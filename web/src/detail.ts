// The large view of one signal: choices, drawing, model and accuracy.

import type { Api } from "./api.ts";
import type { Board, Signal } from "./board.ts";
import { Chart } from "./chart.ts";
import { choice, type Option } from "./choice.ts";
import { csvName, toCsv } from "./csv.ts";
import { make, setAttribute, setText } from "./dom.ts";
import { lengthText, momentText, quantity } from "./format.ts";
import { Inquiry, type Choices } from "./inquiry.ts";
import { aheadText, forecastLine, historyLine, readingText, rememberedLine, type Reading } from "./lines.ts";
import { accuracyTable, modelPanel } from "./panel.ts";
import { CONFIDENCES, horizonsMs, spansMs } from "./reach.ts";

/** What the view wants of the page. */
export interface DetailEvents {
  close(): void;
  /** Something differs from what is drawn. */
  stale(): void;
}

/** The view of `signal`. Lives until `close`. */
export class Detail {
  readonly signal: Signal;
  readonly element: HTMLElement;
  readonly #board: Board;
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
  #shownLeads = "";
  #pointed: Reading | null = null;

  constructor(api: Api, board: Board, signal: Signal, choices: Choices, on: DetailEvents) {
    this.#board = board;
    this.signal = signal;
    this.#on = on;
    this.#inquiry = new Inquiry(api, signal, choices, () => this.#onAnswer());
    this.element = this.#layOut();
    this.#chart = new Chart(this.#plot, signal.info, (reading) => this.#onPoint(reading));
    this.#showChoices();
    this.refresh();
  }

  /** Takes what a tick brought for the signal. */
  onTick(): void {
    this.#inquiry.onTick();
  }

  /** Asks for everything. */
  refresh(): void {
    this.#inquiry.refresh();
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

  close(): void {
    this.#inquiry.close();
    this.#chart.close();
    this.element.remove();
  }

  #layOut(): HTMLElement {
    const { info } = this.signal;
    const close = make("button", { type: "button", class: "plain", "aria-keyshortcuts": "Escape" }, "← all signals");
    close.addEventListener("click", this.#on.close);
    const csv = make("a", { href: "#", class: "csv", title: "the samples and the forecast shown" }, "CSV");
    csv.addEventListener("click", () => this.#fillCsv(csv));
    const aliases = info.aliases.length === 0 ? null : make("span", { class: "aliases" }, info.aliases.join(", "));
    const sentence = make("p", { class: "sentence" }, info.sentence);
    return make(
      "main",
      { class: "detail", "aria-label": info.id },
      make("div", { class: "top" }, close, csv),
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
      make("div", { class: "panels" }, this.#model, this.#accuracy),
    );
  }

  #showChoices(): void {
    const inquiry = this.#inquiry;
    const { choices } = inquiry;
    const { stepMs } = this.signal;
    const shares = CONFIDENCES.map((share) => ({ value: share, text: `${Math.round(share * 100)} %` }));
    const none: Option<number | null> = { value: null, text: "none" };
    const chosen = (ask: () => void) => {
      ask();
      this.#drawKey();
      this.#on.stale();
    };
    this.#choiceRow.replaceChildren(
      choice("horizon", "horizon", lengths(horizonsMs(stepMs)), inquiry.horizonMs, (ms) => {
        choices.horizonMs = ms;
        chosen(() => inquiry.askAhead());
      }),
      choice("confidence", "confidence", shares, choices.confidence, (share) => {
        choices.confidence = share;
        chosen(() => inquiry.askAhead());
      }),
      choice("span", "history", lengths(spansMs(stepMs)), inquiry.spanMs, (ms) => {
        choices.spanMs = ms;
        chosen(() => inquiry.askSpan());
      }),
      choice("lead", "said before", [none, ...lengths(inquiry.leadsMs)], inquiry.leadMs, (ms) => {
        choices.leadMs = ms;
        chosen(() => inquiry.askLead());
      }),
    );
    this.#drawKey();
  }

  #onAnswer(): void {
    const { accuracy, detail, leadsMs, refusal } = this.#inquiry;
    setText(this.#note, refusal);
    if (detail !== null) this.#model.replaceChildren(make("h3", {}, "model"), ...modelPanel(detail));
    if (accuracy !== null) {
      const table = make("div", { class: "scroll" }, accuracyTable(accuracy));
      this.#accuracy.replaceChildren(make("h3", {}, "accuracy so far"), table);
    }
    // Only a change, so that the focus in the row is not lost with every answer.
    if (leadsMs.join() !== this.#shownLeads) {
      this.#shownLeads = leadsMs.join();
      this.#showChoices();
    }
    this.#on.stale();
  }

  #drawChart(): void {
    const endMs = this.signal.history.endMs;
    if (endMs === null) return;
    const { forecast, horizonMs, spanMs } = this.#inquiry;
    const history = historyLine(this.#inquiry.history, this.signal.history);
    const originMs = forecast === null ? endMs : Date.parse(forecast.origin);
    const line = forecastLine(forecast, endMs === originMs ? this.signal.value : null);
    const remembered = rememberedLine(this.#inquiry.remembered);
    this.#chart.show({
      history,
      forecast: line,
      remembered,
      originMs,
      fromMs: endMs - spanMs,
      toMs: endMs + horizonMs,
    });
    const drawn: Record<string, string> = {
      "data-origin": forecast?.origin ?? "",
      "data-forecast-points": String(forecast?.mean.length ?? 0),
      "data-lower": String(line.lower.at(-1) ?? ""),
      "data-upper": String(line.upper.at(-1) ?? ""),
      "data-samples": String(history.values.filter((value) => value !== null).length),
      "data-said-before": String(remembered.times.length),
      "aria-label": `${this.signal.info.id}: history and forecast; ${aheadText(forecast, this.signal.info.unit)}`,
    };
    for (const [name, value] of Object.entries(drawn)) setAttribute(this.#plot, name, value);
  }

  #drawKey(): void {
    const { choices, leadMs } = this.#inquiry;
    const forecast = `forecast, ${Math.round(choices.confidence * 100)} % interval`;
    const said = leadMs === null ? null : make("li", { class: "said" }, `said ${lengthText(leadMs)} before`);
    const lines = [make("li", { class: "measured" }, "measured"), make("li", { class: "forecast" }, forecast), said];
    this.#key.replaceChildren(...lines.filter((line) => line !== null));
  }

  #onPoint(reading: Reading | null): void {
    this.#pointed = reading;
    this.#drawReading();
  }

  #drawReading(): void {
    const { forecast, leadMs } = this.#inquiry;
    const { history, info } = this.signal;
    const originMs = forecast === null ? (history.endMs ?? 0) : Date.parse(forecast.origin);
    const pointed = this.#pointed;
    const text = pointed === null ? aheadText(forecast, info.unit) : readingText(pointed, info.unit, originMs, leadMs);
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

function lengths(all: number[]): Option<number>[] {
  return all.map((ms) => ({ value: ms, text: lengthText(ms) }));
}
