// What measuring the kernel costs, and a switch for it. Hidden on a node that has no agent.

import { ApiError, type Api } from "./api.ts";
import { make, setText } from "./dom.ts";
import { lengthText } from "./format.ts";
import type { KernelStatus } from "./wire.ts";

/** The panel above the signals. */
export class Kernel {
  readonly element = make("section", { class: "group kernel", "aria-label": "kernel measurement" });
  readonly #api: Api;
  readonly #says = make("p", { class: "legend", role: "status" });
  readonly #parts = make("ul");
  readonly #switch = make("button", { type: "button" });
  #isOn = false;

  constructor(api: Api) {
    this.#api = api;
    this.element.hidden = true;
    this.#switch.addEventListener("click", () => void this.#turn());
    this.element.append(make("h2", {}, "kernel probes"), make("div", {}, this.#says, this.#parts, this.#switch));
  }

  /** Asks the agent how it is, through the node. */
  async look(): Promise<void> {
    try {
      this.#show(await this.#api.json<KernelStatus>("kernel"));
    } catch (error) {
      // Without an agent there is nothing to show; a broken connection says so elsewhere.
      if (!(error instanceof ApiError)) return;
      this.element.hidden = error.status === 404;
      this.#switch.hidden = true;
      this.#parts.replaceChildren();
      setText(this.#says, error.message);
    }
  }

  #show(status: KernelStatus): void {
    this.element.hidden = false;
    this.#switch.hidden = false;
    this.#isOn = status.is_on;
    setText(this.#switch, status.is_on ? "turn off" : "turn on");
    setText(this.#says, sentenceOf(status));
    this.#parts.replaceChildren(...linesOf(status).map((line) => make("li", {}, line)));
  }

  async #turn(): Promise<void> {
    this.#switch.disabled = true;
    try {
      await this.#api.send("POST", "kernel", { do: "set", is_on: !this.#isOn });
      await this.look();
    } catch (error) {
      setText(this.#says, error instanceof ApiError ? error.message : "no answer");
    } finally {
      this.#switch.disabled = false;
    }
  }
}

/** Whether it measures, what that takes, and who may change it. */
export function sentenceOf({ is_on, interval_ms, budget_cores, cost_cores, own_cores, holder }: KernelStatus): string {
  const budget = budget_cores === null ? "no budget" : `a budget of ${share(budget_cores)}`;
  const cost = `on, pulled every ${lengthText(interval_ms)}: probes take ${share(cost_cores)} of a core (${budget}), the agent ${share(own_cores)}`;
  const held = holder === null ? "" : `; ${holder[0]} alone may change it, for ${lengthText(holder[1] * 1_000)} more`;
  return `${is_on ? cost : "off: nothing is attached"}${held}.`;
}

/** A line for each subsystem that is on, the dearest first, and for what is missing of it. */
export function linesOf({ nodes, subsystems }: KernelStatus): string[] {
  const on = subsystems.filter((one) => one.is_on).sort((left, right) => right.cost_cores - left.cost_cores);
  return on.flatMap(({ node, name, source, weight, cost_cores, missing }) => {
    const of = nodes.length > 1 ? ` of node ${node}` : "";
    const sampled = weight === null ? ", taken off: too dear" : weight === 1 ? "" : `, one event in ${weight} looked at`;
    const cost = source === "proc" ? "from /proc, no probes" : share(cost_cores);
    return [`${name}${of}: ${cost}${sampled}`, ...missing.map((text) => `${name}${of} lacks ${text}`)];
  });
}

function share(cores: number): string {
  return `${(100 * cores).toFixed(cores < 0.1 ? 2 : 0)} %`;
}
