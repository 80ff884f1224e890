// What measuring the kernel costs, switches for it, and the events of traced points. Hidden on a node that has no agent.

import { ApiError, type Api } from "./api.ts";
import { make, setText } from "./dom.ts";
import { countText, lengthText, NOTHING, plain, quantityText } from "./format.ts";
import type { KernelEvent, KernelPaid, KernelPointState, KernelStatus, KernelSubsystem, KernelTrace, KernelTraces } from "./wire.ts";

/** How often events are asked for while a point is traced. */
const TRACES_MS = 2_000;

const STATES: Record<KernelPointState, string> = { inactive: "inactive", summary: "summary", trace: "summary and trace" };

/** What is asked of the agent: of the whole, or of a subsystem. */
interface Change {
  is_on?: boolean;
  points?: Record<string, KernelPointState>;
}

/** The panel above the signals. */
export class Kernel {
  readonly element = make("section", { class: "group kernel", "aria-label": "kernel measurement" });
  readonly #api: Api;
  readonly #says = make("p", { class: "legend", role: "status" });
  readonly #parts = make("ul");
  readonly #traces = make("div", { class: "scroll", role: "group", "aria-label": "traced events" });
  readonly #switch = make("button", { type: "button" });
  /** Of each subsystem of each node, so that what somebody opened stays open. */
  #shown = new Map<string, Part>();
  #isOn = false;
  /** Whether the node has an agent, as it says itself. */
  hasAgent = false;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(api: Api) {
    this.#api = api;
    this.element.hidden = true;
    this.#switch.addEventListener("click", () => void this.#change(this.#switch, { is_on: !this.#isOn }));
    const body = make("div", {}, this.#says, this.#switch, this.#parts, this.#traces);
    this.element.append(make("h2", {}, "kernel probes"), body);
  }

  /** Asks the agent how it is, through the node, and soon again while points are traced. */
  async look(): Promise<void> {
    clearTimeout(this.#again);
    this.element.hidden ||= !this.hasAgent;
    if (!this.hasAgent) return;
    try {
      const status = await this.#api.json<KernelStatus>("kernel");
      this.#show(status);
      const traces = status.is_on ? await this.#api.json<KernelTraces>("kernel/traces") : null;
      this.#showTraces(traces, status.nodes.length > 1);
      clearTimeout(this.#again);
      if (traces?.traces.some((trace) => trace.is_traced) || isTracing(status)) {
        this.#again = setTimeout(() => void (document.hidden ? undefined : this.look()), TRACES_MS);
      }
    } catch (error) {
      // A broken connection says so elsewhere.
      if (!(error instanceof ApiError)) return;
      this.element.hidden = false;
      this.#switch.hidden = true;
      this.#shown.clear();
      this.#parts.replaceChildren();
      this.#traces.replaceChildren();
      setText(this.#says, error.message);
    }
  }

  #show(status: KernelStatus): void {
    this.element.hidden = false;
    this.#switch.hidden = false;
    this.#isOn = status.is_on;
    setText(this.#switch, status.is_on ? "turn off" : "turn on");
    setText(this.#says, sentenceOf(status));
    const before = this.#shown;
    this.#shown = new Map();
    for (const one of status.is_on ? inOrder(status.subsystems) : []) {
      const key = `${one.node} ${one.name}`;
      const change = (control: HTMLButtonElement | HTMLSelectElement, asked: Change) => this.#change(control, asked, one);
      const part = before.get(key) ?? new Part(change);
      part.show(one, lineOf(one, status.nodes.length > 1));
      this.#shown.set(key, part);
    }
    const elements = [...this.#shown.values()].map((part) => part.element);
    const isOther = elements.some((element, i) => this.#parts.children[i] !== element);
    // Moving an element takes the focus from what is in it: a new order waits until nobody is there.
    const waits = elements.length === this.#parts.children.length && (!isOther || this.#parts.contains(document.activeElement));
    if (!waits) this.#parts.replaceChildren(...elements);
  }

  #showTraces(found: KernelTraces | null, isOneOfSeveral: boolean): void {
    const alarm = found?.alarm ? [make("p", { class: "legend", role: "alert" }, found.alarm)] : [];
    const tables = (found?.traces ?? []).map((trace) => {
      const columns = ["ago", "took", "asked", "returned", "process", "thread", "processor", ...trace.fields];
      const head = make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column)));
      const row = (event: KernelEvent) => make("tr", {}, ...cellsOf(event, trace.fields.length, found?.now_ns ?? 0).map((text) => make("td", {}, text)));
      const rows = trace.events.toReversed().map(row);
      return make("table", {}, make("caption", {}, captionOf(trace, isOneOfSeveral)), make("thead", {}, head), make("tbody", {}, ...rows));
    });
    this.#traces.replaceChildren(...alarm, ...tables);
  }

  /** Asks for a change of the whole, or of a subsystem, and shows what became of it. */
  async #change(control: HTMLButtonElement | HTMLSelectElement, change: Change, of?: KernelSubsystem): Promise<void> {
    const asked = of === undefined ? change : { nodes: [of.node], subsystems: { [of.name]: change } };
    control.disabled = true;
    try {
      await this.#api.send("POST", "kernel", { do: "set", ...asked });
      await this.look();
    } catch (error) {
      await this.look();
      setText(this.#says, error instanceof ApiError ? error.message : "no answer");
    } finally {
      control.disabled = false;
    }
  }
}

/** A subsystem: its cost, its switch, its points, and what each of its probes costs. */
class Part {
  readonly element = make("li");
  readonly #line = make("summary");
  readonly #missing = make("div");
  readonly #switch = make("button", { type: "button" });
  readonly #points = make("tbody");
  readonly #probes = make("tbody");
  readonly #factor = make("p");
  readonly #selects = new Map<string, HTMLSelectElement>();
  readonly #change: (control: HTMLButtonElement | HTMLSelectElement, change: Change) => Promise<void>;
  #isOn = false;

  constructor(change: (control: HTMLButtonElement | HTMLSelectElement, change: Change) => Promise<void>) {
    this.#change = change;
    this.#switch.addEventListener("click", () => void change(this.#switch, { is_on: !this.#isOn }));
    const head = (...columns: string[]) => make("thead", {}, make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column))));
    const points = make("table", {}, head("point", "what it does"), this.#points);
    const probes = make("table", {}, head("probe", "price", "ran lately", "per s", "of a core"), this.#probes);
    this.element.append(make("details", {}, this.#line, this.#switch, points, probes, this.#factor), this.#missing);
  }

  show(one: KernelSubsystem, line: string): void {
    this.#isOn = one.is_on;
    setText(this.#line, line);
    setText(this.#switch, `turn ${one.name} ${one.is_on ? "off" : "on"}`);
    this.#missing.replaceChildren(...(one.is_on ? one.missing : []).map((text) => make("p", {}, `lacks ${text}`)));
    for (const [point, state] of Object.entries(one.points)) {
      const select = this.#selects.get(point) ?? this.#add(one.name, point);
      if (select !== document.activeElement || select.disabled) select.value = state;
    }
    setText(this.#factor, factorOf(one));
    this.#probes.replaceChildren(
      ...one.probes.map((paid) => make("tr", {}, make("th", { scope: "row" }, paid.what), ...costsOf(paid).map((text) => make("td", {}, text)))),
    );
  }

  #add(subsystem: string, point: string): HTMLSelectElement {
    const options = Object.entries(STATES).map(([value, text]) => make("option", { value }, text));
    const select = make("select", { "aria-label": `${subsystem}.${point}` }, ...options);
    select.addEventListener("change", () => void this.#change(select, { points: { [point]: select.value as KernelPointState } }));
    this.#selects.set(point, select);
    this.#points.append(make("tr", {}, make("th", { scope: "row" }, point), make("td", {}, select)));
    return select;
  }
}

/** Whether it measures, what that takes, and who may change it. */
export function sentenceOf({ is_on, interval_ms, budget_cores, cost_cores, own_cores, holder, queue }: KernelStatus): string {
  const budget = budget_cores === null ? "no budget" : `a budget of ${share(budget_cores)}`;
  const cost = `on, pulled every ${lengthText(interval_ms)}: probes take ${share(cost_cores)} of a core (${budget}), the agent ${share(own_cores)}`;
  const waiting = queue.length === 0 ? "" : `, then ${queue.join(", ")}`;
  const held = holder === null ? "" : `; ${holder[0]} alone may change it, for ${lengthText(holder[1] * 1_000)} more${waiting}`;
  return `${is_on ? cost : "off: nothing is attached"}${held}.`;
}

/** Those that are on first, the dearest before the others. */
export function inOrder(subsystems: KernelSubsystem[]): KernelSubsystem[] {
  return subsystems.toSorted((left, right) => Number(right.is_on) - Number(left.is_on) || right.cost_cores - left.cost_cores);
}

/** What a subsystem costs, and how it is looked at. */
export function lineOf({ node, name, is_on, source, weight, cost_cores }: KernelSubsystem, isOneOfSeveral: boolean): string {
  const of = isOneOfSeveral ? ` of node ${node}` : "";
  if (!is_on) return `${name}${of}: off`;
  const sampled = weight === null ? ", taken off: too dear" : weight === 1 ? "" : `, one event in ${weight} looked at`;
  const cost = source === "proc" ? "from /proc, no probes" : share(cost_cores);
  return `${name}${of}: ${cost}${sampled}`;
}

/** A probe's price, what its program ran for lately, how often it is paid, and what that comes to. */
export function costsOf({ price_ns, run_ns, per_sec, cost_cores }: KernelPaid): string[] {
  const whole = (ns: number | null) => (ns === null ? "" : `${Math.round(ns)} ns`);
  return [whole(price_ns), whole(run_ns), plain(per_sec), share(cost_cores)];
}

/** By what its costs are corrected. */
export function factorOf({ is_on, factor }: KernelSubsystem): string {
  if (!is_on || factor === null) return "";
  return `programs run ${factor.toFixed(2)} times as long as when their prices were measured, which is in the cost`;
}

/** How many events of a point came. */
export function captionOf({ node, subsystem, point, is_traced, received, per_sec, dropped }: KernelTrace, isOneOfSeveral: boolean): string {
  const of = isOneOfSeveral ? ` of node ${node}` : "";
  const rate = is_traced ? `${plain(per_sec)} a second` : "no longer traced";
  return `${subsystem}.${point}${of}: ${countText(received)} events, ${rate}, ${countText(dropped)} dropped`;
}

/** What a row says of an event: when it ended, how long it took, bytes, who and where, and so many arguments of a user's point. */
export function cellsOf(event: KernelEvent, nFields: number, nowNs: number): string[] {
  const { begin_ns, end_ns, asked, returned, process, thread, processor, fields = [] } = event;
  const took = end_ns === begin_ns ? NOTHING : quantityText((end_ns - begin_ns) / 1e9, "s");
  const ago = quantityText((nowNs - end_ns) / 1e9, "s");
  const own = Array.from({ length: nFields }, (_, i) => String(fields[i] ?? 0));
  return [ago, took, ...[asked, returned].map(countText), ...[process, thread, processor].map(String), ...own];
}

function isTracing({ is_on, subsystems }: KernelStatus): boolean {
  return is_on && subsystems.some((one) => one.is_on && Object.values(one.points).includes("trace"));
}

function share(cores: number): string {
  return `${(100 * cores).toFixed(cores < 0.1 ? 2 : 0)} %`;
}
