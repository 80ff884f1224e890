// Puts the page together: connection, board, overview, large view, and what keys and URL do.

import "./style.css";

import { Api } from "./api.ts";
import { Board, TILE_LEADS } from "./board.ts";
import { Detail } from "./detail.ts";
import { make } from "./dom.ts";
import type { Choices } from "./inquiry.ts";
import { Link, type LinkState } from "./link.ts";
import { Overview } from "./overview.ts";
import { Repeater } from "./queue.ts";
import { idIn } from "./route.ts";
import type { ServerEvent } from "./sse.ts";
import { HealthNotes, StatusBar } from "./status.ts";
import { palette, themeToggle } from "./theme.ts";
import { SessionToken } from "./token.ts";
import type { Health, Hello, SeriesList, Tick } from "./wire.ts";

/** How often the list of series is fetched again, for models and counts that no event brings. */
const LIST_MS = 30_000;
/** The least time between two such requests, for a program that makes many signals one after the other. */
const LIST_REST_MS = 250;
/** How often the page looks whether signals have become stale while nothing comes. */
const CLOCK_MS = 1_000;

const token = new SessionToken();
const api = new Api(token);
const board = new Board();
const overview = new Overview(api, board, () => scheduleDraw());
const health = new HealthNotes();
const choices: Choices = { horizonMs: 60_000, confidence: 0.95, spanMs: 600_000, leadMs: null };
const status = new StatusBar(
  overview.filter,
  themeToggle(() => onTheme()),
);
const missing = make("main", { class: "missing", role: "status" });
const list = new Repeater(fetchList, LIST_REST_MS);
const link = new Link({
  open: (abort) => api.stream("events", { leads: TILE_LEADS.join(",") }, abort),
  isAsking: () => token.isAsking,
  onEvent,
  onState,
});

let detail: Detail | null = null;
let isDrawScheduled = false;
let state: LinkState = { kind: "connecting" };
/** Whether the open signal was opened from the overview, so that closing it is going back. */
let wasOpenedHere = false;
let scrollTop = 0;

missing.hidden = true;
document.body.replaceChildren(status.element, health.element, overview.element, missing);
document.addEventListener("keydown", onKey);
window.addEventListener("hashchange", () => showRoute());
overview.element.addEventListener("click", onOpen);
setInterval(() => list.run(), LIST_MS);
setInterval(() => onClock(), CLOCK_MS);
void link.run();

function onEvent({ event, data }: ServerEvent): void {
  switch (event) {
    case "hello":
      status.showNode((JSON.parse(data) as Hello).node);
      board.forgetLoaded();
      list.run();
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
  }
}

function onTick(tick: Tick): void {
  const unknown = board.applyTick(tick, Date.now());
  // A program has made a signal since the list was fetched.
  if (unknown.length > 0) list.run();
  if (detail !== null && Object.hasOwn(tick.values, detail.signal.info.id)) detail.onTick();
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

function showRoute(): void {
  const id = idIn(location.hash);
  const signal = id === null ? null : board.find(id);
  if (detail !== null && detail.signal !== signal) closeDetail();
  if (signal !== null && detail === null) {
    scrollTop = window.scrollY;
    detail = new Detail(api, board, signal, choices, { close: goBack, stale: scheduleDraw });
    status.element.after(detail.element);
    window.scrollTo(0, 0);
    detail.element.querySelector("h2")?.focus();
  }
  // Before the list is here, every id is unknown.
  const isMissing = id !== null && signal === null && board.node !== null;
  missing.textContent = isMissing ? `there is no signal “${id}” on this node` : "";
  missing.hidden = !isMissing;
  overview.element.hidden = detail !== null;
  overview.filter.hidden = detail !== null;
  const name = [detail?.signal.info.id, board.node?.host, "Foretop"];
  document.title = name.filter((part) => part !== undefined).join(" · ");
}

function closeDetail(): void {
  const id = detail?.signal.info.id;
  detail?.close();
  detail = null;
  wasOpenedHere = false;
  overview.element.hidden = false;
  window.scrollTo(0, scrollTop);
  if (id !== undefined) overview.focus(id);
}

function goBack(): void {
  if (wasOpenedHere) return history.back();
  history.replaceState(null, "", location.pathname + location.search);
  showRoute();
}

function onOpen(event: MouseEvent): void {
  const isOtherTab = event.ctrlKey || event.metaKey || event.shiftKey;
  if (!isOtherTab && event.target instanceof Element && event.target.closest(".tile") !== null) wasOpenedHere = true;
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog") !== null) return;
  const isTyping = event.target instanceof HTMLInputElement && event.target.type !== "radio";
  if (event.key === "Escape" && idIn(location.hash) !== null) goBack();
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
    overview.draw({ nowMs, nodeNowMs: board.nodeNowMs(nowMs), colours: palette() });
  });
}
