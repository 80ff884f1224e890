// How the signals are ordered on the page: by the first part of their id, one core's signals set apart. Pure.

import type { SeriesInfo } from "./wire.ts";

const ORDER = ["load", "cpu", "pressure", "memory", "net", "disk", "filesystem", "md", "zfs", "gpu", "temperature", "fan", "power", "files", "conntrack", "clock", "cgroup"];
/** Signals that are read together with those of another first part. */
const TOGETHER = new Map([
  ["tasks", "load"],
  ["swap", "memory"],
  ["rapl", "power"],
  ["battery", "power"],
]);
const PUSHED = "pushed";

/** Signals that are shown together. Those that were always zero, those without samples, and those of single cores are many and apart. */
export interface Group<T> {
  name: string;
  signals: T[];
  atZero: T[];
  empty: T[];
  perCore: T[];
}

/** A signal, whether it has samples, and whether any was something else than zero. */
interface Sampled {
  info: SeriesInfo;
  hasSample: boolean;
  hasMoved: boolean;
}

/** What a group's place on the page comes from; the node's own have no host. */
interface Place {
  host: string;
  kind: string;
}

/** The other host whose signal this is, where the node follows one's stream; `null` for the node's own. */
export function hostOf(info: SeriesInfo): string | null {
  const host = info.labels["host"];
  return info.source === "sensor" && host !== undefined && info.id.startsWith(`${host}/`) ? host : null;
}

/** The other hosts that signals are of, in order. */
export function hostsOf(signals: Iterable<{ info: SeriesInfo }>): string[] {
  const hosts = new Set<string>();
  for (const { info } of signals) {
    const host = hostOf(info);
    if (host !== null) hosts.add(host);
  }
  return [...hosts].sort(compare);
}

/** The group that a signal belongs to. Those of another host begin with its name. */
export function groupName(info: SeriesInfo): string {
  const host = hostOf(info);
  return host === null ? kindOf(info) : `${host} · ${kindOf(info)}`;
}

/** The name of a signal within its group: its id without the host's and the group's name. */
export function nameInGroup(info: SeriesInfo): string {
  const [id, kind] = [idOnHost(info), kindOf(info)];
  // Series of a server are told apart by labels in braces.
  if (id.startsWith(`${kind}{`)) return id.slice(kind.length);
  const prefix = `${kind}.`;
  return id.startsWith(prefix) && id.length > prefix.length ? id.slice(prefix.length) : id;
}

/** What a signal is about, whatever the host. */
function kindOf(info: SeriesInfo): string {
  if (info.source === "pushed") return PUSHED;
  const id = idOnHost(info);
  const first = id.split(/[.{]/, 1)[0] ?? id;
  return TOGETHER.get(first) ?? first;
}

/** What the signal is called on its host. */
function idOnHost(info: SeriesInfo): string {
  const host = hostOf(info);
  return host === null ? info.id : info.id.slice(host.length + 1);
}

/** Whether every word of `filter` is in the id, a short name, the sentence or the group of a signal. */
export function isMatch(info: SeriesInfo, filter: string): boolean {
  const text = [info.id, ...info.aliases, info.sentence, groupName(info)].join("\n").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/**
 * The groups that have signals: the known ones in a fixed order, then others, then what programs pushed, then those of other hosts,
 * host by host in the same order.
 */
export function groupsOf<T extends Sampled>(signals: Iterable<T>): Group<T>[] {
  const groups = new Map<string, Group<T> & Place>();
  for (const signal of signals) {
    const name = groupName(signal.info);
    const [host, kind] = [hostOf(signal.info) ?? "", kindOf(signal.info)];
    const group = groups.get(name) ?? { name, host, kind, signals: [], atZero: [], empty: [], perCore: [] };
    groups.set(name, group);
    if (coreOf(signal.info) !== null) group.perCore.push(signal);
    else if (signal.hasMoved) group.signals.push(signal);
    else (signal.hasSample ? group.atZero : group.empty).push(signal);
  }
  for (const group of groups.values()) {
    // The node's order within a core is kept: the sort is stable.
    group.perCore.sort((left, right) => (coreOf(left.info) ?? 0) - (coreOf(right.info) ?? 0));
  }
  const inOrder = (left: Place, right: Place) => compare(left.host, right.host) || rank(left.kind) - rank(right.kind);
  return [...groups.values()].sort(inOrder);
}

/** The number of the core that a signal is about; `null` for one that is not about a single core. */
export function coreOf(info: SeriesInfo): number | null {
  const core = Number(info.labels["core"] ?? NaN);
  return info.source === "sensor" && Number.isInteger(core) ? core : null;
}

/** The same order in every language. */
function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function rank(name: string): number {
  if (name === PUSHED) return ORDER.length + 1;
  const idx = ORDER.indexOf(name);
  return idx < 0 ? ORDER.length : idx;
}
