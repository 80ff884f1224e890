// The URL's hash: which signal is open, and how. A link, a reload and Back show the same. Pure.

import { lengthText } from "./format.ts";
import type { ProcessGrouping, ProcessOrder } from "./wire.ts";

/** What a person chose; what is not in a hash stays as it is. */
export interface View {
  /** The open signal; `null` in the overview. */
  id: string | null;
  /** The job of an MPI program that is looked at, "" for the list of them; `null` where signals are looked at. */
  job: string | null;
  /** Whether rules are looked at: the signal that a new one is to be about, or ""; `null` where they are not. */
  rules: string | null;
  /** Whether the processes of the host are looked at. */
  processes: boolean;
  /** What a row of the processes is, and their order; `null` for the one that fits the view. */
  by: ProcessGrouping;
  sort: ProcessOrder | null;
  /** The moment whose programs are shown; `null` for now, or beside a signal for none. */
  atMs: number | null;
  filter: string;
  horizonMs: number;
  spanMs: number;
  /** The lead of the past forecasts that are shown; `null` for none, `auto` for the longest that the horizon covers. */
  leadMs: number | null | "auto";
  /** A range of moments in place of the last `spanMs`. */
  zoom: Zoom | null;
  /** A second signal, drawn on the same axis. */
  other: string | null;
}

/** The moments at either end of a drawing. */
export interface Zoom {
  fromMs: number;
  toMs: number;
}

export const DEFAULT_VIEW: Readonly<View> = {
  id: null,
  job: null,
  rules: null,
  processes: false,
  by: "program",
  sort: null,
  atMs: null,
  filter: "",
  horizonMs: 60_000,
  spanMs: 600_000,
  leadMs: "auto",
  zoom: null,
  other: null,
};

const KNOWN = ["filter", "horizon", "history", "past", "from", "to", "with", "by", "sort", "at"];
const PREFIX = "#/signal/";
const JOBS = "#/mpi";
const RULES = "#/rules";
const PROCESSES = "#/processes";
const GROUPINGS: ProcessGrouping[] = ["program", "process", "cgroup"];
const ORDERS: ProcessOrder[] = ["cpu", "memory", "read", "written"];
const UNITS_MS: Record<string, number> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
/** Longer than any store reaches back. */
const LONGEST_MS = 3_660 * 86_400_000;

/** The hash that opens a signal, with whatever of `view` is not the default. */
export function hashOf(id: string | null, view: Readonly<View> = DEFAULT_VIEW): string {
  const said: [string, string | null][] = [["filter", view.filter || null]];
  if (id !== null) {
    const { horizonMs, spanMs, leadMs, zoom, other } = view;
    said.push(
      ["horizon", horizonMs === DEFAULT_VIEW.horizonMs ? null : lengthWord(horizonMs)],
      ["history", spanMs === DEFAULT_VIEW.spanMs ? null : lengthWord(spanMs)],
      ["past", leadMs === "auto" ? null : leadMs === null ? "none" : lengthWord(leadMs)],
      ["from", zoom === null ? null : momentWord(zoom.fromMs)],
      ["to", zoom === null ? null : momentWord(zoom.toMs)],
      ["with", other],
    );
  }
  if (id !== null || view.processes) {
    const { by, sort, atMs } = view;
    said.push(["by", by === DEFAULT_VIEW.by ? null : by], ["sort", sort], ["at", atMs === null ? null : momentWord(atMs)]);
  }
  const query = new URLSearchParams(said.filter((pair): pair is [string, string] => pair[1] !== null)).toString();
  const path = placeOf(id, view);
  // The overview as it opens needs no hash.
  return query === "" ? (path === "#/" ? "" : path) : `${path}?${query}`;
}

/** The hash of a job, or of the list of jobs (""). */
export function hashOfJobs(job: string): string {
  return job === "" ? JOBS : `${JOBS}/${encodeURIComponent(job)}`;
}

/** The hash of the rules, with a form for one about this signal. */
export function hashOfRules(signal = ""): string {
  return signal === "" ? RULES : `${RULES}/${encodeURIComponent(signal)}`;
}

/** The hash of the processes. */
export function hashOfProcesses(): string {
  return PROCESSES;
}

/** What a hash says, laid over `before`, and a sentence for each part of it that makes no sense. */
export function viewIn(hash: string, before: Readonly<View>): { view: View; ignored: string[] } {
  const [path = "", ...search] = hash.split("?");
  const query = new URLSearchParams(search.join("?"));
  const ignored: string[] = [];
  const refuse = (name: string, text: string | null, right: string) =>
    ignored.push(`${name} “${text ?? ""}” in the address is ignored: ${right}`);

  const place = placeIn(path, refuse);
  const { id } = place;
  // A range, a second signal and a moment belong to the view that they were chosen for.
  const isSame = id === before.id && place.processes === before.processes;
  const kept = isSame ? before : { ...before, zoom: null, other: null, sort: null, atMs: null };
  const view: View = { ...kept, ...place };
  const length = (name: string, instead: number): number => {
    const text = query.get(name);
    const ms = text === null ? instead : lengthIn(text);
    if (ms === null) refuse(name, text, `write a length of time, as in 30s or 5min; ${lengthText(instead)} is shown`);
    return ms ?? instead;
  };
  view.filter = query.get("filter") ?? view.filter;
  view.other = query.get("with") ?? view.other;
  view.horizonMs = length("horizon", view.horizonMs);
  view.spanMs = length("history", view.spanMs);
  const past = query.get("past");
  if (past !== null) {
    const leadMs = lengthIn(past);
    if (leadMs === null && past !== "none") refuse("past", past, "write a length of time, as in 1min, or none");
    else view.leadMs = leadMs;
  }
  const [from, to] = [query.get("from"), query.get("to")];
  if (from !== null || to !== null) {
    const zoom = zoomIn(from ?? "", to ?? "");
    if (zoom !== null) view.zoom = zoom;
    else refuse("from and to", `${from ?? ""} ${to ?? ""}`.trim(), "write two moments, the earlier one first");
  }
  const word = <T extends string>(name: string, known: T[]): T | undefined => {
    const text = query.get(name);
    const found = known.find((one) => one === text);
    if (text !== null && found === undefined) refuse(name, text, `known are ${known.join(", ")}`);
    return found;
  };
  view.by = word("by", GROUPINGS) ?? view.by;
  view.sort = word("sort", ORDERS) ?? view.sort;
  const at = query.get("at");
  if (at !== null) {
    const atMs = Date.parse(at);
    if (Number.isNaN(atMs)) refuse("at", at, "write a moment");
    else view.atMs = atMs;
  }
  for (const [name, text] of query) {
    if (!KNOWN.includes(name)) refuse(name, text, `known are ${KNOWN.join(", ")}`);
  }
  return { view, ignored };
}

/** The range between two moments as people and hashes write them; `null` if they are none or in the wrong order. */
export function zoomIn(from: string, to: string): Zoom | null {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  return toMs > fromMs && toMs - fromMs <= LONGEST_MS ? { fromMs, toMs } : null;
}

/** A length of time as people write it, `30s` or `1.5 h`, in milliseconds; `null` if it is none. */
export function lengthIn(text: string): number | null {
  const parts = /^(\d+(?:\.\d+)?)\s*(ms|s|min|h|d)$/.exec(text.trim());
  const ms = Math.round(Number(parts?.[1]) * (UNITS_MS[parts?.[2] ?? ""] ?? NaN));
  return ms > 0 && ms <= LONGEST_MS ? ms : null;
}

function placeIn(
  path: string,
  refuse: (name: string, text: string, right: string) => void,
): Pick<View, "id" | "job" | "rules" | "processes"> {
  const all = { id: null, job: null, rules: null, processes: false };
  if (path === PROCESSES) return { ...all, processes: true };
  if (["", "#", "#/"].includes(path)) return all;
  /** What comes after `start`, as far as the path begins with it. */
  const after = (start: string) =>
    path === start || path.startsWith(`${start}/`) ? decodeURIComponent(path.slice(start.length + 1)) : null;
  try {
    if (path.startsWith(PREFIX)) return { ...all, id: decodeURIComponent(path.slice(PREFIX.length)) };
    const place = { ...all, job: after(JOBS), rules: after(RULES) };
    if (place.job !== null || place.rules !== null) return place;
  } catch {
    // Said below.
  }
  refuse("the path", path.slice(1), "all signals are shown");
  return all;
}

function placeOf(id: string | null, { job, processes, rules }: Readonly<View>): string {
  if (processes) return PROCESSES;
  if (job !== null) return hashOfJobs(job);
  if (rules !== null) return hashOfRules(rules);
  return id === null ? "#/" : PREFIX + encodeURIComponent(id);
}

function lengthWord(ms: number): string {
  return lengthText(ms).replace(/\s/g, "");
}

function momentWord(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}
