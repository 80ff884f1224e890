// What measuring the kernel costs, and the switch for it: with an agent that answers as told, and with none.

import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "./fixture.ts";
import { Node } from "./node.ts";

/** Speaks `docs/formats/kernel-control.md`, and refuses changes while `holder` is there. */
class Agent {
  isOn = false;
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
    const request = JSON.parse(line) as { do: string; is_on?: boolean };
    if (request.do === "summaries") return { is: "summaries", summaries: [] };
    if (request.do === "set") {
      if (this.holder !== null) return { is: "refused", why: `\`${this.holder[0]}\` has the lease` };
      this.isOn = request.is_on ?? this.isOn;
      return { is: "done" };
    }
    const vm = { node: 0, name: "vm", source: "bpf", weight: 2, points: {}, missing: [] };
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
      subsystems: [{ ...vm, is_on: this.isOn, cost_cores: 0.0071 }],
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
    await expect(panel.getByRole("listitem")).toHaveText("vm: 0.71 %, one event in 2 looked at");
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

test("a node without an agent does not speak of the kernel", async ({ page, node }) => {
  await page.goto(node.url);
  await expect(page.getByRole("region", { name: "about to happen" })).toBeVisible();
  await expect(page.getByRole("region", { name: "kernel measurement" })).toBeHidden();
});
