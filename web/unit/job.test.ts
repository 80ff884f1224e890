import { expect, test } from "vitest";

import { planOf } from "../src/arrivals.ts";
import { aboutText } from "../src/job.ts";
import { ticksOf } from "../src/pathmap.ts";
import type { MpiAnalysis, MpiContributor } from "../src/wire.ts";

function contributor(name: string, node: number | null, lastRatio: number): MpiContributor {
  return { name, node, n_last: lastRatio * 10, last_ratio: lastRatio, hop_seconds: null };
}

const ANALYSIS: MpiAnalysis = {
  tree: "small",
  flow: "all",
  n_calls: 10,
  operations: { MPI_Allreduce: 10 },
  n_incomplete: 0,
  n_disordered: 0,
  slowest_seconds: 1e-4,
  culprit: null,
  last_arrivals: [
    { node: 0, contributor: 1 },
    { node: 1, contributor: 0 },
  ],
  nodes: [
    { name: "root", host: "a", parent: null, contributors: [contributor("rank 0", null, 0.1), contributor("low", 1, 0.9)] },
    { name: "low", host: "b", parent: 0, contributors: [contributor("rank 1", null, 0.8), contributor("rank 2", null, 0.2)] },
  ],
  paths: [],
  groups: [],
  hints: [],
  slow: [],
};

test("each rank of a tree has a place of its own, and each node is amid its contributors", () => {
  const { nodes, edges, width } = planOf(ANALYSIS);
  const x = (name: string) => edges.find(({ contributor }) => contributor.name === name)?.from.x ?? NaN;
  const leaves = ["rank 0", "rank 1", "rank 2"].map(x);
  expect(leaves).toEqual(leaves.toSorted((a, b) => a - b));
  expect(new Set(leaves).size).toBe(3);
  expect(Math.max(...leaves)).toBeLessThan(width);
  expect(nodes.map((node) => node.x)).toEqual([(x("rank 0") + x("low")) / 2, (x("rank 1") + x("rank 2")) / 2]);
  expect(edges.filter(({ isHeaviest }) => isHeaviest).map(({ contributor }) => contributor.name)).toEqual(["rank 1", "low"]);
});

test("a hop slower than expected marks its edge, and a wait for others marks nothing", () => {
  const times = { mean_seconds: 3e-4, expected_seconds: 1e-4, upper_seconds: 2e-4, ago_seconds: 0 };
  const hop = { part: "hop", node: 0, contributor: 1, is_wait: false, ...times };
  const wait = { part: "arrival wait", node: 0, contributor: 0, is_wait: true, ...times };
  const { edges } = planOf({ ...ANALYSIS, slow: [hop, wait] });
  expect(edges.filter(({ slow }) => slow !== null).map(({ contributor, slow }) => [contributor.name, slow])).toEqual([["low", hop]]);
});

test("ticks are round, few, and one of them is the root", () => {
  expect(ticksOf(-3.1e-4, 1.2e-4, 5)).toEqual([-3, -2, -1, 0, 1].map((at) => expect.closeTo(at * 1e-4, 12)));
  expect(ticksOf(0, 0, 5)).toEqual([0]);
  for (const n of [1, 2, 3, 8]) expect(ticksOf(-1, 6, n).length).toBeLessThanOrEqual(n + 1);
});

test("what a job is, is said in a line", () => {
  const job = { job: "j", program: "heat", library: "MPICH", n_ranks: 8, ranks: [0, 1], is_running: true, trees: [], n_records: 0, problems: [] };
  const text = aboutText({ ...job, since: new Date().toISOString() });
  expect(text).toMatch(/^running, 2 of 8 ranks on this host, since \d\d:\d\d:\d\d · MPICH$/);
});
