// What the large view asks the node about one signal, as a person chose, and the last answers.

import { ApiError, seriesPath, type Api } from "./api.ts";
import type { Signal } from "./board.ts";
import { lengthParameter } from "./format.ts";
import { History } from "./history.ts";
import { farForecast, hindcastLine, rememberedLine, type RememberedLine } from "./lines.ts";
import { Repeater } from "./queue.ts";
import type { View } from "./route.ts";
import { bucketMs, horizonsMs, leadsMs, nearest, spansMs } from "./reach.ts";
import type { Accuracy, Forecast, Hindcast, Outlook, Remembered, Samples, SeriesDetail } from "./wire.ts";

/** The confidences of the bands, the widest last: that one is said in words. */
export const CONFIDENCES = [0.5, 0.8, 0.95];
/** How often model, accuracy, remembered forecasts and bucketed history are asked for. */
const SLOW_MS = 10_000;
/** What was said before of a far lead is shown for so many times that lead, which is a few thousand steps at most. */
const LEADS_SHOWN = 10;
/** The least time between two requests of a kind, for a node that samples many times a second. */
const REST_MS = 150;

/** Asks for the forecast with every tick and for the rest now and then, until `close`. */
export class Inquiry {
  readonly #view: Readonly<View>;
  history: History;
  /** The forecast with each of its bands, the widest first; empty before there is one. */
  forecasts: Forecast[] = [];
  /** Where the forecast is one of hours or days: the answer that it was made of. */
  outlook: Outlook | null = null;
  /** What was said before, of the lead in use. */
  said: RememberedLine | null = null;
  /** Where that lead is a far one: the answer that it was made of, and the choices that were asked about. */
  hindcast: (Hindcast & { asked: string }) | null = null;
  detail: SeriesDetail | null = null;
  accuracy: Accuracy | null = null;
  readonly #api: Api;
  readonly #signal: Signal;
  readonly #onAnswer: () => void;
  readonly #isBrief: boolean;
  readonly #abort = new AbortController();
  readonly #fast = new Repeater(() => this.#try("forecast", () => this.#askForecast()), REST_MS);
  readonly #slow = new Repeater(() => this.#try("rest", () => this.#askRest()), REST_MS);
  readonly #timer = setInterval(() => this.#askSlowly(), SLOW_MS);
  /** What the node last had against answering, by what was asked. */
  readonly #refusals = new Map<"forecast" | "rest", string>();
  /** Whether samples may be missing because the node could not be asked. */
  #hasMissed = true;

  /** `onAnswer` runs whenever an answer or a refusal came. `isBrief` leaves out all but samples and the widest band. */
  constructor(api: Api, signal: Signal, view: Readonly<View>, onAnswer: () => void, isBrief = false) {
    this.#api = api;
    this.#signal = signal;
    this.#view = view;
    this.#onAnswer = onAnswer;
    this.#isBrief = isBrief;
    this.history = this.#emptyHistory();
  }

  /** The forecast with its widest band. */
  get forecast(): Forecast | null {
    return this.forecasts[0] ?? null;
  }

  /** The horizons to choose from. */
  get horizonsMs(): number[] {
    return horizonsMs(this.#signal.stepMs, this.#signal.nearMs, this.#view.horizonMs);
  }

  /** The horizon in use: the chosen one, as the signal's step allows. */
  get horizonMs(): number {
    return nearest(this.horizonsMs, this.#view.horizonMs);
  }

  /** Whether the horizon in use is answered by an outlook, and not by the signal's model. */
  get isFar(): boolean {
    return this.horizonMs > this.#signal.nearMs;
  }

  /** The lengths of history to choose from. */
  get spansMs(): number[] {
    return spansMs(this.#signal.stepMs, this.#view.spanMs);
  }

  /** The length of history in use. */
  get spanMs(): number {
    const { zoom } = this.#view;
    return zoom === null ? nearest(this.spansMs, this.#view.spanMs) : zoom.toMs - zoom.fromMs;
  }

  /** The lead in use; `null` when none is chosen or no forecast of any lead has come due. */
  get leadMs(): number | null {
    const { leadMs } = this.#view;
    if (leadMs === null || this.leadsMs.length === 0) return null;
    if (leadMs !== "auto") return nearest(this.leadsMs, leadMs);
    const due = this.accuracy?.leads.filter(({ n }) => n > 0).map((lead) => Math.round(lead.lead_seconds * 1_000));
    return due?.findLast((ms) => ms <= this.horizonMs) ?? null;
  }

  /** The leads to choose from. */
  get leadsMs(): number[] {
    return this.accuracy === null ? [] : leadsMs(this.#rememberedMs);
  }

  /** Whether the lead in use is answered by an outlook, and not by what the node remembers. */
  get isFarLead(): boolean {
    return this.leadMs !== null && !this.#rememberedMs.includes(this.leadMs);
  }

  /** The leads whose forecasts the node remembers. */
  get #rememberedMs(): number[] {
    return this.accuracy?.leads.map((lead) => Math.round(lead.lead_seconds * 1_000)) ?? [];
  }

  /** What the node refused, in its words; empty when it answered everything. */
  get refusal(): string {
    return [...new Set(this.#refusals.values())].join("; ");
  }

  /** Takes the sample that a tick brought and asks for the forecast made from it. */
  onTick(): void {
    const { endMs } = this.#signal.history;
    const isShown = endMs !== null && endMs <= (this.#view.zoom?.toMs ?? Infinity);
    if (this.#isRaw() && isShown) this.history.put(endMs, this.#signal.value);
    if (!this.isFar) this.#fast.run();
  }

  /** Asks for everything, the samples that may have been missed too. */
  refresh(): void {
    this.#hasMissed = true;
    this.#fast.run();
    this.#slow.run();
  }

  /** Asks for what depends on the horizon. */
  askAhead(): void {
    this.forecasts = [];
    this.outlook = null;
    this.#fast.run();
  }

  /** Asks for the history of another length. */
  askSpan(): void {
    this.history = this.#emptyHistory();
    this.refresh();
  }

  /** Asks for the remembered forecasts of another lead. */
  askLead(): void {
    this.said = null;
    this.hindcast = null;
    this.#slow.run();
  }

  /** Asks no more; what is under way is given up. */
  close(): void {
    clearInterval(this.#timer);
    this.#abort.abort();
  }

  #askSlowly(): void {
    this.#slow.run();
    if (this.isFar && this.#isFarStale()) this.#fast.run();
  }

  /** Whether a step has ended since the outlook was made: it costs the node a run over weeks. */
  #isFarStale(): boolean {
    if (this.outlook === null) return true;
    const nextMs = Date.parse(this.outlook.origin) + 2_000 * this.outlook.step_seconds;
    return (this.#signal.history.endMs ?? 0) >= nextMs;
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
    const { horizonMs, isFar } = this;
    const horizon = lengthParameter(horizonMs);
    const confidences = [...CONFIDENCES].reverse().slice(0, this.#isBrief ? 1 : undefined);
    let outlook: Outlook | null = null;
    const asked = confidences.map(async (share) => {
      const query = { horizon, confidence: String(share) };
      if (!isFar) return this.#ask<Forecast>("/forecast", query);
      outlook = await this.#ask<Outlook>("/outlook", query);
      return farForecast(outlook);
    });
    const all = await Promise.all(asked);
    if (horizonMs !== this.horizonMs) return;
    // A sample may have come between two answers: bands of another origin do not belong to the first.
    this.forecasts = all.filter(({ origin }) => origin === all[0]?.origin);
    this.outlook = outlook;
  }

  async #askRest(): Promise<void> {
    if (!this.#isBrief) {
      const [detail, accuracy] = await Promise.all([
        this.#ask<SeriesDetail>("", {}),
        this.#ask<Accuracy>("/accuracy", {}),
      ]);
      this.detail = detail;
      this.accuracy = accuracy;
    }
    const { spanMs, leadMs } = this;
    const needsSamples = !this.#isRaw() || this.#hasMissed;
    this.#hasMissed = false;
    const range = this.#range();
    const step = lengthParameter(this.#bucketMs());
    const [samples, said] = await Promise.all([
      needsSamples ? this.#ask<Samples>("/samples", { ...range, step }) : null,
      leadMs === null || this.#isBrief ? null : this.#askSaid(range, leadMs),
    ]);
    // The person may have chosen otherwise in the meantime; then another run follows.
    if (JSON.stringify(range) !== JSON.stringify(this.#range())) return;
    if (samples !== null && spanMs === this.spanMs) this.#takeSamples(samples);
    if (leadMs === this.leadMs) this.said = said;
  }

  async #askSaid(range: Record<string, string>, leadMs: number): Promise<RememberedLine | null> {
    if (!this.isFarLead) return rememberedLine(await this.#askRemembered(range, leadMs), this.#signal.info.range);
    await this.#askHindcast(leadMs);
    return this.hindcast === null ? null : hindcastLine(this.hindcast);
  }

  /** Asks for what would have been said, unless that is here: it costs the node a run over weeks. */
  async #askHindcast(leadMs: number): Promise<void> {
    const endMs = this.#signal.history.endMs;
    if (endMs === null) return;
    const { fromMs, toMs } = this.#view.zoom ?? { fromMs: endMs - this.spanMs, toMs: endMs };
    const asked = JSON.stringify([leadMs, this.#view.zoom ?? this.spanMs]);
    if (this.hindcast?.asked === asked) {
      const { start, step_seconds, median } = this.hindcast;
      // The step after the last one is over a step later.
      if (Math.min(toMs, endMs) < Date.parse(start) + 1_000 * step_seconds * (median.length + 1)) return;
    }
    const moment = (ms: number) => new Date(ms).toISOString();
    const from = moment(Math.max(fromMs, toMs - LEADS_SHOWN * leadMs));
    const answer = await this.#ask<Hindcast>("/hindcast", { lead: lengthParameter(leadMs), from, to: moment(toMs) });
    if (leadMs === this.leadMs) this.hindcast = { ...answer, asked };
  }

  async #askRemembered(range: Record<string, string>, leadMs: number): Promise<Remembered> {
    const answer = await this.#ask<Remembered>("/forecasts", { ...range, lead: lengthParameter(leadMs) });
    // What was said of moments to come has been said better since.
    const nPast = answer.time.findLastIndex((time) => Date.parse(time) <= (this.#signal.history.endMs ?? 0)) + 1;
    return { ...answer, time: answer.time.slice(0, nPast) };
  }

  #range(): Record<string, string> {
    const { zoom } = this.#view;
    if (zoom === null) return { from: `-${lengthParameter(this.spanMs)}` };
    return { from: new Date(zoom.fromMs).toISOString(), to: new Date(zoom.toMs).toISOString() };
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
