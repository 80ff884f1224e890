import { expect, test } from "vitest";

import { linesOf, sentenceOf } from "../src/kernel.ts";
import type { KernelStatus, KernelSubsystem } from "../src/wire.ts";

const part = (name: string, more: Partial<KernelSubsystem> = {}): KernelSubsystem => ({
  node: 0,
  name,
  is_on: true,
  source: "bpf",
  weight: 1,
  cost_cores: 0,
  missing: [],
  ...more,
});

const status = (more: Partial<KernelStatus> = {}): KernelStatus => ({
  is_on: true,
  interval_ms: 10_000,
  budget_cores: 0.01,
  cost_cores: 0.0071,
  own_cores: 0.0002,
  holder: null,
  nodes: [{ number: 0, node: "host" }],
  subsystems: [],
  ...more,
});

test("cost and budget stand in one sentence", () => {
  expect(sentenceOf(status())).toBe(
    "on, pulled every 10 s: probes take 0.71 % of a core (a budget of 1.00 %), the agent 0.02 %.",
  );
  expect(sentenceOf(status({ is_on: false, holder: ["ann", 60] }))).toBe(
    "off: nothing is attached; ann alone may change it, for 1 min more.",
  );
});

test("the dearest subsystem comes first, and what is off not at all", () => {
  const subsystems = [
    part("vm", { cost_cores: 0.001, weight: 4 }),
    part("task", { is_on: false }),
    part("filesystem", { cost_cores: 0.02, weight: null }),
    part("cpu", { source: "proc", missing: ["times"] }),
  ];
  expect(linesOf(status({ subsystems }))).toEqual([
    "filesystem: 2.00 %, taken off: too dear",
    "vm: 0.10 %, one event in 4 looked at",
    "cpu: from /proc, no probes",
    "cpu lacks times",
  ]);
});
