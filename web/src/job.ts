// One job of an MPI program: how much it calls, who keeps it waiting, where its collective operations spend their time.

import { arrivalTree } from "./arrivals.ts";
import { choice } from "./choice.ts";
import { make, setText } from "./dom.ts";
import { countText, momentText, NOTHING, plain, quantity, quantityText } from "./format.ts";
import { groupClass, hotspotOf, pathmap } from "./pathmap.ts";
import type { MpiAnalysis, MpiFlow, MpiGroup, MpiJob, MpiJobDetail, MpiOperation } from "./wire.ts";

/** Ranks that have a row of their own. */
const N_RANKS_SHOWN = 32;
/** Groups of the pathmap that are named. */
const N_GROUPS_SHOWN = 6;
const N_HINTS_SHOWN = 4;
const N_SLOW_SHOWN = 4;
/** Which way data go, in words. */
const FLOWS: Record<MpiFlow, string> = { all: "to all", to_root: "to a root", from_root: "from a root" };

/** The page of a job; lives as long as it is looked at. */
export class JobPage {
  readonly element: HTMLElement;
  readonly #title = make("h2", { tabindex: "-1" });
  readonly #name = make("span", { class: "aliases" });
  readonly #sentence = make("p", { class: "sentence" });
  readonly #figure = make("b");
  readonly #unit = make("small");
  readonly #facts = make("dl", { class: "rates" });
  readonly #problems = make("ul", { class: "problems", "aria-label": "problems of the job" });
  readonly #trees = make("div", { class: "choices" });
  readonly #waits = make("div", { class: "choices" });
  readonly #culprit = make("p", { class: "culprit", role: "status" });
  readonly #hints = make("ol", { class: "hints" });
  readonly #slow = make("ul", { class: "slow", "aria-label": "slower than expected" });
  readonly #lastHead = make("h3");
  readonly #tree = make("div", { class: "scroll" });
  readonly #map = make("div", { class: "map" });
  readonly #key = make("ul", { class: "key", "aria-label": "groups of ranks" });
  readonly #inside = make("div", { class: "inside" });
  readonly #operations = make("div", { class: "scroll" });
  readonly #ranks = make("div", { class: "scroll" });
  #detail: MpiJobDetail | null = null;
  #treeName: string | null = null;
  #flow: MpiFlow | null = null;
  #withWaits = false;
  readonly #widths = new ResizeObserver(() => this.#drawMap());

  constructor(close: () => void) {
    const back = make("button", { type: "button", class: "plain", "aria-keyshortcuts": "Escape" }, "← all jobs");
    back.addEventListener("click", close);
    const head = (text: string) => make("h3", {}, text);
    this.#inside.append(
      make("section", { "aria-label": "last arrivals" }, this.#lastHead, this.#tree),
      make("section", { "aria-label": "pathmap" }, head("where the time goes"), this.#waits, this.#map, this.#key),
    );
    this.element = make(
      "div",
      { class: "detail job" },
      make("div", { class: "top" }, back),
      make(
        "div",
        { class: "title" },
        make("div", {}, this.#title, " ", this.#name, this.#sentence),
        make("p", { class: "value" }, this.#figure, " ", this.#unit),
      ),
      this.#facts,
      this.#problems,
      this.#culprit,
      this.#slow,
      this.#hints,
      this.#trees,
      this.#inside,
      make(
        "div",
        { class: "panels" },
        make("section", { "aria-label": "operations" }, head("calls"), this.#operations),
        make("section", { "aria-label": "ranks" }, head("ranks"), this.#ranks),
      ),
    );
    const waits = [
      { value: false, text: "left out" },
      { value: true, text: "drawn" },
    ];
    const choose = (isDrawn: boolean) => this.#choose(() => (this.#withWaits = isDrawn));
    this.#waits.append(choice("waits", "waits for late ranks", waits, this.#withWaits, choose));
    this.#widths.observe(this.#map);
  }

  close(): void {
    this.#widths.disconnect();
    this.element.remove();
  }

  focus(): void {
    this.#title.focus();
  }

  /** Shows what the node has seen by now. */
  show(detail: MpiJobDetail): void {
    this.#detail = detail;
    setText(this.#title, detail.program ?? detail.job);
    setText(this.#name, detail.program === null ? "" : detail.job);
    setText(this.#sentence, aboutText(detail));
    const rate = quantity(detail.calls_per_second, "");
    setText(this.#figure, rate.figure);
    setText(this.#unit, "calls/s");
    this.element.classList.toggle("stale", !detail.is_running);
    this.#facts.replaceChildren(...rates(detail).map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value))));
    this.#problems.replaceChildren(...detail.problems.map((problem) => make("li", {}, problem)));
    this.#operations.replaceChildren(operationTable(detail.operations));
    this.#ranks.replaceChildren(rankTable(detail, this.#analysis()));
    this.#showInside();
  }

  /** The one that is looked at. */
  #analysis(): MpiAnalysis | null {
    const analyses = this.#ofTree();
    return analyses.find(({ flow }) => flow === this.#flow) ?? analyses[0] ?? null;
  }

  /** Those of the tree that is looked at, one for each way that data went. */
  #ofTree(): MpiAnalysis[] {
    const analyses = this.#detail?.analyses ?? [];
    const own = analyses.filter(({ tree }) => tree === this.#treeName);
    return own.length > 0 ? own : analyses.filter(({ tree }) => tree === analyses[0]?.tree);
  }

  #showInside(): void {
    const analysis = this.#analysis();
    const isKnown = analysis !== null && analysis.n_calls > 0;
    this.#inside.hidden = !isKnown;
    setText(this.#culprit, withMicro(insideText(analysis)));
    this.#culprit.classList.toggle("calm", !isKnown || analysis.culprit === null);
    this.#showHints(analysis);
    this.#slow.replaceChildren(...slowItems(analysis));
    this.#showTrees();
    if (!isKnown) return;
    setText(this.#lastHead, analysis.flow === "from_root" ? "the tree" : "who is last");
    this.#waits.hidden = analysis.flow === "from_root";
    this.#tree.replaceChildren(arrivalTree(analysis));
    this.#drawMap();
    this.#key.replaceChildren(...groupKey(analysis.groups), ...markKey(analysis, this.#withWaits));
  }

  #showHints(analysis: MpiAnalysis | null): void {
    const hints = analysis?.n_calls ? analysis.hints.slice(0, N_HINTS_SHOWN) : [];
    const items = hints.map(({ part, node, ratio, evidence, remedies }) => {
      const advice = remedies.length === 0 ? null : make("p", {}, `To try: ${remedies.join("; or ")}.`);
      const head = make("strong", {}, `${Math.round(ratio * 100)} % ${part} at ${node}`);
      return make("li", {}, head, advice, make("small", {}, withMicro(evidence)));
    });
    this.#hints.replaceChildren(...items);
  }

  #showTrees(): void {
    // Radio buttons that are made anew would take the focus from a person's hands.
    if (this.#trees.contains(document.activeElement)) return;
    const shown = this.#analysis();
    const names = [...new Set((this.#detail?.analyses ?? []).map(({ tree }) => tree))];
    const trees = names.map((tree) => ({ value: tree, text: tree }));
    const flows = this.#ofTree().map(({ flow, operations }) => ({ value: flow, text: `${FLOWS[flow]}: ${Object.keys(operations).join(", ")}` }));
    const chooseTree = (tree: string) => this.#choose(() => (this.#treeName = tree));
    const chooseFlow = (flow: MpiFlow) => this.#choose(() => (this.#flow = flow));
    this.#trees.replaceChildren(
      ...(shown !== null && trees.length > 1 ? [choice("tree", "tree", trees, shown.tree, chooseTree)] : []),
      ...(shown !== null && flows.length > 1 ? [choice("flow", "data go", flows, shown.flow, chooseFlow)] : []),
    );
  }

  #choose(set: () => void): void {
    set();
    if (this.#detail !== null) this.show(this.#detail);
  }

  #drawMap(): void {
    const [analysis, width] = [this.#analysis(), this.#map.clientWidth];
    if (analysis === null || width === 0) return;
    this.#map.replaceChildren(pathmap(analysis, width, this.#withWaits));
  }
}

/** `8 of 16 ranks on this host, since 10:20:00, Open MPI 4.1.4`. */
export function aboutText(job: MpiJob): string {
  const nowMs = Date.now();
  const ranks = job.ranks.length === job.n_ranks ? `${job.n_ranks} ranks` : `${job.ranks.length} of ${job.n_ranks} ranks on this host`;
  const state = job.is_running ? "running" : "ended";
  return [`${state}, ${ranks}, since ${momentText(Date.parse(job.since), nowMs)}`, job.library].filter((part) => part !== null).join(" · ");
}

function rates(detail: MpiJobDetail): [string, string][] {
  const { n_read, n_lost, n_left_out } = detail;
  const share = n_lost === 0 ? "0" : `${countText(n_lost)} (${percent(n_lost / (n_read + n_lost + n_left_out))})`;
  return [
    ["records/s", plain(detail.records_per_second)],
    ["read", countText(n_read)],
    ["lost", share],
    ...(n_left_out > 0 ? [["left out", countText(n_left_out)] as [string, string]] : []),
    ["watched", quantityText(detail.watched_seconds, "seconds")],
  ];
}

/** What is known of the inside, in a sentence. */
function insideText(analysis: MpiAnalysis | null): string {
  if (analysis === null) return "No collective operation of this job goes over a tree, so that only its calls are seen.";
  if (analysis.n_calls === 0) {
    const n = analysis.n_incomplete;
    return n === 0
      ? `No call over tree ${analysis.tree} was seen yet.`
      : `No call over tree ${analysis.tree} was seen whole: of ${countText(n)} calls, records are missing.`;
  }
  if (analysis.flow === "from_root") return "Data come from a root here, so that nobody waits for the last to arrive.";
  return analysis.culprit ?? `No rank keeps the others waiting in tree ${analysis.tree}: all are last about as often.`;
}

/** Waits for others are told only where nothing else is slow. */
function slowItems(analysis: MpiAnalysis | null): HTMLElement[] {
  const { slow, nodes } = analysis ?? { slow: [], nodes: [] };
  const own = slow.filter(({ is_wait }) => !is_wait);
  return (own.length > 0 ? own : slow).slice(0, N_SLOW_SHOWN).map((one) => {
    const node = nodes[one.node];
    const from = one.contributor === null ? "" : ` of ${node?.contributors[one.contributor]?.name ?? NOTHING}`;
    const limit = `slower than the ${quantityText(one.expected_seconds, "seconds")} expected, at most ${quantityText(one.upper_seconds, "seconds")}`;
    const ago = one.ago_seconds < 2 ? "" : `, ${Math.round(one.ago_seconds)} s ago`;
    const head = make("strong", {}, `${one.part}${from} at ${node?.name ?? NOTHING}: ${quantityText(one.mean_seconds, "seconds")}`);
    return make("li", {}, head, `, ${limit}${ago}`);
  });
}

function operationTable(operations: MpiOperation[]): HTMLElement {
  if (operations.length === 0) return make("p", { class: "none" }, "no call was seen yet");
  const columns = ["operation", "calls", "calls/s", "share of time", "mean", "longest", "bytes"];
  const isMinor = (column: string) => (["longest", "bytes", "calls"].includes(column) ? "minor" : null);
  const head = columns.map((column) => make("th", { scope: "col", class: isMinor(column) }, column));
  const rows = operations.map((one) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, one.operation, one.n_failed > 0 ? make("small", {}, ` ${countText(one.n_failed)} failed`) : null),
      make("td", { class: "minor" }, countText(one.n_calls)),
      make("td", {}, plain(one.calls_per_second)),
      make("td", {}, percent(one.time_ratio)),
      make("td", {}, quantityText(one.mean_seconds, "seconds")),
      make("td", { class: "minor" }, quantityText(one.max_seconds, "seconds")),
      make("td", { class: "minor" }, quantityText(one.size_bytes, "bytes")),
    ),
  );
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}

function rankTable(detail: MpiJobDetail, analysis: MpiAnalysis | null): HTMLElement {
  // From a root nobody arrives.
  const nodes = analysis?.flow === "from_root" ? [] : (analysis?.nodes ?? []);
  const lastRatio = new Map(
    nodes.flatMap(({ contributors }) =>
      contributors.filter(({ node }) => node === null).map(({ name, last_ratio }) => [name, last_ratio] as const),
    ),
  );
  const paths = new Map((analysis?.n_calls ? analysis.paths : []).map((path) => [path.rank, path]));
  const columns = ["rank", "time in MPI", ...(paths.size === 0 ? [] : ["last at its node", "cost of a call"])];
  const head = columns.map((column) => make("th", { scope: "col" }, column));
  const rows = detail.by_rank.slice(0, N_RANKS_SHOWN).map(({ rank, time_ratio }) => {
    const path = paths.get(rank);
    const last = lastRatio.get(`rank ${rank}`);
    const inside = [
      make("td", {}, last === undefined ? NOTHING : percent(last)),
      make("td", {}, quantityText(path?.cost_seconds, "seconds")),
    ];
    return make("tr", {}, make("th", { scope: "row" }, String(rank)), make("td", {}, percent(time_ratio)), ...(paths.size === 0 ? [] : inside));
  });
  const nMore = detail.by_rank.length - N_RANKS_SHOWN;
  const more = nMore > 0 ? [make("tr", {}, make("td", { class: "few", colspan: "4" }, `and ${countText(nMore)} more`))] : [];
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows, ...more));
}

function groupKey(groups: MpiGroup[]): HTMLElement[] {
  const items = groups.slice(0, N_GROUPS_SHOWN).map(({ ranks, representative, cost_seconds }, position) => {
    const who = ranks.length === 1 ? `rank ${representative}` : `${ranks.length} ranks like ${representative}`;
    return make("li", { class: groupClass(position) }, `${who}: ${quantityText(cost_seconds, "seconds")}`);
  });
  const nMore = groups.length - N_GROUPS_SHOWN;
  return nMore > 0 ? [...items, make("li", { class: "rest" }, `${nMore} groups more`)] : items;
}

/** What marks behind the lines of the pathmap mean. */
function markKey(analysis: MpiAnalysis, withWaits: boolean): HTMLElement[] {
  const hint = hotspotOf(analysis, withWaits);
  const hotspot = hint === null ? [] : [make("li", { class: "hotspot" }, `to look at first: ${hint.part} at ${hint.node}`)];
  const late = analysis.slow.some(({ is_wait }) => !is_wait) ? [make("li", { class: "slow" }, "slower than expected")] : [];
  return [...hotspot, ...late];
}

/** The node writes `us`, which every terminal can show. */
function withMicro(text: string): string {
  return text.replaceAll(/(\d) us\b/g, "$1 µs");
}

/** A share to two digits at most, which is what so many calls tell. */
function percent(share: number): string {
  return `${share === 0 || share > 0.0995 ? Math.round(share * 100) : (share * 100).toFixed(1)} %`;
}
