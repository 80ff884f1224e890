// Links of an emulated network, a row for each direction, out of ordinary signals that are told by their names.

import type { Signal } from "./board.ts";
import { make, setText } from "./dom.ts";
import { quantityText } from "./format.ts";
import { nameInGroup, type Group } from "./group.ts";
import { hashOf } from "./route.ts";
import type { SeriesInfo } from "./wire.ts";

/** The last parts of the signals' names, and what they are called here. */
const COLUMNS: [string, string][] = [
  ["rate", "rate"],
  ["in_flight", "in flight"],
  ["queue", "queue"],
  ["dropped", "dropped"],
  ["late_median", "late: median"],
  ["late_95", "95 %"],
];

/** One direction of a link, with its signals by the last parts of their names. */
export interface Way<T> {
  name: string;
  signals: Map<string, T>;
}

/** The directions that a group of signals tells of, in the order of the signals; none of any other group. */
export function waysOf<T extends { info: SeriesInfo }>(group: Group<T>): Way<T>[] {
  if (!/(^|· )wan$/.test(group.name)) return [];
  const ways = new Map<string, Way<T>>();
  for (const signal of [...group.signals, ...group.atZero, ...group.empty]) {
    const [, place, what] = /^(.+)\.([^.]+)$/.exec(nameInGroup(signal.info)) ?? [];
    if (place === undefined || what === undefined || !COLUMNS.some(([last]) => last === what)) continue;
    const way = ways.get(place) ?? { name: place.replace(".", " → "), signals: new Map<string, T>() };
    ways.set(place, way);
    way.signals.set(what, signal);
  }
  return [...ways.values()];
}

/** The table of them. Each figure leads to its signal's large view. */
export class Ways {
  readonly element: HTMLElement;
  readonly #cells: [Signal, HTMLElement][] = [];

  constructor(ways: Way<Signal>[]) {
    const head = ["link", ...COLUMNS.map(([, title]) => title)].map((title) => make("th", { scope: "col" }, title));
    const rows = ways.map(({ name, signals }) => {
      const cells = COLUMNS.map(([what]) => make("td", {}, this.#figure(signals.get(what))));
      return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
    });
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
    this.element = make("div", { class: "scroll ways" }, table);
  }

  /** Brings the figures up to date. */
  draw(nodeNowMs: number, nowMs: number): void {
    for (const [signal, cell] of this.#cells) {
      setText(cell, quantityText(signal.value, signal.info.unit));
      cell.classList.toggle("stale", signal.staleSinceMs(nodeNowMs, nowMs) !== null);
    }
  }

  #figure(signal: Signal | undefined): HTMLElement | null {
    if (signal === undefined) return null;
    const cell = make("a", { class: "plain", href: hashOf(signal.info.id), title: signal.info.id });
    this.#cells.push([signal, cell]);
    return cell;
  }
}
