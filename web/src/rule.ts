// What a form says of a rule for warnings, and what the node says of the rule, in words. Pure.

import type { ApiError } from "./api.ts";
import { lengthText, momentText } from "./format.ts";
import type { Rule, RuleText, TriedRule, Warning, Warnings } from "./wire.ts";

/** The keys of a rule, in the order of the form. */
export const FIELDS = ["name", "when", "within", "for", "raise", "clear", "quiet"] as const;

export type Field = (typeof FIELDS)[number];

/** What stands in each field. */
export type RuleForm = Record<Field, string>;

/** What is wrong, and with which field; `null` where no single one is meant. */
export interface Fault {
  field: Field | null;
  message: string;
}

/** A form that is not filled in. */
export const BLANK: Readonly<RuleForm> = { name: "", when: "", within: "30min", for: "", raise: "0.8", clear: "0.5", quiet: "" };

/** Over how much of the past a rule is tried. */
export const TRY_MS = 7 * 86_400_000;

/** Parts of a path that would lead elsewhere. */
const NO_NAMES = ["try", ".", ".."];

/** The form that makes this rule. */
export function formOf(rule: Rule): RuleForm {
  const { name, when, within, raise, clear } = rule;
  return { name, when, within, for: rule.for ?? "", raise: String(raise), clear: String(clear), quiet: quietText(rule) };
}

/** The rule that a form makes, without its name; what is left empty is left out. */
export function textOf(form: RuleForm): RuleText {
  const number = (text: string) => (text.trim() === "" ? undefined : Number(text));
  const [lasting, raise, clear] = [form.for.trim(), number(form.raise), number(form.clear)];
  const quiet = form.quiet.split(",").map((range) => range.trim()).filter((range) => range !== "");
  return {
    when: form.when,
    within: form.within,
    ...(lasting === "" ? {} : { for: lasting }),
    ...(raise === undefined ? {} : { raise }),
    ...(clear === undefined ? {} : { clear }),
    ...(quiet.length === 0 ? {} : { quiet }),
  };
}

/** What is wrong with a form that the node need not be asked about; without `taken` its name does not count. */
export function faultIn(form: RuleForm, taken?: readonly string[]): Fault | null {
  const name = form.name.trim();
  if (taken !== undefined) {
    if (name === "") return { field: "name", message: "give the rule a name" };
    if (NO_NAMES.includes(name)) return { field: "name", message: `a rule cannot be called “${name}” here; choose another name` };
    if (taken.includes(name)) return { field: "name", message: `there is a rule “${name}”; edit that one, or choose another name` };
  }
  if (form.when.trim() === "") return { field: "when", message: "write a statement, such as cpu.busy > 90%" };
  for (const field of ["raise", "clear"] as const) {
    const text = form[field].trim();
    if (!Number.isFinite(Number(text))) return { field, message: `“${text}” is not a number; write one from 0 to 1, such as 0.8` };
  }
  return null;
}

/** What a refusal of the node says of a form. */
export function faultOf({ code, field, message }: ApiError): Fault {
  const key = code === "unknown_series" ? "when" : (field ?? "").replace(/^rule\./, "");
  return { field: FIELDS.find((known) => known === key) ?? null, message };
}

/** What a rule would have done, in a sentence or two. */
export function triedText(tried: TriedRule, triedMs = TRY_MS): string {
  const { n_warned, n_right, n_late, n_events, n_foreseen, ahead_median_seconds, past_seconds } = tried;
  const pastMs = past_seconds * 1_000;
  if (n_warned === 0 && n_events === 0 && pastMs < triedMs / 50) {
    return `There is too little history to try this: the node knows ${about(pastMs)} of it. In that time it did not happen.`;
  }
  // The last step may be under way.
  const past = pastMs < 0.98 * triedMs ? `the ${about(pastMs)} that the node knows` : `the past ${about(triedMs)}`;
  const ahead = ahead_median_seconds === null ? "" : `, ${about(ahead_median_seconds * 1_000)} ahead at the median`;
  const warned = n_warned === 0 ? "not have warned" : `have warned ${times(n_warned)}, ${rightly(n_warned, n_right)}${late(n_late)}${ahead}`;
  const happened = n_events === 0 ? "It did not happen." : `It happened ${times(n_events)}, ${unwarned(n_events, n_foreseen)}.`;
  return `Over ${past} this rule would ${warned}. ${happened}`;
}

/** How a rule stands, as the node saw it last; `null` where it has not looked at the rule as it is. */
export function standingOf({ name, when }: Rule, { rules }: Warnings): Warning | null {
  return rules.find((warning) => warning.name === name && warning.statement === when) ?? null;
}

/** `acknowledged by ana 12:30`; "" where nobody has acknowledged the warning. */
export function acknowledgedText({ acknowledged }: Warning, nowMs: number): string {
  if (acknowledged === undefined) return "";
  const by = acknowledged.by === undefined ? "" : ` by ${acknowledged.by}`;
  return `acknowledged${by} ${momentText(Date.parse(acknowledged.at), nowMs)}`;
}

/** `load.1m > 3 for 5m within 30m, quiet Sat Sun`. */
export function statementOf(rule: Rule): string {
  const { when, within, for: lasting } = rule;
  const quiet = quietText(rule);
  return `${when}${lasting === undefined ? "" : ` for ${lasting}`} within ${within}${quiet === "" ? "" : `, quiet ${quiet}`}`;
}

/** Hours in which nobody is notified, as the form has them: `Mon-Fri 22:00-06:00, Sat Sun`. */
function quietText({ quiet = [] }: Rule): string {
  return quiet.join(", ");
}

function times(n: number): string {
  return n === 1 ? "once" : n === 2 ? "twice" : `${n} times`;
}

function rightly(nWarned: number, nRight: number): string {
  if (nRight === nWarned) return nWarned === 1 ? "rightly" : "each time rightly";
  return nRight === 0 ? "never rightly" : `${nRight} of them rightly`;
}

/** Of warnings that were raised when it was there already. */
function late(nLate: number): string {
  return nLate === 0 ? "" : `, ${nLate} too late`;
}

function unwarned(nEvents: number, nForeseen: number): string {
  if (nForeseen === nEvents) return "never unwarned";
  if (nForeseen === 0) return nEvents === 1 ? "unwarned" : "each time unwarned";
  return `${times(nEvents - nForeseen)} unwarned`;
}

/** A length of time as exactly as anybody wants to know it: `41 min`, `7 d`. */
function about(ms: number): string {
  const unit = [86_400_000, 3_600_000, 60_000, 1_000].find((unit) => ms >= 3 * unit) ?? 1;
  return lengthText(Math.round(ms / unit) * unit);
}
