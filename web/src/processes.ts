// Who uses the host, as a table: now, or in a kept minute with small curves of the time around it.

import { ApiError, type Api } from "./api.ts";
import { choice } from "./choice.ts";
import { draw, make, setAttribute, setText } from "./dom.ts";
import { axisRangeText, NOTHING, quantityText } from "./format.ts";
import { headingOf, keyOf, linesOf, MINUTE_MS, minuteOf, minuteText, namePartsOf, noMinuteText, ORDERS, otherMinuteText, remarksOf, UNITS } from "./process.ts";
import type { ProcessLine } from "./process.ts";
import { Poll } from "./poll.ts";
import type { View, Zoom } from "./route.ts";
import { curve } from "./spark.ts";
import type { ProcessOrder, ProcessRow, ProcessTable, ProgramHistory } from "./wire.ts";

/** How often what is shown is asked for again: the node scans as often. */
const ASK_MS = 2_000;
/** Rows before all others are one. */
const N_ROWS = { now: 20, minute: 10 };
/** How far the curves reach to either side. */
const AROUND_MS = 30 * MINUTE_MS;
/** Curves that are fetched: a program of the table has one even if it was busy in few of the minutes. */
const N_CURVES = 200;

const GROUPINGS = [
  { value: "program", text: "program" },
  { value: "process", text: "process" },
  { value: "cgroup", text: "control group" },
] as const;

/** What the table wants of the page. */
export interface ProcessesEvents {
  /** A person chose another moment, grouping or order. */
  chosen(): void;
  /** Another minute is shown. */
  shown(): void;
}

/** The table. Asks the node from its making to `close`. */
export class Processes {
  readonly element = make("section", { class: "processes", "aria-label": "who uses the host" });
  readonly #api: Api;
  readonly #view: View;
  readonly #order: ProcessOrder;
  /** Whether there is a table of now, beside those of minutes. */
  readonly #hasNow: boolean;
  readonly #on: ProcessesEvents;
  readonly #heading = make("p", { class: "moment" });
  readonly #back = make("button", { type: "button", class: "plain", title: "the minute before", "aria-keyshortcuts": "ArrowLeft" });
  readonly #forth = make("button", { type: "button", class: "plain", title: "the minute after", "aria-keyshortcuts": "ArrowRight" });
  readonly #now = make("button", { type: "button", class: "plain" }, "now");
  readonly #by: HTMLElement;
  readonly #body = make("div", { class: "scroll" });
  readonly #remarks = make("p", { class: "remark" });
  readonly #note = make("p", { class: "remark", role: "status" });
  readonly #poll: Poll;
  #table: ProcessTable | null = null;
  /** The moment that the table answers; `undefined` before the first. */
  #answered: number | null | undefined;

  /** `order` holds until a person chooses another; without `hasNow`, `view` has a moment. */
  constructor(api: Api, view: View, order: ProcessOrder, hasNow: boolean, on: ProcessesEvents) {
    this.#api = api;
    this.#view = view;
    this.#order = order;
    this.#hasNow = hasNow;
    this.#on = on;
    this.#back.addEventListener("click", () => this.step(-1));
    this.#forth.addEventListener("click", () => this.step(1));
    this.#now.addEventListener("click", () => this.go(null));
    this.#by = choice("by", "by", [...GROUPINGS], view.by, (by) => this.#choose({ by }));
    const orders = ORDERS.map((value) => ({ value, text: value }));
    const sort = choice("sort", "sorted by", orders, view.sort ?? order, (sort) => this.#choose({ sort }));
    const steps = make("p", { class: "steps" }, this.#back, this.#forth, hasNow ? this.#now : null);
    const head = make("div", { class: "head" }, this.#heading, steps);
    const choices = make("div", { class: "choices" }, this.#by, sort);
    this.element.append(head, choices, this.#note, this.#body, this.#remarks);
    this.#poll = new Poll(this.#note, ASK_MS, (abort) => this.#ask(abort));
    this.go(view.atMs, false);
  }

  /** The kept minute that is shown. */
  get minute(): Zoom | null {
    if (this.#table === null || this.#table.span_seconds === null) return null;
    const fromMs = Date.parse(this.#table.time);
    return { fromMs, toMs: fromMs + MINUTE_MS };
  }

  /** Shows another moment; `null` for now. */
  go(atMs: number | null, isChosen = true): void {
    this.#view.atMs = atMs;
    this.#by.hidden = !this.#hasNow || atMs !== null;
    if (isChosen) this.#on.chosen();
    this.#poll.start();
  }

  /** Shows the kept minute before (-1) or after (1), and after the last one now. */
  step(direction: -1 | 1): void {
    const { previous = null, next = null } = this.#table ?? {};
    const time = direction < 0 ? previous : next;
    if (time !== null) this.go(Date.parse(time));
    else if (direction > 0 && this.#hasNow && this.#view.atMs !== null) this.go(null);
  }

  close(): void {
    this.#poll.close();
    this.element.remove();
  }

  #choose(chosen: Partial<Pick<View, "by" | "sort">>): void {
    Object.assign(this.#view, chosen);
    this.#answered = undefined;
    this.#on.chosen();
    this.#poll.start();
  }

  async #ask(abort: AbortSignal): Promise<string> {
    const { atMs, by } = this.#view;
    const sort = this.#view.sort ?? this.#order;
    // A minute that has one after it stays as it is.
    if (atMs !== null && atMs === this.#answered && this.#table !== null && this.#table.next !== null) return this.#note.textContent;
    if (atMs === null) {
      const table = await this.#api.json<ProcessTable>("processes", { by, sort, limit: String(N_ROWS.now) }, abort);
      if (!abort.aborted) this.#show(table, null, atMs);
      return "";
    }
    const asked = { sort, limit: String(N_ROWS.minute), at: iso(atMs) };
    const around = { sort, limit: String(N_CURVES), from: iso(minuteOf(atMs) - AROUND_MS), to: iso(minuteOf(atMs) + AROUND_MS + MINUTE_MS) };
    const [table, history] = await Promise.all([
      this.#api.json<ProcessTable>("processes", asked, abort).catch(noMinute),
      this.#api.json<ProgramHistory>("processes/history", around, abort),
    ]);
    if (!abort.aborted) this.#show(table, history, atMs);
    return table === null ? noMinuteText(history, Date.now()) : otherMinuteText(atMs, table, Date.now());
  }

  #show(table: ProcessTable | null, history: ProgramHistory | null, atMs: number | null): void {
    const nowMs = Date.now();
    this.#table = table;
    this.#answered = atMs;
    // A minute is announced; the table of now would be again and again.
    setAttribute(this.#heading, "aria-live", atMs === null ? null : "polite");
    setText(this.#heading, table === null ? "" : headingOf(table, nowMs));
    setText(this.#remarks, table === null ? "" : remarksOf(table).join(" "));
    this.#body.replaceChildren(...(table === null ? [] : [tableOf(table, history)]));
    const show = (button: HTMLElement, time: string | null, text: (minute: string) => string) => {
      setText(button, text(time === null ? "" : minuteText(Date.parse(time), nowMs)).trim());
      // A disabled button would lose the focus.
      setAttribute(button, "aria-disabled", time === null ? "true" : null);
    };
    show(this.#back, table?.previous ?? null, (minute) => `← ${minute}`);
    show(this.#forth, table?.next ?? null, (minute) => `${minute} →`);
    this.#now.hidden = atMs === null;
    this.#forth.hidden = this.#hasNow && atMs === null;
    this.#on.shown();
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function noMinute(error: unknown): null {
  if (error instanceof ApiError && error.code === "not_found") return null;
  throw error;
}

function tableOf(table: ProcessTable, history: ProgramHistory | null): HTMLElement {
  const { by, sort } = table;
  const word = GROUPINGS.find(({ value }) => value === by)?.text ?? by;
  const columns = ORDERS.map((order) =>
    make("th", { scope: "col", class: kindOf(order, sort), "aria-sort": order === sort ? "descending" : null }, order),
  );
  const curves = new Map((history?.programs ?? []).map((program) => [keyOf(program), program.values]));
  const curveOf = ({ user }: ProcessLine) => {
    if (history === null) return [];
    const values = typeof user === "string" ? undefined : curves.get(keyOf(user));
    return [make("td", { class: "curve" }, values === undefined ? null : drawnCurve(values, history, table))];
  };
  const lines = linesOf(table);
  const rows = lines.map((line) => {
    const { share, use, user } = line;
    const cells = ORDERS.map((order) => make("td", { class: kindOf(order, sort) }, quantityText(use[order], UNITS[order])));
    const name = make("th", { scope: "row" }, ...(typeof user === "string" ? [user] : nameOf(user)));
    return make("tr", { class: typeof user === "string" ? "sum" : null }, name, shareCell(share), ...cells, ...curveOf(line));
  });
  const head = make(
    "tr",
    {},
    make("th", { scope: "col" }, word),
    make("th", { scope: "col" }, "share"),
    ...columns,
    history === null ? null : make("th", { scope: "col", class: "curve" }, "± 30 min"),
  );
  const foot = make("tfoot", {}, ...rows.slice(-1));
  const caption = make("caption", {}, `by ${word}, sorted by ${sort}`);
  return make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...rows.slice(0, -1)), foot);
}

/** On a narrow page only the column that decides the order is shown. */
function kindOf(order: ProcessOrder, sort: ProcessOrder): string | null {
  return order === sort ? "sorted" : "minor";
}

/** A name as text, and the place and number of what has it. */
function nameOf({ container, name, n_processes: n, pid, state, unit }: ProcessRow): Node[] {
  const details = [
    pid === undefined ? null : String(pid),
    state ?? null,
    n === undefined || n === 1 ? null : `× ${n}`,
    ...[unit, container].map((place) => place ?? null),
  ].filter((word) => word !== null);
  return [shownName(name === "" ? "(no name)" : name), ...details.flatMap((word) => [document.createTextNode(" "), make("small", {}, shownName(word))])];
}

/** A foreign name, whose direction of writing ends with it. */
function shownName(name: string): HTMLElement {
  return make("bdi", {}, ...namePartsOf(name).map(({ isEscape, text }) => (isEscape ? make("i", {}, text) : text)));
}

function shareCell(share: number | null): HTMLElement {
  if (share === null) return make("td", {}, NOTHING);
  const bar = make("span", { class: "share", "aria-hidden": "true" });
  bar.style.setProperty("--share", String(share));
  return make("td", {}, bar, make("span", {}, `${(100 * share).toFixed(1)} %`));
}

function drawnCurve(values: (number | null)[], { minutes, sort }: ProgramHistory, { time }: ProcessTable): SVGElement {
  const [atMs, times] = [Date.parse(time), minutes.map((minute) => Date.parse(minute))];
  const drawn = curve(times, values, { fromMs: atMs - AROUND_MS, toMs: atMs + AROUND_MS }, atMs, MINUTE_MS);
  const known = values.filter((value) => value !== null);
  const range = known.length === 0 ? "" : axisRangeText(Math.min(...known), Math.max(...known), UNITS[sort]);
  drawn.setAttribute("aria-label", `30 minutes before and after: ${range}`);
  drawn.append(draw("title", {}, range));
  return drawn;
}
