// How the signals are ordered on the page: by the first part of their id, one core's signals set apart. Pure.

import type { SeriesInfo } from "./wire.ts";

const ORDER = ["load", "cpu", "pressure", "memory", "net", "disk", "cgroup"];
/** Signals that are read together with those of another first part. */
const TOGETHER = new Map([
  ["tasks", "load"],
  ["swap", "memory"],
]);
const PUSHED = "pushed";

/** Signals that are shown together; `perCore` those of single cores, which are many. */
export interface Group<T> {
  name: string;
  signals: T[];
  perCore: T[];
}

/** The group that a signal belongs to. */
export function groupName(info: SeriesInfo): string {
  if (info.source === "pushed") return PUSHED;
  const first = info.id.split(".", 1)[0] ?? info.id;
  return TOGETHER.get(first) ?? first;
}

/** The name of a signal within its group: its id without the group's name. */
export function nameInGroup(info: SeriesInfo): string {
  const prefix = `${groupName(info)}.`;
  return info.id.startsWith(prefix) && info.id.length > prefix.length ? info.id.slice(prefix.length) : info.id;
}

/** Whether every word of `filter` is in the id, a short name, the sentence or the group of a signal. */
export function isMatch(info: SeriesInfo, filter: string): boolean {
  const text = [info.id, ...info.aliases, info.sentence, groupName(info)].join("\n").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The groups that have signals: the known ones in a fixed order, then others, then what programs pushed. */
export function groupsOf<T extends { info: SeriesInfo }>(signals: Iterable<T>): Group<T>[] {
  const groups = new Map<string, Group<T>>();
  for (const signal of signals) {
    const name = groupName(signal.info);
    const group = groups.get(name) ?? { name, signals: [], perCore: [] };
    groups.set(name, group);
    (coreOf(signal.info) === null ? group.signals : group.perCore).push(signal);
  }
  for (const group of groups.values()) {
    // The node's order within a core is kept: the sort is stable.
    group.perCore.sort((left, right) => (coreOf(left.info) ?? 0) - (coreOf(right.info) ?? 0));
  }
  return [...groups.values()].sort((left, right) => rank(left.name) - rank(right.name));
}

/** The number of the core that a signal is about; `null` for one that is not about a single core. */
export function coreOf(info: SeriesInfo): number | null {
  const core = Number(info.labels["core"] ?? NaN);
  return info.source === "sensor" && Number.isInteger(core) ? core : null;
}

function rank(name: string): number {
  if (name === PUSHED) return ORDER.length + 1;
  const idx = ORDER.indexOf(name);
  return idx < 0 ? ORDER.length : idx;
}
