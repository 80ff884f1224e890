// The head of the page: whose node it is, how the connection stands, what is wrong with the node.

import { make, setText } from "./dom.ts";
import { lengthText, momentText, tickText } from "./format.ts";
import type { LinkState } from "./link.ts";
import type { Health, HostLimits, NodeInfo } from "./wire.ts";

/** One sentence for the state of the connection. */
export function stateText(state: LinkState, nowMs: number): string {
  switch (state.kind) {
    case "connecting":
      return "connecting";
    case "live":
      return "live";
    case "reconnecting":
      return `reconnecting, last heard ${momentText(state.sinceMs, nowMs)}`;
    case "gone":
      return `node gone since ${momentText(state.sinceMs, nowMs)}: ${state.why}`;
  }
}

/** The limits of a node in words, to stand behind the name of the host; empty if there are none. */
export function limitsText(limits: HostLimits | undefined): string {
  const { memory_bytes: bytes, cpu_cores: cores } = limits ?? {};
  const texts = [
    ...(bytes === undefined ? [] : [`${tickText(bytes, "bytes")} of memory`]),
    ...(cores === undefined ? [] : [tickText(cores, "cores")]),
  ];
  return texts.length === 0 ? "" : `limited to ${texts.join(" and ")} by its control group`;
}

/** The node's name, its limits, its settings and the connection, in one line. */
export class StatusBar {
  readonly element: HTMLElement;
  readonly #host = make("span", { class: "host" });
  readonly #limits = make("span", { class: "limits" });
  readonly #settings = make("span", { class: "settings" });
  readonly #state = make("span", { class: "state", role: "status" });

  /** `controls` go to the right end. */
  constructor(...controls: HTMLElement[]) {
    this.element = make(
      "header",
      { class: "bar" },
      make("h1", {}, make("span", { class: "mark" }, "foretop"), this.#host),
      this.#limits,
      this.#settings,
      make("span", { class: "controls" }, this.#state, ...controls),
    );
  }

  showNode(node: NodeInfo): void {
    setText(this.#host, node.host);
    setText(this.#limits, limitsText(node.limits));
    setText(this.#settings, `every ${lengthText(node.step_seconds * 1_000)} · ${node.model} · ${node.version}`);
    this.#settings.title = `up since ${new Date(node.started).toLocaleString()}`;
  }

  showState(state: LinkState): void {
    setText(this.#state, stateText(state, Date.now()));
    this.#state.dataset["state"] = state.kind;
  }
}

/** What a person should look at, and which sensors the host lacks. */
export class HealthNotes {
  readonly problems = make("ul", { class: "problems", "aria-label": "problems", role: "status" });
  readonly absent = make("details", { class: "absent" });

  constructor() {
    this.absent.hidden = true;
  }

  show(health: Health): void {
    this.problems.replaceChildren(...health.problems.map((problem) => make("li", {}, problem)));
    const rows = health.absent.flatMap(({ signal, reason }) => [make("dt", {}, signal), make("dd", {}, reason)]);
    const count = health.absent.length === 1 ? "1 sensor absent" : `${health.absent.length} sensors absent`;
    this.absent.hidden = health.absent.length === 0;
    this.absent.replaceChildren(make("summary", {}, count), make("dl", {}, ...rows));
  }
}
