// What the large view asks the node about one signal, as a person chose, and the last answers.

import { ApiError, seriesPath, type Api } from "./api.ts";
import type { Signal } from "./board.ts";
import { lengthParameter } from "./format.ts";
import { History } from "./history.ts";
import { Repeater } from "./queue.ts";
import { bucketMs, horizonsMs, nearest, spansMs } from "./reach.ts";
import type { Accuracy, Forecast, Remembered, Samples, SeriesDetail } from "./wire.ts";

/** What a person chose; it stays from one signal to the next. */
export interface Choices {
  horizonMs: number;
  confidence: number;
  spanMs: number;
  /** The lead of the remembered forecasts to show; `null` for none. */
  leadMs: number | null;
}

/** How often model, accuracy, remembered forecasts and bucketed history are asked for. */
const SLOW_MS = 10_000;
/** The least time between two requests of a kind, for a node that samples many times a second. */
const REST_MS = 150;

/** Asks for the forecast with every tick and for the rest now and then, until `close`. */
export class Inquiry {
  readonly choices: Choices;
  history: History;
  forecast: Forecast | null = null;
  remembered: Remembered | null = null;
  detail: SeriesDetail | null = null;
  accuracy: Accuracy | null = null;
  readonly #api: Api;
  readonly #signal: Signal;
  readonly #onAnswer: () => void;
  readonly #abort = new AbortController();
  readonly #fast = new Repeater(() => this.#try("forecast", () => this.#askForecast()), REST_MS);
  readonly #slow = new Repeater(() => this.#try("rest", () => this.#askRest()), REST_MS);
  readonly #timer = setInterval(() => this.#slow.run(), SLOW_MS);
  /** What the node last had against answering, by what was asked. */
  readonly #refusals = new Map<"forecast" | "rest", string>();
  /** Whether samples may be missing because the node could not be asked. */
  #hasMissed = true;

  /** `onAnswer` runs whenever an answer or a refusal came. */
  constructor(api: Api, signal: Signal, choices: Choices, onAnswer: () => void) {
    this.#api = api;
    this.#signal = signal;
    this.choices = choices;
    this.#onAnswer = onAnswer;
    this.history = this.#emptyHistory();
  }

  /** The horizon in use: the chosen one, as the signal's step allows. */
  get horizonMs(): number {
    return nearest(horizonsMs(this.#signal.stepMs), this.choices.horizonMs);
  }

  /** The length of history in use. */
  get spanMs(): number {
    return nearest(spansMs(this.#signal.stepMs), this.choices.spanMs);
  }

  /** The lead in use; `null` when none is chosen or the node has told none yet. */
  get leadMs(): number | null {
    const { leadMs } = this.choices;
    return leadMs === null || this.leadsMs.length === 0 ? null : nearest(this.leadsMs, leadMs);
  }

  /** The leads whose forecasts the node remembers. */
  get leadsMs(): number[] {
    return this.accuracy?.leads.map((lead) => Math.round(lead.lead_seconds * 1_000)) ?? [];
  }

  /** What the node refused, in its words; empty when it answered everything. */
  get refusal(): string {
    return [...new Set(this.#refusals.values())].join("; ");
  }

  /** Takes the sample that a tick brought and asks for the forecast made from it. */
  onTick(): void {
    const { endMs } = this.#signal.history;
    if (this.#isRaw() && endMs !== null) this.history.put(endMs, this.#signal.value);
    this.#fast.run();
  }

  /** Asks for everything, the samples that may have been missed too. */
  refresh(): void {
    this.#hasMissed = true;
    this.#fast.run();
    this.#slow.run();
  }

  /** Asks for what depends on horizon and confidence. */
  askAhead(): void {
    this.#fast.run();
  }

  /** Asks for the history of another length. */
  askSpan(): void {
    this.history = this.#emptyHistory();
    this.refresh();
  }

  /** Asks for the remembered forecasts of another lead. */
  askLead(): void {
    this.remembered = null;
    this.#slow.run();
  }

  /** Asks no more; what is under way is given up. */
  close(): void {
    clearInterval(this.#timer);
    this.#abort.abort();
  }

  async #try(what: "forecast" | "rest", ask: () => Promise<void>): Promise<void> {
    // A wish may outlive the view.
    if (this.#abort.signal.aborted) return;
    try {
      await ask();
      this.#refusals.delete(what);
    } catch (error) {
      this.#hasMissed = true;
      // That the node is gone is said at the head of the page.
      if (error instanceof ApiError) this.#refusals.set(what, error.message);
    }
    if (!this.#abort.signal.aborted) this.#onAnswer();
  }

  async #askForecast(): Promise<void> {
    const query = { horizon: lengthParameter(this.horizonMs), confidence: String(this.choices.confidence) };
    this.forecast = await this.#ask<Forecast>("/forecast", query);
  }

  async #askRest(): Promise<void> {
    const { spanMs, leadMs } = this;
    const needsSamples = !this.#isRaw() || this.#hasMissed;
    this.#hasMissed = false;
    const from = `-${lengthParameter(spanMs)}`;
    const step = lengthParameter(this.#bucketMs());
    const [detail, accuracy, samples, remembered] = await Promise.all([
      this.#ask<SeriesDetail>("", {}),
      this.#ask<Accuracy>("/accuracy", {}),
      needsSamples ? this.#ask<Samples>("/samples", { from, step }) : null,
      leadMs === null ? null : this.#ask<Remembered>("/forecasts", { from, lead: lengthParameter(leadMs) }),
    ]);
    this.detail = detail;
    this.accuracy = accuracy;
    // The person may have chosen otherwise in the meantime; then another run follows.
    if (samples !== null && spanMs === this.spanMs) this.#takeSamples(samples);
    if (leadMs === this.leadMs) this.remembered = remembered;
  }

  #takeSamples(samples: Samples): void {
    const stepMs = Math.round(samples.step_seconds * 1_000);
    // Means over buckets are not merged: the last bucket was not complete before.
    if (!this.#isRaw() || stepMs !== this.history.stepMs) {
      this.history = new History(stepMs, Math.ceil(this.spanMs / stepMs) + 1);
    }
    this.history.merge(Date.parse(samples.start), samples.values);
  }

  #ask<T>(rest: string, query: Record<string, string>): Promise<T> {
    return this.#api.json<T>(seriesPath(this.#signal.info.id, rest), query, this.#abort.signal);
  }

  #bucketMs(): number {
    return bucketMs(this.spanMs, this.#signal.stepMs);
  }

  #isRaw(): boolean {
    return this.#bucketMs() === this.#signal.stepMs;
  }

  #emptyHistory(): History {
    return new History(this.#bucketMs(), Math.ceil(this.spanMs / this.#bucketMs()) + 1);
  }
}
