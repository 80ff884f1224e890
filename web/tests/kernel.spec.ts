// What measuring the kernel costs, and the switch for it: with an agent that answers as told, and with none.

import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "./fixture.ts";
import { Node } from "./node.ts";

interface Asked {
  do: string;
  is_on?: boolean;
  subsystems?: Record<string, { is_on?: boolean; points?: Record<string, string> }>;
}

/** Speaks `docs/formats/kernel-control.md`, and refuses changes while `holder` is there. */
class Agent {
  isOn = false;
  isVmOn = true;
  state = "summary";
  holder: [string, number] | null = null;
  readonly #server: Server;

  constructor(path: string) {
    this.#server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (bytes) => {
        for (const line of bytes.toString().trim().split("\n")) socket.write(`${JSON.stringify(this.#answer(line))}\n`);
      });
    }).listen(path);
  }

  close(): void {
    this.#server.close();
  }

  #answer(line: string): object {
    const request = JSON.parse(line) as Asked;
    if (request.do === "summaries") return { is: "summaries", summaries: [] };
    if (request.do === "traces") {
      const event = { begin_ns: 1e9, end_ns: 1.002e9, asked: 4096, returned: 100, process: 4711, thread: 4712, processor: 1, weight: 1 };
      const trace = { node: 0, subsystem: "vm", point: "PageFaults", fields: [], is_traced: true, received: 1234, per_sec: 12, dropped: 3, events: [event] };
      return { is: "traces", now_ns: 3.002e9, alarm: null, traces: this.state === "trace" ? [trace] : [] };
    }
    if (request.do === "set") {
      if (this.holder !== null) return { is: "refused", why: `\`${this.holder[0]}\` has the lease` };
      this.isOn = request.is_on ?? this.isOn;
      this.isVmOn = request.subsystems?.["vm"]?.is_on ?? this.isVmOn;
      this.state = request.subsystems?.["vm"]?.points?.["PageFaults"] ?? this.state;
      return { is: "done" };
    }
    const probes = [{ what: "faults_begin", price_ns: 83.4, run_ns: 120.6, per_sec: 1000, cost_cores: 0.0000834 }];
    const vm = { node: 0, name: "vm", source: "bpf", weight: 2, factor: 1.537, points: { PageFaults: this.state }, probes, missing: [] };
    return {
      is: "status",
      is_on: this.isOn,
      interval_ms: 5_000,
      budget_cores: 0.01,
      cost_cores: 0.0071,
      own_cores: 0.0003,
      groups: [64],
      holder: this.holder,
      queue: [],
      nodes: [{ number: 0, node: "host" }],
      subsystems: [{ ...vm, is_on: this.isOn && this.isVmOn, cost_cores: 0.0071 }],
    };
  }
}

test("the cost is shown beside the budget, and the switch turns measuring on", async ({ page }) => {
  const folder = await mkdtemp(join(tmpdir(), "foretop-kernel-"));
  const agent = new Agent(join(folder, "socket"));
  const node = await Node.start("--kernel", join(folder, "socket"));
  try {
    await page.goto(node.url);
    const panel = page.getByRole("region", { name: "kernel measurement" });
    await expect(panel).toContainText("off: nothing is attached.");
    await panel.getByRole("button", { name: "turn on" }).click();
    await expect(panel).toContainText("on, pulled every 5 s: probes take 0.71 % of a core (a budget of 1.00 %)");
    await expect(panel.getByRole("listitem")).toContainText("vm: 0.71 %, one event in 2 looked at");
    agent.holder = ["ann", 60];
    await panel.getByRole("button", { name: "turn off" }).click();
    await expect(panel).toContainText("`ann` has the lease");
    expect(agent.isOn).toBe(true);
  } finally {
    await node.dispose();
    agent.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test("a subsystem's probes have prices, its points are traced on demand, and events are shown", async ({ page }) => {
  const folder = await mkdtemp(join(tmpdir(), "foretop-kernel-"));
  const agent = new Agent(join(folder, "socket"));
  agent.isOn = true;
  const node = await Node.start("--kernel", join(folder, "socket"));
  try {
    await page.goto(node.url);
    const panel = page.getByRole("region", { name: "kernel measurement" });
    await panel.getByText("vm: 0.71 %").click();
    await expect(panel.getByRole("row", { name: "faults_begin" })).toContainText("83 ns121 ns");
    await expect(panel).toContainText("programs run 1.54 times as long");
    await panel.getByRole("combobox", { name: "vm.PageFaults" }).selectOption("summary and trace");
    const events = panel.getByRole("table", { name: "vm.PageFaults: 1\u202f234 events, 12.00 a second, 3 dropped" });
    await expect(events.getByRole("row").nth(1)).toHaveText(/2.00 s2.00 ms4\u202f09610047114712 ?1/);
    expect(agent.state).toBe("trace");
    await panel.getByRole("button", { name: "turn vm off" }).click();
    await expect(panel.getByRole("listitem")).toContainText("vm: off");
    expect(agent.isVmOn).toBe(false);
    agent.holder = ["ann", 60];
    await panel.getByRole("button", { name: "turn vm on" }).click();
    await expect(panel).toContainText("`ann` has the lease");
    expect(agent.isVmOn).toBe(false);
  } finally {
    await node.dispose();
    agent.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test("a node without an agent does not speak of the kernel", async ({ page, node }) => {
  await page.goto(node.url);
  await expect(page.getByRole("region", { name: "about to happen" })).toBeVisible();
  await expect(page.getByRole("region", { name: "kernel measurement" })).toBeHidden();
});
