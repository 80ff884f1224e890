// The large view of one signal: choices, drawing, model and accuracy. Asks the node anew with every tick.

import { ApiError, seriesPath, type Api } from "./api.ts";
import type { Board, Signal } from "./board.ts";
import { Chart, type ChartData, type Reading } from "./chart.ts";
import { choice } from "./choice.ts";
import { csvName, toCsv } from "./csv.ts";
import { make, setAttribute, setText } from "./dom.ts";
import { lengthParameter, lengthText, momentText, quantity, quantityText, rangeText } from "./format.ts";
import { History, type Sample } from "./history.ts";
import { accuracyTable, modelPanel } from "./panel.ts";
import { Repeater } from "./queue.ts";
import { bucketMs, CONFIDENCES, horizonsMs, nearest, spansMs } from "./reach.ts";
import type { Accuracy, Forecast, Remembered, Samples, SeriesDetail } from "./wire.ts";

/** What a person chose; it stays from one signal to the next. */
export interface Choices {
  horizonMs: number;
  confidence: number;
  spanMs: number;
  /** The lead of the remembered forecasts to show; `null` for none. */
  leadMs: number | null;
}

/** What the view wants of the page. */
export interface DetailEvents {
  close(): void;
  /** Something differs from what is drawn. */
  stale(): void;
}

/** How often model, accuracy, remembered forecasts and bucketed history are asked for. */
const SLOW_MS = 10_000;
/** The least time between two requests of a kind, for a node that samples many times a second. */
const REST_MS = 150;

/** The view of `signal`. Lives until `close`. */
export class Detail {
  readonly signal: Signal;
  readonly element: HTMLElement;
  readonly #api: Api;
  readonly #board: Board;
  readonly #choices: Choices;
  readonly #on: DetailEvents;
  readonly #abort = new AbortController();
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
  readonly #fast = new Repeater(() => this.#try("forecast", () => this.#askForecast()), REST_MS);
  readonly #slow = new Repeater(() => this.#try("rest", () => this.#askRest()), REST_MS);
  readonly #timer: ReturnType<typeof setInterval>;
  #history: History;
  #forecast: Forecast | null = null;
  #remembered: Remembered | null = null;
  #leadsMs: number[] = [];
  #pointed: Reading | null = null;
  /** What the node last had against answering, by what was asked. */
  readonly #refusals = new Map<"forecast" | "rest", string>();
  /** Whether samples may be missing because the node could not be asked. */
  #hasMissed = false;

  constructor(api: Api, board: Board, signal: Signal, choices: Choices, on: DetailEvents) {
    this.#api = api;
    this.#board = board;
    this.#on = on;
    this.signal = signal;
    this.#choices = choices;
    this.#history = this.#emptyHistory();
    this.element = this.#layOut();
    this.#chart = new Chart(this.#plot, signal.info, (reading) => this.#point(reading));
    this.#showChoices();
    this.refresh();
    this.#timer = setInterval(() => this.#slow.run(), SLOW_MS);
  }

  /** Takes the sample that a tick brought and asks for the forecast made from it. */
  onTick(): void {
    const { endMs } = this.signal.history;
    if (this.#isRaw() && endMs !== null) this.#history.put(endMs, this.signal.value);
    this.#fast.run();
  }

  /** Asks for everything. */
  refresh(): void {
    this.#hasMissed = true;
    this.#fast.run();
    this.#slow.run();
  }

  /** Brings texts and drawing up to date. */
  draw(): void {
    const { signal } = this;
    const shown = quantity(signal.value, signal.info.unit);
    const stale = signal.staleSinceMs(this.#board.nodeNowMs(Date.now()), Date.now());
    setText(this.#figure, shown.figure);
    setText(this.#unit, shown.unit);
    setText(this.#since, stale === null ? "" : `no sample since ${momentText(stale)}`);
    this.element.classList.toggle("stale", stale !== null);
    this.#drawChart();
    this.#drawReading();
  }

  /** Draws again with the colours in use. */
  recolour(): void {
    this.#chart.recolour();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#abort.abort();
    this.#chart.close();
    this.element.remove();
  }

  #layOut(): HTMLElement {
    const { info } = this.signal;
    const close = make("button", { type: "button", class: "plain close", "aria-keyshortcuts": "Escape" }, "← all signals");
    close.addEventListener("click", this.#on.close);
    const csv = make("a", { href: "#", class: "csv" }, "CSV");
    csv.title = "the samples and the forecast shown, as CSV";
    csv.addEventListener("click", () => this.#fillCsv(csv));
    const aliases = info.aliases.length === 0 ? null : make("span", { class: "aliases" }, info.aliases.join(", "));
    return make(
      "main",
      { class: "detail", "aria-label": info.id },
      make("div", { class: "top" }, close, csv),
      make(
        "div",
        { class: "title" },
        make("div", {}, make("h2", { tabindex: "-1" }, info.id, " "), aliases, make("p", { class: "sentence" }, info.sentence)),
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
    const { stepMs } = this.signal;
    const choices = this.#choices;
    const lengths = (all: number[]) => all.map((ms) => ({ value: ms, text: lengthText(ms) }));
    const shares = CONFIDENCES.map((share) => ({ value: share, text: `${Math.round(share * 100)} %` }));
    const leads = [{ value: null as number | null, text: "none" }, ...lengths(this.#leadsMs)];
    const rows = [
      choice("horizon", "horizon", lengths(horizonsMs(stepMs)), this.#horizonMs(), (ms) => {
        choices.horizonMs = ms;
        this.#fast.run();
      }),
      choice("confidence", "confidence", shares, choices.confidence, (share) => {
        choices.confidence = share;
        this.#drawKey();
        this.#fast.run();
      }),
      choice("span", "history", lengths(spansMs(stepMs)), this.#spanMs(), (ms) => {
        choices.spanMs = ms;
        this.#history = this.#emptyHistory();
        this.#slow.run();
      }),
      choice("lead", "said before", leads, this.#leadMs(), (ms) => {
        choices.leadMs = ms;
        this.#remembered = null;
        this.#drawKey();
        this.#slow.run();
        this.#on.stale();
      }),
    ];
    this.#choiceRow.replaceChildren(...rows);
    this.#drawKey();
  }

  async #try(what: "forecast" | "rest", ask: () => Promise<void>): Promise<void> {
    try {
      await ask();
      this.#refusals.delete(what);
    } catch (error) {
      this.#hasMissed = true;
      // That the node is gone is said at the head of the page.
      if (error instanceof ApiError) this.#refusals.set(what, error.message);
    }
    if (this.#abort.signal.aborted) return;
    setText(this.#note, [...new Set(this.#refusals.values())].join("; "));
    this.#on.stale();
  }

  async #askForecast(): Promise<void> {
    const query = { horizon: lengthParameter(this.#horizonMs()), confidence: String(this.#choices.confidence) };
    this.#forecast = await this.#ask<Forecast>("/forecast", query);
  }

  async #askRest(): Promise<void> {
    const [spanMs, bucket, leadMs] = [this.#spanMs(), this.#bucketMs(), this.#leadMs()];
    const from = `-${lengthParameter(spanMs)}`;
    const needsSamples = !this.#isRaw() || this.#history.values.length <= 1 || this.#hasMissed;
    const [detail, accuracy, samples, remembered] = await Promise.all([
      this.#ask<SeriesDetail>("", {}),
      this.#ask<Accuracy>("/accuracy", {}),
      needsSamples ? this.#ask<Samples>("/samples", { from, step: lengthParameter(bucket) }) : null,
      leadMs === null ? null : this.#ask<Remembered>("/forecasts", { from, lead: lengthParameter(leadMs) }),
    ]);
    this.#model.replaceChildren(make("h3", {}, "model"), ...modelPanel(detail));
    this.#accuracy.replaceChildren(make("h3", {}, "accuracy so far"), make("div", { class: "scroll" }, accuracyTable(accuracy)));
    this.#takeLeads(accuracy);
    // The person may have chosen otherwise in the meantime; then another run follows.
    if (samples !== null && spanMs === this.#spanMs()) this.#takeSamples(samples);
    this.#hasMissed = false;
    if (leadMs === this.#leadMs()) this.#remembered = remembered;
  }

  #takeLeads(accuracy: Accuracy): void {
    const leadsMs = accuracy.leads.map((lead) => Math.round(lead.lead_seconds * 1_000));
    if (leadsMs.join() === this.#leadsMs.join()) return;
    this.#leadsMs = leadsMs;
    this.#showChoices();
  }

  #takeSamples(samples: Samples): void {
    const stepMs = Math.round(samples.step_seconds * 1_000);
    if (stepMs !== this.#history.stepMs || !this.#isRaw()) {
      this.#history = new History(stepMs, Math.ceil(this.#spanMs() / stepMs) + 1);
    }
    this.#history.merge(Date.parse(samples.start), samples.values);
  }

  #ask<T>(rest: string, query: Record<string, string>): Promise<T> {
    return this.#api.json<T>(seriesPath(this.signal.info.id, rest), query, this.#abort.signal);
  }

  #drawChart(): void {
    const originMs = this.signal.history.endMs;
    if (originMs === null) return;
    const data = this.#chartData(originMs);
    this.#chart.show(data);
    const { times, lower, upper } = data.forecast;
    const isJoined = times[0] === originMs;
    setAttribute(this.#plot, "data-origin", this.#forecast?.origin ?? null);
    setAttribute(this.#plot, "data-forecast-points", String(times.length - (isJoined ? 1 : 0)));
    setAttribute(this.#plot, "data-lower", String(lower.at(-1) ?? ""));
    setAttribute(this.#plot, "data-upper", String(upper.at(-1) ?? ""));
    setAttribute(this.#plot, "data-samples", String(data.history.values.filter((value) => value !== null).length));
    setAttribute(this.#plot, "data-said-before", String(data.remembered.times.length));
    setAttribute(this.#plot, "aria-label", `${this.signal.info.id}: history and forecast. ${this.#aheadText()}`);
  }

  #chartData(originMs: number): ChartData {
    const history = this.#history;
    const times = history.values.map((_, idx) => history.timeOf(idx));
    return {
      history: { times, values: [...history.values] },
      forecast: this.#forecastLine(),
      remembered: rememberedLine(this.#remembered),
      originMs: this.#forecast === null ? originMs : Date.parse(this.#forecast.origin),
      fromMs: originMs - this.#spanMs(),
      toMs: originMs + this.#horizonMs(),
    };
  }

  #drawKey(): void {
    const leadMs = this.#leadMs();
    const lines = [
      ["measured", "measured"],
      ["forecast", `forecast, ${Math.round(this.#choices.confidence * 100)} % interval`],
      ...(leadMs === null ? [] : [["said", `said ${lengthText(leadMs)} before`]]),
    ];
    this.#key.replaceChildren(...lines.map(([kind, text]) => make("li", { class: kind ?? null }, text ?? "")));
  }

  /** The forecast, begun at the sample it was made from, which is known for certain. */
  #forecastLine(): ChartData["forecast"] {
    const forecast = this.#forecast;
    if (forecast === null) return { times: [], mean: [], lower: [], upper: [] };
    const originMs = Date.parse(forecast.origin);
    const times = forecast.mean.map((_, idx) => originMs + Math.round((idx + 1) * forecast.step_seconds * 1_000));
    const { mean, lower, upper } = forecast;
    const known = this.signal.history.endMs === originMs ? this.signal.value : null;
    if (known === null) return { times, mean, lower, upper };
    const from = (values: number[]) => [known, ...values];
    return { times: [originMs, ...times], mean: from(mean), lower: from(lower), upper: from(upper) };
  }

  #point(reading: Reading | null): void {
    this.#pointed = reading;
    this.#drawReading();
  }

  #drawReading(): void {
    const { unit } = this.signal.info;
    const pointed = this.#pointed;
    if (pointed === null) return setText(this.#reading, this.#aheadText());
    const { measured, mean, lower, upper, remembered } = pointed;
    const band = lower === null || upper === null ? "" : ` (${rangeText(lower, upper, unit)})`;
    const isAhead = this.#forecast !== null && pointed.timeMs > Date.parse(this.#forecast.origin);
    const parts = [
      momentText(pointed.timeMs, this.signal.history.endMs ?? pointed.timeMs),
      isAhead ? null : `measured ${quantityText(measured, unit)}`,
      isAhead ? `forecast ${quantityText(mean, unit)}${band}` : null,
      remembered === null ? null : `said ${lengthText(this.#leadMs() ?? 0)} before ${quantityText(remembered, unit)}`,
    ];
    setText(this.#reading, parts.filter((part) => part !== null).join(" · "));
  }

  #aheadText(): string {
    const forecast = this.#forecast;
    const [mean, lower, upper] = [forecast?.mean.at(-1), forecast?.lower.at(-1), forecast?.upper.at(-1)];
    if (forecast === null || mean === undefined || lower === undefined || upper === undefined) return "no forecast yet";
    const { unit } = this.signal.info;
    const lengthMs = Math.round(forecast.mean.length * forecast.step_seconds * 1_000);
    const share = `${Math.round(forecast.confidence * 100)} %`;
    return `in ${lengthText(lengthMs)}: ${quantityText(mean, unit)}, with ${share} confidence ${rangeText(lower, upper, unit)}`;
  }

  #fillCsv(link: HTMLAnchorElement): void {
    const { stepMs, startMs, values } = this.#history;
    const text = toCsv(startMs, stepMs, values, this.#forecast);
    const time = new Date(this.signal.history.endMs ?? Date.now()).toISOString();
    link.download = csvName(this.#board.node?.host ?? "node", this.signal.info.id, time);
    if (link.href.startsWith("blob:")) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  }

  #horizonMs(): number {
    return nearest(horizonsMs(this.signal.stepMs), this.#choices.horizonMs);
  }

  #spanMs(): number {
    return nearest(spansMs(this.signal.stepMs), this.#choices.spanMs);
  }

  #leadMs(): number | null {
    const { leadMs } = this.#choices;
    return leadMs === null || this.#leadsMs.length === 0 ? null : nearest(this.#leadsMs, leadMs);
  }

  #bucketMs(): number {
    return bucketMs(this.#spanMs(), this.signal.stepMs);
  }

  #isRaw(): boolean {
    return this.#bucketMs() === this.signal.stepMs;
  }

  #emptyHistory(): History {
    return new History(this.#bucketMs(), Math.ceil(this.#spanMs() / this.#bucketMs()) + 1);
  }
}

/** The remembered forecasts as a line that breaks where some are missing. */
function rememberedLine(remembered: Remembered | null): ChartData["remembered"] {
  if (remembered === null) return { times: [], mean: [] };
  const moments = remembered.time.map((time) => Date.parse(time));
  const distances = moments.slice(1).map((ms, idx) => ms - (moments[idx] ?? ms));
  const usual = Math.min(...distances);
  const line: { times: number[]; mean: Sample[] } = { times: [], mean: [] };
  moments.forEach((ms, idx) => {
    const before = moments[idx - 1];
    if (before !== undefined && ms - before > 1.5 * usual) {
      line.times.push(before + 1);
      line.mean.push(null);
    }
    line.times.push(ms);
    line.mean.push(remembered.mean[idx] ?? null);
  });
  return line;
}
