// Puts the page together: connection, board, overview, large view, and what keys and URL do.

import "./style.css";

import { Api } from "./api.ts";
import { Board, TILE_CONFIDENCES, TILE_LEADS } from "./board.ts";
import { Detail } from "./detail.ts";
import { make } from "./dom.ts";
import { helpButton } from "./help.ts";
import { Jobs } from "./jobs.ts";
import { Kernel } from "./kernel.ts";
import { Link, type LinkState } from "./link.ts";
import { Ahead } from "./ahead.ts";
import { Overview } from "./overview.ts";
import { Repeater } from "./queue.ts";
import { RulesView } from "./rules.ts";
import { Processes } from "./processes.ts";
import { DEFAULT_VIEW, hashOf, hashOfJobs, hashOfProcesses, hashOfRules, viewIn, type View } from "./route.ts";
import type { ServerEvent } from "./sse.ts";
import { HealthNotes, StatusBar } from "./status.ts";
import { palette, themeToggle } from "./theme.ts";
import { SessionToken } from "./token.ts";
import type { Health, Hello, SeriesList, Tick, Warnings } from "./wire.ts";

/** How often the list of series is fetched again, for models and counts that no event brings. */
const LIST_MS = 30_000;
/** The least time between two such requests, for a program that makes many signals one after the other. */
const LIST_REST_MS = 250;
/** How often the page looks whether signals have become stale while nothing comes. */
const CLOCK_MS = 1_000;

const token = new SessionToken();
const api = new Api(token);
const board = new Board();
const view: View = { ...DEFAULT_VIEW };
const ahead = new Ahead(api);
const overview = new Overview(api, board, {
  stale: () => scheduleDraw(),
  filtered: (filter) => {
    view.filter = filter;
    writeHash();
  },
});
const health = new HealthNotes();
const help = helpButton();
const jobs = new Jobs(api);
const rules = new RulesView(api, board);
const kernel = new Kernel(api);
const above = make("div", { class: "above" }, ahead.element, kernel.element);
const users = make(
  "main",
  { class: "users", "aria-label": "who uses the host" },
  make("div", { class: "top" }, make("a", { class: "plain", href: "#/" }, "← all signals")),
  make("h2", { tabindex: "-1" }, "who uses the host"),
);
const status = new StatusBar(
  make("a", { class: "plain", href: hashOfProcesses() }, "processes"),
  make("a", { class: "plain", href: hashOfRules() }, "rules"),
  jobs.link,
  overview.filter,
  themeToggle(() => onTheme()),
  help,
);
const ignored = make("ul", { class: "ignored", role: "status", "aria-label": "ignored" });
const missing = make("main", { class: "missing", role: "status" });
const list = new Repeater(fetchList, LIST_REST_MS);
const query = {
  leads: TILE_LEADS.join(","),
  confidence: String(TILE_CONFIDENCES.outer),
  inner: String(TILE_CONFIDENCES.inner),
};
const link = new Link({
  open: (abort) => api.stream("events", query, abort),
  isAsking: () => token.isAsking,
  onEvent,
  onState,
});

let detail: Detail | null = null;
let processes: Processes | null = null;
let isDrawScheduled = false;
let state: LinkState = { kind: "connecting" };
/** Whether the open signal was opened from the overview, so that closing it is going back. */
let wasOpenedHere = false;
let scrollTop = 0;

missing.hidden = true;
above.hidden = true;
document.body.replaceChildren(status.element, ignored, health.problems, above, overview.element, jobs.element, rules.element, users, missing, health.absent);
document.addEventListener("keydown", onKey);
window.addEventListener("hashchange", onHash);
overview.element.addEventListener("click", onOpen);
setInterval(() => list.run(), LIST_MS);
setInterval(() => void jobs.look(), LIST_MS);
setInterval(() => void ahead.look(), LIST_MS);
setInterval(() => void kernel.look(), LIST_MS);
setInterval(() => onClock(), CLOCK_MS);
readHash();
void link.run();

function onEvent({ event, data }: ServerEvent): void {
  switch (event) {
    case "hello":
      const { node } = JSON.parse(data) as Hello;
      status.showNode(node);
      kernel.hasAgent = node.has_kernel_agent;
      board.forgetLoaded();
      list.run();
      void jobs.look();
      void ahead.look();
      void kernel.look();
      detail?.refresh();
      break;
    case "tick":
      onTick(JSON.parse(data) as Tick);
      break;
    case "lagged":
      board.forgetLoaded();
      detail?.refresh();
      break;
    case "health":
      health.show(JSON.parse(data) as Health);
      break;
    case "warnings":
      ahead.show(JSON.parse(data) as Warnings);
      break;
  }
}

function onTick(tick: Tick): void {
  const unknown = board.applyTick(tick, Date.now());
  // A program has made a signal since the list was fetched.
  if (unknown.length > 0) list.run();
  detail?.onTick(tick);
  scheduleDraw();
}

function onState(changed: LinkState): void {
  state = changed;
  status.showState(state);
  document.documentElement.dataset["link"] = state.kind;
}

async function fetchList(): Promise<void> {
  try {
    const series = await api.json<SeriesList>("series");
    const hasChanged = board.applyList(series);
    status.showNode(series.node);
    if (hasChanged) overview.rebuild();
    if (hasChanged || detail === null) showRoute();
    scheduleDraw();
  } catch {
    // The connection says what is wrong, and its `hello` asks again.
  }
}

/** Takes what the URL says, and writes it back whole: an edited or old link may say less than there is. */
function readHash(): void {
  const read = viewIn(location.hash, view);
  Object.assign(view, read.view);
  ignored.replaceChildren(...read.ignored.map((sentence) => make("li", {}, sentence)));
  overview.showFilter(view.filter);
  writeHash();
}

function writeHash(): void {
  history.replaceState(history.state, "", location.pathname + location.search + hashOf(view.id, view));
}

function onHash(): void {
  readHash();
  // A link to what is open may show it otherwise.
  if (detail !== null) closeDetail();
  closeProcesses();
  showRoute();
}

function showRoute(): void {
  const { id } = view;
  const signal = id === null ? null : board.find(id);
  if (detail !== null && detail.signal !== signal) closeDetail();
  if (signal !== null && detail === null) {
    scrollTop = window.scrollY;
    detail = new Detail(api, board, signal, view, { close: goBack, chosen: writeHash, stale: scheduleDraw });
    overview.element.before(detail.element);
    window.scrollTo(0, 0);
    detail.element.querySelector("h2")?.focus();
  }
  // Before the list is here, every id is unknown.
  const isMissing = id !== null && signal === null && board.node !== null;
  missing.textContent = isMissing ? `there is no signal “${id}” on this node` : "";
  missing.hidden = !isMissing;
  jobs.show(view.job);
  rules.show(view.rules);
  showProcesses();
  overview.element.hidden = detail !== null || view.job !== null || view.rules !== null || view.processes;
  overview.filter.hidden = overview.element.hidden;
  above.hidden = overview.element.hidden || view.filter !== "";
  const name = [view.rules === null ? null : "rules", view.processes ? "processes" : null, view.job ?? detail?.signal.info.id, board.node?.host, "Foretop"];
  document.title = name.filter((part) => part !== undefined && part !== null && part !== "").join(" · ");
}

function showProcesses(): void {
  users.hidden = !view.processes;
  if (!view.processes) closeProcesses();
  if (!view.processes || processes !== null) return;
  processes = new Processes(api, view, "cpu", true, { chosen: writeHash, shown: () => undefined });
  users.append(processes.element);
  window.scrollTo(0, 0);
  users.querySelector("h2")?.focus();
}

function closeProcesses(): void {
  processes?.close();
  processes = null;
}

function closeDetail(): void {
  const id = detail?.signal.info.id;
  detail?.close();
  detail = null;
  wasOpenedHere = false;
  overview.element.hidden = false;
  above.hidden = view.filter !== "";
  window.scrollTo(0, scrollTop);
  if (id !== undefined) overview.focus(id);
}

function goBack(): void {
  if (wasOpenedHere) return history.back();
  view.id = null;
  writeHash();
  showRoute();
}

function onOpen(event: MouseEvent): void {
  const isOtherTab = event.ctrlKey || event.metaKey || event.shiftKey;
  if (!isOtherTab && event.target instanceof Element && event.target.closest(".tile") !== null) wasOpenedHere = true;
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog") !== null) return;
  const isTyping =
    event.target instanceof HTMLSelectElement ||
    (event.target instanceof HTMLInputElement && event.target.type !== "radio");
  if (event.key === "Escape" && view.id !== null) goBack();
  if (event.key === "Escape" && view.job !== null) location.hash = view.job === "" ? "#/" : hashOfJobs("");
  if (event.key === "Escape" && ((view.rules !== null && !isTyping) || view.processes)) location.hash = "#/";
  if (["ArrowLeft", "ArrowRight"].includes(event.key) && !isTyping && !(event.target instanceof HTMLInputElement)) {
    (detail ?? processes)?.step(event.key === "ArrowLeft" ? -1 : 1);
  }
  if (event.key === "?" && !isTyping) help.click();
  if (event.key === "/" && !isTyping && detail === null) {
    event.preventDefault();
    overview.filter.select();
    overview.filter.focus();
  }
}

function onTheme(): void {
  // The toggle applies the stored choice before there is anything to draw.
  queueMicrotask(() => {
    detail?.recolour();
    scheduleDraw();
  });
}

function onClock(): void {
  if (state.kind === "live") return;
  status.showState(state);
  scheduleDraw();
}

function scheduleDraw(): void {
  if (isDrawScheduled) return;
  isDrawScheduled = true;
  requestAnimationFrame(() => {
    isDrawScheduled = false;
    const nowMs = Date.now();
    if (detail !== null) return detail.draw();
    if (overview.element.hidden) return;
    overview.draw({ nowMs, nodeNowMs: board.nodeNowMs(nowMs), colours: palette() });
  });
}
