// What is about to go wrong: rules that warn, rules that may, and signals that will leave their usual range.

import { make, setText } from "./dom.ts";
import { lengthText, momentText, percentText, quantityText } from "./format.ts";
import { namePartsOf } from "./process.ts";
import { hashOf, hashOfRules } from "./route.ts";
import type { ChangeCause, Excursion, Passage, ProcessOrder, Warning, Warnings } from "./wire.ts";

/** A rule that is less probable than this has no line. */
const WORTH_A_LINE = 0.2;

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

  constructor() {
    this.element.append(make("h2", {}, "about to happen"), make("div", {}, this.#lines, this.#note, make("a", { class: "plain", href: hashOfRules() }, "make rules")));
  }

  show(warnings: Warnings): void {
    const lines = linesOf(warnings, Date.now());
    this.#lines.replaceChildren(
      ...lines.map(({ id, what, says, cause, stands }) =>
        make("li", { class: stands ? "stands" : null }, make("a", { href: hashOfSubject(id) }, what), " ", says, make("div", { class: "cause" }, cause)),
      ),
    );
    this.#lines.hidden = lines.length === 0;
    setText(this.#note, noteOf(warnings, lines.length));
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
