// All signals as small multiples in groups, with a filter. Draws only what is in view.

import { ApiError, seriesPath, type Api } from "./api.ts";
import { TILE_STEPS_AHEAD, type Board, type Signal } from "./board.ts";
import { choice } from "./choice.ts";
import { make, setText } from "./dom.ts";
import { lengthParameter } from "./format.ts";
import { groupsOf, hostOf, hostsOf, isMatch, type Group } from "./group.ts";
import { isDirection, neighbour } from "./neighbour.ts";
import { Queue } from "./queue.ts";
import { Tile, type Frame } from "./tile.ts";
import type { Forecast, Samples } from "./wire.ts";

/** How many histories are fetched at the same time. */
const N_FETCHES = 4;
/** How long after a refusal the samples of a series are asked for again. */
const REFUSED_MS = 5_000;
/** Up to this step the first forecast is worth waiting for. */
const FAST_STEP_MS = 2_000;

/** A group's element with what the filter hides and shows in it. */
interface Section {
  element: HTMLElement;
  cores: HTMLDetailsElement | null;
  tiles: Tile[];
}

/** The overview. `onStale` asks for a redraw. */
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
  readonly #api: Api;
  readonly #board: Board;
  readonly #onStale: () => void;
  readonly #fetches = new Queue(N_FETCHES);
  readonly #fetching = new Set<Signal>();
  readonly #none = make("p", { class: "none", role: "status" });
  readonly #inView = new Set<Tile>();
  readonly #tileOf = new Map<Element, Tile>();
  #sections: Section[] = [];
  #current: Tile | null = null;
  /** Whose signals are shown: all hosts' (`undefined`), the node's own (`null`), or those of one that it follows. */
  #host: string | null | undefined = undefined;

  // Tiles a little below the view are drawn too, so that scrolling does not uncover blank ones.
  readonly #views = new IntersectionObserver((entries) => this.#onViews(entries), { rootMargin: "120px" });
  readonly #sizes = new ResizeObserver((entries) => this.#onSizes(entries));

  constructor(api: Api, board: Board, onStale: () => void) {
    this.#api = api;
    this.#board = board;
    this.#onStale = onStale;
    this.filter.addEventListener("input", () => this.#applyFilter());
    this.filter.addEventListener("keydown", (event) => this.#onFilterKey(event));
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.element.addEventListener("focusin", (event) => this.#onFocus(event));
  }

  /** Builds the groups anew from the board. Focus and opened groups stay. */
  rebuild(): void {
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["signal"] : null;
    const openSections = this.#sections.filter(({ cores }) => cores?.open);
    const open = new Set(openSections.map(({ element }) => element.dataset["group"]));
    this.#views.disconnect();
    this.#sizes.disconnect();
    this.#inView.clear();
    this.#tileOf.clear();
    this.#sections = groupsOf(this.#board.signals.values()).map((group) => this.#section(group, open.has(group.name)));
    const hosts = this.#hostChoice();
    this.element.replaceChildren(...hosts, ...this.#sections.map(({ element }) => element), this.#none);
    this.#current = null;
    this.#applyFilter();
    if (focused) this.focus(focused);
  }

  /** Redraws the tiles in view and fetches the histories that they lack. */
  draw(frame: Frame): void {
    for (const tile of this.#inView) {
      this.#fetchHistory(tile.signal);
      tile.draw(frame);
    }
  }

  /** Moves the focus to the tile of signal `id`, if it is shown. */
  focus(id: string): void {
    const tile = this.#shownTiles().find(({ signal }) => signal.info.id === id);
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

  #section(group: Group<Signal>, isOpen: boolean): Section {
    const tiles = [...group.signals, ...group.perCore].map((signal) => this.#tile(signal));
    const elements = tiles.map(({ element }) => element);
    const nOwn = group.signals.length;
    const count = make("small", {}, String(elements.length));
    const cores = group.perCore.length === 0 ? null : coresOf(elements.slice(nOwn), isOpen, () => this.#tileMoved());
    const element = make(
      "section",
      { class: "group", "aria-label": group.name },
      make("h2", {}, group.name, " ", count),
      make("div", { class: "grid" }, ...elements.slice(0, nOwn)),
      cores,
    );
    element.dataset["group"] = group.name;
    return { element, cores, tiles };
  }

  #tile(signal: Signal): Tile {
    const tile = new Tile(signal);
    this.#tileOf.set(tile.element, tile);
    this.#tileOf.set(tile.canvas, tile);
    this.#views.observe(tile.element);
    this.#sizes.observe(tile.canvas);
    return tile;
  }

  #applyFilter(): void {
    const filter = this.filter.value.trim();
    let nShown = 0;
    for (const { element, cores, tiles } of this.#sections) {
      const isOfHost = ({ signal }: Tile) => this.#host === undefined || hostOf(signal.info) === this.#host;
      const shown = tiles.filter((tile) => isOfHost(tile) && isMatch(tile.signal.info, filter));
      tiles.forEach((tile) => (tile.element.hidden = !shown.includes(tile)));
      element.hidden = shown.length === 0;
      nShown += shown.length;
      if (cores === null) continue;
      const inCores = shown.filter((tile) => cores.contains(tile.element));
      cores.hidden = inCores.length === 0;
      // What a person looks for must not stay hidden in a closed group.
      if (filter !== "" && inCores.length > 0) cores.open = true;
    }
    setText(this.#none, this.#noneText(nShown, filter));
    this.#tileMoved();
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
    this.#onStale();
  }

  #makeCurrent(tile: Tile | null): void {
    if (this.#current === tile) return;
    this.#current?.element.setAttribute("tabindex", "-1");
    tile?.element.setAttribute("tabindex", "0");
    this.#current = tile;
  }

  #shownTiles(): Tile[] {
    const isOpen = ({ cores }: Section, tile: Tile) => cores === null || cores.open || !cores.contains(tile.element);
    return this.#sections.flatMap((section) =>
      section.tiles.filter((tile) => !tile.element.hidden && isOpen(section, tile)),
    );
  }

  #onFocus(event: FocusEvent): void {
    const tile = event.target instanceof Element ? this.#tileOf.get(event.target) : undefined;
    if (tile !== undefined) this.#makeCurrent(tile);
  }

  #onFilterKey(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      event.stopPropagation();
      this.filter.value = "";
      this.#applyFilter();
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
    this.#onStale();
  }

  #onSizes(entries: ResizeObserverEntry[]): void {
    for (const { target, contentRect } of entries) {
      this.#tileOf.get(target)?.resize(contentRect.width, contentRect.height);
    }
    this.#onStale();
  }

  #fetchHistory(signal: Signal): void {
    if (signal.isLoaded || this.#fetching.has(signal)) return;
    this.#fetching.add(signal);
    this.#fetches.add(async () => {
      try {
        await this.#askHistory(signal);
        signal.isLoaded = true;
        this.#fetching.delete(signal);
        this.#onStale();
      } catch {
        // The connection says that the node is gone; when it is back everything is fetched again. A node that refuses
        // this series alone is asked again later, not at every redraw.
        setTimeout(() => this.#fetching.delete(signal), REFUSED_MS);
      }
    });
  }

  async #askHistory(signal: Signal): Promise<void> {
    const { id } = signal.info;
    const from = `-${lengthParameter(signal.history.capacity * signal.stepMs)}`;
    const samples = await this.#api.json<Samples>(seriesPath(id, "/samples"), { from });
    signal.history.merge(Date.parse(samples.start), samples.values);
    // A tick brings the forecast of most signals sooner than it could be asked for.
    const isFast = signal.info.source === "sensor" && signal.stepMs <= FAST_STEP_MS;
    if (isFast || signal.forecast !== null) return;
    const horizon = lengthParameter(TILE_STEPS_AHEAD * signal.stepMs);
    const forecast = await this.#api.json<Forecast>(seriesPath(id, "/forecast"), { horizon }).catch(noForecastYet);
    if (forecast !== null) signal.takeForecast(forecast);
  }
}

function noForecastYet(error: unknown): null {
  if (error instanceof ApiError && error.code === "not_ready") return null;
  throw error;
}

function coresOf(tiles: HTMLElement[], isOpen: boolean, onToggle: () => void): HTMLDetailsElement {
  const summary = make("summary", {}, "per core ", make("small", {}, String(tiles.length)));
  const cores = make("details", { class: "cores" }, summary, make("div", { class: "grid" }, ...tiles));
  cores.open = isOpen;
  cores.addEventListener("toggle", onToggle);
  return cores;
}
