import { expect, test } from "vitest";

import { captionOf, cellsOf, costsOf, factorOf, inOrder, lineOf, sentenceOf } from "../src/kernel.ts";
import type { KernelStatus, KernelSubsystem } from "../src/wire.ts";

const part = (name: string, more: Partial<KernelSubsystem> = {}): KernelSubsystem => ({
  node: 0,
  name,
  is_on: true,
  source: "bpf",
  weight: 1,
  cost_cores: 0,
  factor: null,
  points: {},
  probes: [],
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
  queue: [],
  nodes: [{ number: 0, node: "host" }],
  subsystems: [],
  ...more,
});

test("cost and budget stand in one sentence", () => {
  expect(sentenceOf(status())).toBe(
    "on, pulled every 10 s: probes take 0.71 % of a core (a budget of 1.00 %), the agent 0.02 %.",
  );
  expect(sentenceOf(status({ is_on: false, holder: ["ann", 60], queue: ["bob"] }))).toBe(
    "off: nothing is attached; ann alone may change it, for 1 min more, then bob.",
  );
});

test("the dearest subsystem comes first, and what is off last", () => {
  const subsystems = [
    part("task", { is_on: false }),
    part("vm", { cost_cores: 0.001, weight: 4 }),
    part("filesystem", { cost_cores: 0.02, weight: null }),
    part("cpu", { source: "proc" }),
  ];
  expect(inOrder(subsystems).map((one) => lineOf(one, false))).toEqual([
    "filesystem: 2.00 %, taken off: too dear",
    "vm: 0.10 %, one event in 4 looked at",
    "cpu: from /proc, no probes",
    "task: off",
  ]);
  expect(lineOf(part("vm", { node: 7 }), true)).toBe("vm of node 7: 0.00 %");
});

test("a probe has its price, its runs, its rate and its share", () => {
  const paid = { what: "faults_begin", price_ns: 83.4, run_ns: 120.6, per_sec: 12_000, cost_cores: 0.001 };
  expect(costsOf(paid)).toEqual(["83 ns", "121 ns", "12\u202f000", "0.10 %"]);
  expect(costsOf({ ...paid, run_ns: null })[1]).toBe("");
});

test("the factor of prices is shown where it is known", () => {
  expect(factorOf(part("vm", { factor: 1.537 }))).toBe("programs run 1.54 times as long as when their prices were measured, which is in the cost");
  expect(factorOf(part("vm"))).toBe("");
  expect(factorOf(part("vm", { is_on: false, factor: 1.537 }))).toBe("");
});

test("a traced point says how many events came, and each event when, how long and whose", () => {
  const event = { begin_ns: 1e9, end_ns: 1e9 + 25_000, asked: 4096, returned: 100, process: 7, thread: 8, processor: 1, weight: 1 };
  const trace = { node: 0, subsystem: "filesystem", point: "Read", fields: [], is_traced: true, received: 1_234, per_sec: 12, dropped: 3, events: [event] };
  expect(captionOf(trace, false)).toBe("filesystem.Read: 1\u202f234 events, 12.00 a second, 3 dropped");
  expect(captionOf({ ...trace, is_traced: false }, true)).toContain("Read of node 0: 1\u202f234 events, no longer traced");
  expect(cellsOf(event, 0, 2e9 + 25_000)).toEqual(["1.00 s", "25.0 µs", "4\u202f096", "100", "7", "8", "1"]);
  expect(cellsOf({ ...event, begin_ns: event.end_ns }, 0, 2e9)[1]).toBe("–");
  expect(cellsOf({ ...event, fields: [-5, 42, 0, 0] }, 2, 2e9).slice(7)).toEqual(["-5", "42"]);
  expect(cellsOf(event, 1, 2e9).slice(7)).toEqual(["0"]);
});
