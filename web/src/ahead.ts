// What is about to go wrong: rules that warn, rules that may, signals that will leave their usual range, and what runs
// out within days.

import { ApiError, type Api } from "./api.ts";
import { make, setText } from "./dom.ts";
import { clockText, dateText, lengthText, momentText, percentText, quantityText } from "./format.ts";
import { namePartsOf } from "./process.ts";
import { hashOf, hashOfRules } from "./route.ts";
import { acknowledgedText } from "./rule.ts";
import type { ChangeCause, Excursion, Exhaustion, ExhaustionList, Passage, ProcessOrder, Warning, Warnings } from "./wire.ts";

/** A rule that is less probable than this has no line. */
const WORTH_A_LINE = 0.2;

/** Resources that run out within days, at most. */
const N_EXHAUSTED_MAX = 5;

/** One line: what, how probable, when. */
interface Line {
  id: string;
  what: string;
  says: string;
  /** Who it is, if it is somebody. */
  cause: string;
  stands: boolean;
}

/** The panel above the signals. */
export class Ahead {
  readonly element = make("section", { class: "group ahead", "aria-label": "about to happen" });
  readonly #lines = make("ul");
  readonly #note = make("p", { class: "legend" });
  readonly #api: Api;
  #warnings: Warnings | null = null;
  #resources: Exhaustion[] = [];

  constructor(api: Api) {
    this.#api = api;
    this.element.append(make("h2", {}, "about to happen"), make("div", {}, this.#lines, this.#note, make("a", { class: "plain", href: hashOfRules() }, "make rules")));
  }

  show(warnings: Warnings): void {
    this.#warnings = warnings;
    const lines = [...linesOf(warnings, Date.now()), ...linesOfDays(this.#resources, warnings)];
    this.#lines.replaceChildren(
      ...lines.map(({ id, what, says, cause, stands }) =>
        make("li", { class: stands ? "stands" : null }, make("a", { href: hashOfSubject(id) }, what), " ", says, make("div", { class: "cause" }, cause)),
      ),
    );
    this.#lines.hidden = lines.length === 0;
    setText(this.#note, noteOf(warnings, lines.length));
  }

  /** Asks what runs out within days. Without an answer, what was known stays. */
  async look(): Promise<void> {
    try {
      this.#resources = (await this.#api.json<ExhaustionList>("exhaustion")).resources;
    } catch (error) {
      // A broken connection says so elsewhere.
      if (error instanceof ApiError) this.#resources = [];
      return;
    }
    if (this.#warnings !== null) this.show(this.#warnings);
  }
}

/** Warnings that stand, then rules by probability, then excursions, which come soonest first. */
export function linesOf(warnings: Warnings, nowMs: number): Line[] {
  const isWorthy = ({ stands, probability, problem }: Warning) =>
    stands || problem !== undefined || (probability ?? 0) >= WORTH_A_LINE;
  const rank = ({ stands, probability }: Warning) => (stands ? 2 : 0) + (probability ?? 0);
  const rules = warnings.rules.filter(isWorthy).sort((left, right) => rank(right) - rank(left));
  return [...rules.map((rule) => lineOfRule(rule, nowMs)), ...warnings.excursions.map((one) => lineOfExcursion(one, nowMs))];
}

/** Resources that will probably run out, soonest first. What has a line by itself, or is exhausted already, is not ahead. */
export function linesOfDays(resources: Exhaustion[], { excursions }: Warnings): Line[] {
  const isAhead = ({ id, is_exhausted, after }: Exhaustion) =>
    !is_exhausted && after.p50_seconds !== null && excursions.every((one) => one.id !== id);
  return resources.filter(isAhead).slice(0, N_EXHAUSTED_MAX).map(lineOfExhaustion);
}

/** Where a line leads: to its signal, or to the rules where it is about several. */
export function hashOfSubject(id: string): string {
  return / [-+/] /.test(id) ? hashOfRules() : hashOf(id);
}

function lineOfRule(rule: Warning, nowMs: number): Line {
  const lasting = rule.for_seconds === undefined ? "" : ` for ${lengthText(rule.for_seconds * 1_000)}`;
  const within = lengthText(rule.within_seconds * 1_000);
  const parts = [
    rule.problem ?? `${rule.statement}${lasting} within ${within}: ${chanceText(rule.probability, rule.after)}`,
    rule.no_sample_since === undefined ? "" : `no sample since ${momentText(Date.parse(rule.no_sample_since), nowMs)}`,
    rule.stands && rule.since !== undefined ? `warned ${momentText(Date.parse(rule.since), nowMs)}` : "",
    acknowledgedText(rule, nowMs),
    rule.silent_until === undefined ? "" : `silent until ${momentText(Date.parse(rule.silent_until), nowMs)}`,
  ];
  return { id: rule.id, what: rule.name, says: parts.filter((part) => part !== "").join(" · "), cause: causeText(rule.cause, nowMs), stands: rule.stands };
}

function lineOfExcursion({ id, unit, rises, line, within_seconds, probability, base_rate, after, cause }: Excursion, nowMs: number): Line {
  const way = rises ? "rises above" : "falls below";
  const chance = chanceText(probability, after);
  const seldom = `otherwise ${percentText(base_rate)}`;
  const within = lengthText(within_seconds * 1_000);
  const says = `${way} ${quantityText(line, unit)} within ${within}: ${chance}, ${seldom}`;
  return { id, what: id, says, cause: causeText(cause, nowMs), stands: false };
}

function lineOfExhaustion({ id, unit, rises, line, within_seconds, probability, after, origin, step_seconds }: Exhaustion): Line {
  const fromMs = Date.parse(origin) + step_seconds * 1_000;
  const at = (seconds: number | null): string => {
    if (seconds === null) return "later";
    const ms = fromMs + seconds * 1_000;
    return `${dateText(ms)} ${clockText(ms).slice(0, 5)}`;
  };
  const way = rises ? "rises above" : "falls below";
  const interval = `80 %: ${at(after.p10_seconds)} to ${at(after.p90_seconds)}`;
  const chance = `${percentText(probability)} by ${at(within_seconds)}`;
  return { id, what: id, says: `${way} ${quantityText(line, unit)} at ${at(after.p50_seconds)} (${interval}), ${chance}`, cause: "", stands: false };
}

const USES: Readonly<Record<ProcessOrder, string>> = {
  cpu: "CPU use",
  memory: "memory use",
  read: "reading from disks",
  written: "writing to disks",
};

/** `92 % of the rise in memory use: postgres (pid 4411), since 14:02`; nothing for nobody in particular. */
export function causeText(cause: ChangeCause | undefined, nowMs: number): string {
  if (cause?.culprit == null) return "";
  const { name, kind, ratio, pid, since } = cause.culprit;
  const way = cause.measure === "mean" ? "all" : cause.change < 0 ? "the fall in" : "the rise in";
  const text = namePartsOf(name).map((part) => part.text).join("");
  const who = kind === "unit" || kind === "container" ? `${kind} ${text}` : text;
  const ofPid = pid === undefined ? "" : ` (pid ${pid})`;
  const from = since === undefined ? "" : `, since ${momentText(Date.parse(since), nowMs)}`;
  const share = ratio > 1.005 ? "more than all" : percentText(ratio);
  return `${share} of ${way} ${USES[cause.resource]}: ${who}${ofPid}${from}`;
}

/** `85 % (50 % in 20 min)`, without the time where it is there already. */
export function chanceText(probability: number | null, after: Passage | undefined): string {
  if (probability === null) return "not known yet";
  const half = after?.p50_seconds ?? null;
  return half === null || half === after?.p90_seconds ? percentText(probability) : `${percentText(probability)} (50 % in ${lengthText(half * 1_000)})`;
}

/** What there is to say beside the lines. */
export function noteOf({ at, rules, problem, n_too_young }: Warnings, nLines: number): string {
  if (at === null) return "The node has not looked ahead yet.";
  const young = n_too_young === 1 ? "1 signal has" : `${n_too_young} signals have`;
  const parts = [
    problem === undefined ? "" : `The rules in force are older ones: ${problem}.`,
    nLines > 0 ? "" : `Nothing is likely to go wrong${rules.length === 0 ? "" : ", by any rule"}.`,
    n_too_young === 0 ? "" : `What is usual is known after eight and a half hours of samples; ${young} fewer.`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}
