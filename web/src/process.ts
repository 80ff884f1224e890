// Who uses the host: from the node's answers to lines, shares and sentences. Pure.

import { countText, lengthText, momentText } from "./format.ts";
import type { ProcessFigures, ProcessOrder, ProcessRow, ProcessTable, ProgramHistory } from "./wire.ts";

/** The resources, in the order of the columns, with their units. */
export const UNITS: Readonly<Record<ProcessOrder, string>> = {
  cpu: "cores",
  memory: "bytes",
  read: "bytes/s",
  written: "bytes/s",
};

export const ORDERS = Object.keys(UNITS) as ProcessOrder[];

export const MINUTE_MS = 60_000;

/** Use of each resource; `null` where it is unknown. */
type Use = Record<ProcessOrder, number | null>;

/** A line of the table. */
export interface ProcessLine {
  /** The process, program or control group; a word for what is no row of the node. */
  user: ProcessRow | string;
  use: Use;
  /** Part of the whole in the resource that the table is sorted by; `null` if it is unknown. */
  share: number | null;
}

/** The rows, all others as one, the short-lived ones, and last the sum of these lines. */
export function linesOf(table: ProcessTable): ProcessLine[] {
  const { n_others: nOthers, others, rows, short_lived_cores: cores, sort } = table;
  const parts: [ProcessRow | string, Use][] = rows.map((row) => [row, useOf(row)]);
  if (nOthers > 0) parts.push([nOthers === 1 ? "1 other" : `${countText(nOthers)} others`, useOf(others)]);
  if (cores !== null) parts.push(["short-lived", { cpu: cores, memory: null, read: null, written: null }]);
  const sum = (order: ProcessOrder) => {
    const known = parts.flatMap(([, use]) => use[order] ?? []);
    return known.length === 0 ? null : known.reduce((sum, figure) => sum + figure, 0);
  };
  const whole: Use = { cpu: sum("cpu"), memory: sum("memory"), read: sum("read"), written: sum("written") };
  parts.push(["all", whole]);
  return parts.map(([user, use]) => ({ user, use, share: shareOf(use[sort], whole[sort]) }));
}

function useOf({ cpu_cores, memory_bytes, read_bytes_per_sec, written_bytes_per_sec }: ProcessFigures): Use {
  return { cpu: cpu_cores, memory: memory_bytes, read: read_bytes_per_sec, written: written_bytes_per_sec };
}

function shareOf(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || whole <= 0 ? null : part / whole;
}

/** A piece of a name: as it is, or a character that cannot be seen as its escape. */
export interface NamePart {
  text: string;
  isEscape: boolean;
}

/** Pieces of a name that another program chose: no control characters, nothing that turns the direction of writing. */
export function namePartsOf(name: string): NamePart[] {
  const pieces = name.split(/([\p{C}\p{Zl}\p{Zp}]|^ | $)/u);
  const parts = pieces.map((piece, idx) => (idx % 2 === 0 ? { text: piece, isEscape: false } : { text: escapeOf(piece), isEscape: true }));
  return parts.filter(({ text }) => text !== "");
}

function escapeOf(character: string): string {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
  return short ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** The resource whose users explain a signal. */
export function orderFor(id: string): ProcessOrder {
  if (/(^|\.)(memory|swap)\b/.test(id)) return "memory";
  if (/^filesystem\./.test(id)) return "written";
  if (/^disk\.|^pressure\.io/.test(id)) return /writ/.test(id) ? "written" : "read";
  return "cpu";
}

/** What the figures leave out, or do not cover. */
export function remarksOf(table: ProcessTable): string[] {
  const { n_left_out: nLeftOut, n_measured: nMeasured, n_processes: n, others, rows, short_lived_cores: cores, sort } = table;
  const remarks: string[] = [];
  if (nMeasured !== null && 10 * nMeasured < 9 * n) {
    remarks.push(`Rates of ${countText(n - nMeasured)} of ${countText(n)} processes are unknown until their second read.`);
  }
  if (nLeftOut > 0) {
    remarks.push(`The last scan left out ${nLeftOut === 1 ? "1 process" : `${countText(nLeftOut)} processes`} for lack of time; older figures stand in.`);
  }
  if (cores === null) remarks.push("CPU time of short-lived processes is unknown, because the node may not see all processes.");
  const isUnknown = [...rows, others].some((one) => one.cpu_cores !== null && one.read_bytes_per_sec === null);
  if (isUnknown) remarks.push("The node may not see the disk use of every process; “all” sums up what is known.");
  if (sort === "memory") remarks.push("Memory is resident memory; pages that processes share count for each of them.");
  return remarks;
}

/** The beginning of the minute of a moment. */
export function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS;
}

/** A minute: `14:02`, with the date where its day is not that of `reference`. */
export function minuteText(ms: number, reference: number): string {
  return momentText(ms, reference).slice(0, -":00".length);
}

/** The heading of a table: the time that it is about, and how many processes there were. */
export function headingOf({ n_processes: n, span_seconds: span, time }: ProcessTable, nowMs: number): string {
  const number = `${countText(n)} processes`;
  if (span === null) return `now, ${number}`;
  // A start or an end within the minute; scans are some seconds apart.
  const isPart = span < 50 || span > 70;
  const measured = isPart ? `, measured over ${lengthText(Math.round(span) * 1_000)}` : "";
  return `programs in the minute from ${minuteText(Date.parse(time), nowMs)}, ${number}${measured}`;
}

/** Why the minute shown is not that of the moment asked for; "" if it is. */
export function otherMinuteText(askedMs: number, { next, time }: ProcessTable, nowMs: number): string {
  const [asked, shown] = [minuteOf(askedMs), minuteOf(Date.parse(time))];
  if (asked === shown) return "";
  const text = minuteText(asked, nowMs);
  return next === null
    ? `The minute from ${text} is not stored yet; this is the last one before.`
    : `Nothing was measured at ${text}; this is the last minute before.`;
}

/** Why there is no minute at all. */
export function noMinuteText({ first }: ProgramHistory, nowMs: number): string {
  return first === null
    ? "No minute is kept so far; the first appears here when it is over."
    : `Programs are kept since ${minuteText(Date.parse(first), nowMs)}.`;
}

/** What tells programs apart. */
export function keyOf({ container, name, unit }: Pick<ProcessRow, "name" | "unit" | "container">): string {
  return JSON.stringify([name, unit, container]);
}
