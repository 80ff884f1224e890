// Small multiples: the signals worth a look, then all of them in groups, with a filter. Draws only what is in view.

import type { Api } from "./api.ts";
import { TILE_CONFIDENCES, TILE_STEPS_AHEAD, type Board, type Signal } from "./board.ts";
import { choice } from "./choice.ts";
import { make, setText } from "./dom.ts";
import { countText, lengthText } from "./format.ts";
import { groupsOf, hostOf, hostsOf, isMatch, nameInGroup, type Group } from "./group.ts";
import { isDirection, neighbour } from "./neighbour.ts";
import { Past } from "./past.ts";
import { Tile, type Frame } from "./tile.ts";
import { Ways, waysOf } from "./wan.ts";
import { worthiest, worthOf } from "./worth.ts";

/** How many signals are worth a look where a row has no room for more. More rows would shift the page as they go. */
const N_WORTH = 4;
/** How many signals of one kind have tiles. The filter finds the others: with thousands of tiles a page stands still. */
const N_TILES = 200;
/** Below this a signal that was picked is calm again; between this and 1 it stays what it was. */
const CALM = 0.5;
/** How long what is worth a look stays as it is. */
const WORTH_MS = 15_000;

/** Signals of one kind, and the tiles of those that are shown. */
interface Part {
  signals: Signal[];
  grid: HTMLElement;
  /** How many the filter matches beyond those that have tiles. */
  more: HTMLElement;
  tiles: Tile[];
}

/** A group's element with what the filter hides and shows in it. */
interface Section {
  name: string;
  element: HTMLElement;
  folds: HTMLDetailsElement[];
  parts: Part[];
}

/** What the overview wants of the page. */
export interface OverviewEvents {
  /** Something differs from what is drawn. */
  stale(): void;
  /** A person typed another filter. */
  filtered(filter: string): void;
}

/** The overview. */
export class Overview {
  readonly element = make("main", { class: "overview", "aria-label": "signals" });
  readonly filter = make("input", {
    type: "search",
    placeholder: "filter  /",
    "aria-label": "filter signals",
    "aria-keyshortcuts": "/",
    autocomplete: "off",
    spellcheck: "false",
  });
  readonly #board: Board;
  readonly #on: OverviewEvents;
  readonly #past: Past;
  readonly #none = make("p", { class: "none", role: "status" });
  readonly #legend = make("p", { class: "legend" });
  readonly #inView = new Set<Tile>();
  readonly #tileOf = new Map<Element, Tile>();
  readonly #inGroups = new Map<Signal, Tile>();
  readonly #closed = new Set<string>();
  #sections: Section[] = [];
  /** Tables of the links of emulated networks. */
  #ways: Ways[] = [];
  /** Signals that were zero as far as is known, folded away. */
  #atZero: Signal[] = [];
  #empty: Signal[] = [];
  readonly #worth = { name: "worth a look", element: make("section") };
  #worthTiles: Tile[] = [];
  #worthDueMs = 0;
  #current: Tile | null = null;
  /** Whose signals are shown: all hosts' (`undefined`), the node's own (`null`), or those of one that it follows. */
  #host: string | null | undefined = undefined;

  // Tiles a little below the view are drawn too, so that scrolling does not uncover blank ones.
  readonly #views = new IntersectionObserver((entries) => this.#onViews(entries), { rootMargin: "120px" });
  readonly #sizes = new ResizeObserver((entries) => this.#onSizes(entries));

  constructor(api: Api, board: Board, on: OverviewEvents) {
    this.#past = new Past(api, on.stale);
    this.#board = board;
    this.#on = on;
    this.filter.addEventListener("input", () => this.#onFilter());
    this.filter.addEventListener("keydown", (event) => this.#onFilterKey(event));
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.element.addEventListener("focusin", (event) => this.#onFocus(event));
  }

  /** Builds the groups anew from the board. Focus and opened folds stay. */
  rebuild(): void {
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["signal"] : null;
    const folds = this.#sections.flatMap((section) => section.folds.filter(({ open }) => open));
    const open = new Set(folds.map((fold) => fold.dataset["fold"] ?? ""));
    const signals = new Set(this.#board.signals.values());
    const groups = groupsOf(signals);
    this.#atZero = groups.flatMap((group) => group.atZero);
    this.#empty = groups.flatMap((group) => group.empty);
    this.#ways = [];
    this.#sections = groups.map((group) => this.#section(group, open));
    for (const [signal, tile] of this.#inGroups) if (!signals.has(signal)) this.#forget(tile);
    this.#pickWorth();
    const sections = [this.#worth, ...this.#sections].map(({ element }) => element);
    this.element.replaceChildren(...this.#hostChoice(), ...sections, this.#none);
    this.#showLegend();
    this.#current = null;
    this.#applyFilter();
    if (focused) this.focus(focused);
  }

  /** Redraws the tiles in view and fetches the histories that they lack. */
  draw(frame: Frame): void {
    const isSettled = !this.#atZero.some((signal) => this.#past.isFetching(signal));
    const hasNews = this.#atZero.some((signal) => signal.hasMoved) || this.#empty.some((signal) => signal.hasSample);
    if (isSettled && hasNews) this.rebuild();
    else if (frame.nowMs >= this.#worthDueMs && !this.#worth.element.matches(":hover, :focus-within"))
      this.#pickWorth();
    for (const tile of this.#worthTiles) {
      const { points, why } = worthOf(tile.signal);
      tile.why = points < CALM ? "calm again" : why;
    }
    this.#ways.forEach((ways) => ways.draw(frame.nodeNowMs, frame.nowMs));
    for (const tile of this.#inView) {
      this.#past.fetch(tile.signal);
      tile.draw(frame);
    }
    // Only their history tells whether they were zero before. Those of other hosts and of servers may be thousands.
    const own = this.#atZero.filter(({ info }) => hostOf(info) === null);
    own.slice(0, N_TILES).forEach((signal) => this.#past.fetch(signal));
  }

  /** Shows the signals that `filter` matches. */
  showFilter(filter: string): void {
    if (this.filter.value.trim() === filter) return;
    this.filter.value = filter;
    this.#applyFilter();
  }

  /** Moves the focus to the tile of signal `id`, if it is shown: the one that had it before, where there are two. */
  focus(id: string): void {
    const tiles = this.#shownTiles().filter(({ signal }) => signal.info.id === id);
    const tile = tiles.find((tile) => tile === this.#current) ?? tiles.at(-1);
    tile?.element.focus();
  }

  /** Nothing to choose where the node follows nobody. */
  #hostChoice(): HTMLElement[] {
    const hosts = hostsOf(this.#board.signals.values());
    if (typeof this.#host === "string" && !hosts.includes(this.#host)) this.#host = undefined;
    if (hosts.length === 0) return [];
    const options = [
      { value: undefined, text: "all" },
      { value: null, text: "this one" },
      ...hosts.map((host) => ({ value: host, text: host })),
    ];
    const chosen = choice<string | null | undefined>("host", "host", options, this.#host, (host) => {
      this.#host = host;
      this.#applyFilter();
    });
    return [chosen];
  }

  #section(group: Group<Signal>, open: Set<string>): Section {
    const { name, signals } = group;
    const folded: [string, Signal[]][] = [
      ["at zero", group.atZero],
      ["without samples", group.empty],
      ["per core", group.perCore],
    ];
    const shown = this.#part(signals);
    const parts = [shown];
    const folds = folded.flatMap(([word, signals]) => {
      if (signals.length === 0) return [];
      const part = this.#part(signals);
      parts.push(part);
      return [this.#fold(`${name} ${word}`, word, part, open)];
    });
    const links = waysOf(group);
    const ways = links.length === 0 ? [] : [new Ways(links)];
    this.#ways.push(...ways);
    const body = make("div", { class: "body" }, ...ways.map((table) => table.element), shown.grid, shown.more, ...folds);
    const nSignals = parts.reduce((n, { signals }) => n + signals.length, 0);
    const toggle = make("button", { type: "button" }, name, " ", make("small", {}, String(nSignals)));
    const show = (isOpen: boolean) => {
      toggle.setAttribute("aria-expanded", String(isOpen));
      body.hidden = !isOpen;
    };
    toggle.addEventListener("click", () => {
      if (!this.#closed.delete(name)) this.#closed.add(name);
      show(!this.#closed.has(name));
      this.#tileMoved();
    });
    show(!this.#closed.has(name));
    const element = make("section", { class: "group", "aria-label": name }, make("h2", {}, toggle), body);
    return { name, element, folds, parts };
  }

  #part(signals: Signal[]): Part {
    const part: Part = { signals, grid: make("div", { class: "grid" }), more: make("p", { class: "none" }), tiles: [] };
    this.#putTiles(part, signals.slice(0, N_TILES));
    return part;
  }

  /** Has exactly these signals of a part in tiles. */
  #putTiles(part: Part, signals: Signal[]): void {
    const tiles = signals.map((signal) => this.#tileInGroup(signal));
    const kept = new Set(tiles);
    part.tiles.filter((tile) => !kept.has(tile)).forEach((tile) => this.#forget(tile));
    part.tiles = tiles;
    part.grid.replaceChildren(...tiles.map(({ element }) => element));
  }

  /** Tiles that only a click on their number shows. */
  #fold(name: string, word: string, { signals, grid, more }: Part, open: Set<string>): HTMLDetailsElement {
    const summary = make("summary", {}, `${signals.length} ${word}`);
    const fold = make("details", { class: "fold" }, summary, grid, more);
    fold.dataset["fold"] = name;
    fold.open = open.has(name);
    fold.addEventListener("toggle", () => this.#tileMoved());
    return fold;
  }

  /** Finds anew what is worth a look. Rarely, and never under a person's hands, so that the page is calm. */
  #pickWorth(): void {
    const [{ element }, before] = [this.#worth, this.#worthTiles];
    const signals = [...this.#board.signals.values()].filter((signal) => this.#isOfHost(signal));
    const tiles = worthiest(signals, Math.max(N_WORTH, this.#nColumns())).map(
      (signal) => before.find((tile) => tile.signal === signal) ?? this.#tile(signal, signal.info.id),
    );
    before.filter((tile) => !tiles.includes(tile)).forEach((tile) => this.#forget(tile));
    const isKnown = signals.some(({ forecast }) => forecast !== null);
    this.#worthDueMs = isKnown ? Date.now() + WORTH_MS : 0;
    const none = isKnown
      ? "Nothing stands out: no signal is likely to change much, and none left the band of its forecast."
      : "";
    element.className = "group worth";
    element.setAttribute("aria-label", this.#worth.name);
    this.#worthTiles = tiles;
    element.replaceChildren(
      make("h2", {}, this.#worth.name),
      tiles.length === 0
        ? make("p", { class: "none" }, none || "Waiting for the first forecasts.")
        : make("div", { class: "grid" }, ...tiles.map((tile) => tile.element)),
      this.#legend,
    );
    this.#tileMoved();
  }

  #nColumns(): number {
    const grid = this.element.querySelector(".body .grid");
    return grid === null ? 0 : getComputedStyle(grid).gridTemplateColumns.split(" ").length;
  }

  /** What is in every tile, said once. */
  #showLegend(): void {
    const { node } = this.#board;
    if (node === null) return;
    const lengthMs = TILE_STEPS_AHEAD * Math.round(node.step_seconds * 1_000);
    const [inner, outer] = [TILE_CONFIDENCES.inner, TILE_CONFIDENCES.outer].map((share) => `${share * 100} %`);
    const times = `up to ${lengthText(2 * lengthMs)} measured, up to ${lengthText(lengthMs)} forecast`;
    setText(this.#legend, `In each tile: ${times}, with bands that hold ${inner} and ${outer} of what comes.`);
  }

  /** The one tile that a signal has in its group: a change of the groups moves it, and it stays drawn. */
  #tileInGroup(signal: Signal): Tile {
    const tile = this.#inGroups.get(signal) ?? this.#tile(signal, nameInGroup(signal.info));
    this.#inGroups.set(signal, tile);
    return tile;
  }

  #tile(signal: Signal, shownName: string): Tile {
    const tile = new Tile(signal, shownName);
    this.#tileOf.set(tile.element, tile);
    this.#tileOf.set(tile.canvas, tile);
    this.#views.observe(tile.element);
    this.#sizes.observe(tile.canvas);
    return tile;
  }

  #forget(tile: Tile): void {
    if (this.#inGroups.get(tile.signal) === tile) this.#inGroups.delete(tile.signal);
    this.#views.unobserve(tile.element);
    this.#sizes.unobserve(tile.canvas);
    this.#inView.delete(tile);
    this.#tileOf.delete(tile.element);
    this.#tileOf.delete(tile.canvas);
  }

  #isOfHost({ info }: Signal): boolean {
    return this.#host === undefined || hostOf(info) === this.#host;
  }

  #onFilter(): void {
    this.#applyFilter();
    this.#on.filtered(this.filter.value.trim());
  }

  #applyFilter(): void {
    const filter = this.filter.value.trim();
    let nShown = 0;
    for (const { name, element, folds, parts } of this.#sections) {
      const nInGroup = parts.reduce((n, part) => n + this.#filterPart(part, filter), 0);
      element.hidden = nInGroup === 0;
      nShown += nInGroup;
      // What a person looks for must not stay hidden in a closed group or fold.
      const isSought = filter !== "";
      const body = element.querySelector<HTMLElement>(".body");
      if (body !== null) body.hidden = this.#closed.has(name) && !isSought;
      for (const fold of folds) {
        fold.hidden = !parts.some(({ grid, tiles }) => fold.contains(grid) && tiles.some(({ element }) => !element.hidden));
        if (isSought && !fold.hidden) fold.open = true;
      }
    }
    this.#worth.element.hidden = filter !== "" || nShown === 0;
    setText(this.#none, this.#noneText(nShown, filter));
    this.#tileMoved();
  }

  /** Shows those of a part that match; gives how many these are. */
  #filterPart(part: Part, filter: string): number {
    const matching = part.signals.filter((signal) => this.#isOfHost(signal) && isMatch(signal.info, filter));
    if (part.signals.length > N_TILES) this.#putTiles(part, matching.slice(0, N_TILES));
    const shown = new Set(matching);
    part.tiles.forEach((tile) => (tile.element.hidden = !shown.has(tile.signal)));
    const nMore = Math.max(matching.length - N_TILES, 0);
    part.more.hidden = nMore === 0;
    setText(part.more, `${countText(nMore)} more: type a part of their names into the filter`);
    return matching.length;
  }

  #noneText(nShown: number, filter: string): string {
    if (nShown > 0) return "";
    return this.#board.signals.size === 0 ? "no signals yet" : `no signal matches “${filter}”`;
  }

  /** Keeps exactly one shown tile in the tab order. */
  #tileMoved(): void {
    const shown = this.#shownTiles();
    const current = this.#current !== null && shown.includes(this.#current) ? this.#current : (shown[0] ?? null);
    this.#makeCurrent(current);
    this.#on.stale();
  }

  #makeCurrent(tile: Tile | null): void {
    if (this.#current === tile) return;
    this.#current?.element.setAttribute("tabindex", "-1");
    tile?.element.setAttribute("tabindex", "0");
    this.#current = tile;
  }

  #shownTiles(): Tile[] {
    const sections = this.#sections.filter(({ element }) => !element.hidden);
    const inGroups = sections.flatMap(({ parts }) => parts.flatMap(({ tiles }) => tiles));
    const tiles = this.#worth.element.hidden ? inGroups : [...this.#worthTiles, ...inGroups];
    return tiles.filter(({ element }) => !element.hidden && element.closest("[hidden], details:not([open])") === null);
  }

  #onFocus(event: FocusEvent): void {
    const tile = event.target instanceof Element ? this.#tileOf.get(event.target) : undefined;
    if (tile !== undefined) this.#makeCurrent(tile);
  }

  #onFilterKey(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      event.stopPropagation();
      this.filter.value = "";
      this.#onFilter();
      this.#current?.element.focus();
    } else if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      this.#shownTiles()[0]?.element.focus();
    }
  }

  #onKey(event: KeyboardEvent): void {
    const hasModifier = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
    if (hasModifier || !isDirection(event.key) || !(event.target instanceof Element)) return;
    const tile = this.#tileOf.get(event.target);
    if (tile === undefined) return;
    event.preventDefault();
    const shown = this.#shownTiles();
    const places = shown.map(({ element }) => element.getBoundingClientRect());
    shown[neighbour(places, shown.indexOf(tile), event.key)]?.element.focus();
  }

  #onViews(entries: IntersectionObserverEntry[]): void {
    for (const entry of entries) {
      const tile = this.#tileOf.get(entry.target);
      if (tile === undefined) continue;
      if (entry.isIntersecting) this.#inView.add(tile);
      else this.#inView.delete(tile);
    }
    this.#on.stale();
  }

  #onSizes(entries: ResizeObserverEntry[]): void {
    for (const { target, contentRect } of entries) {
      this.#tileOf.get(target)?.resize(contentRect.width, contentRect.height);
    }
    this.#on.stale();
  }
}
