import { expect, test } from "vitest";

import { causeText, linesOf, linesOfDays, noteOf, hashOfSubject } from "../src/ahead.ts";
import type { Exhaustion, Warning, Warnings } from "../src/wire.ts";

const rule = (name: string, probability: number | null, more: Partial<Warning> = {}): Warning => ({
  name,
  id: "load.1m",
  statement: "load.1m > 3",
  within_seconds: 1800,
  probability,
  stands: false,
  ...more,
});

const warnings = (more: Partial<Warnings>): Warnings => ({
  at: "2026-01-01T00:00:00Z",
  rules: [],
  excursions: [],
  n_too_young: 0,
  ...more,
});

test("what stands comes first, what is improbable not at all", () => {
  const rules = [rule("likely", 0.7), rule("calm", 0.05), rule("stands", 0.6, { stands: true })];
  const lines = linesOf(warnings({ rules }), 0);
  expect(lines.map(({ what, stands }) => [what, stands])).toEqual([
    ["stands", true],
    ["likely", false],
  ]);
  expect(lines[1]?.says).toBe("load.1m > 3 within 30 min: 70 %");
});

test("a rule about several signals leads to the rules", () => {
  expect(hashOfSubject("filesystem./var.used")).toBe("#/signal/filesystem.%2Fvar.used");
  expect(hashOfSubject("cpu.user + cpu.system")).toBe("#/rules");
});

test("a rule that cannot be asked says why", () => {
  const lines = linesOf(warnings({ rules: [rule("lost", null, { problem: "there is no series `x`" })] }), 0);
  expect(lines.map(({ says }) => says)).toEqual(["there is no series `x`"]);
});

test("an excursion says how seldom it is", () => {
  const after = { p10_seconds: 300, p50_seconds: 7200, p90_seconds: null };
  const excursion = { id: "a", unit: "ratio", rises: true, line: 0.9, within_seconds: 21_600, probability: 0.8, base_rate: 0.1, after };
  const [line] = linesOf(warnings({ excursions: [excursion] }), 0);
  expect(line?.says).toMatch(/^rises above .* within 6 h: 80 % \(50 % in 2 h\), otherwise 10 %$/);
});

test("a warning names who made it stand, with what cannot be seen in a name escaped", () => {
  const culprit = { name: "a\u202eb", kind: "program" as const, ratio: 0.923, pid: 4411, since: "1970-01-01T00:00:00Z" };
  const cause = { resource: "memory" as const, measure: "slope" as const, change: 1, culprit };
  const [line] = linesOf(warnings({ rules: [rule("stands", 1, { stands: true, cause })] }), 0);
  expect(line?.cause).toMatch(/^92 % of the rise in memory use: a\\u\{202e\}b \(pid 4411\), since \d/);
  expect(causeText({ ...cause, culprit: null }, 0)).toBe("");
});

test("when there is nothing, that is said", () => {
  expect(noteOf(warnings({}), 0)).toBe("Nothing is likely to go wrong.");
  expect(noteOf(warnings({ rules: [rule("calm", 0)] }), 0)).toBe("Nothing is likely to go wrong, by any rule.");
  expect(noteOf(warnings({ at: null }), 0)).toBe("The node has not looked ahead yet.");
});

test("what runs out within days has a line, unless it has one already or is exhausted", () => {
  const at = new Date(2026, 10, 30, 6);
  const resource = (id: string, more: Partial<Exhaustion> = {}): Exhaustion => ({
    id,
    unit: "ratio",
    rises: true,
    line: 0.95,
    is_exhausted: false,
    within_seconds: 1_209_600,
    probability: 0.93,
    after: { p10_seconds: 172_800, p50_seconds: 259_200, p90_seconds: null },
    origin: at.toISOString(),
    step_seconds: 3_600,
    ...more,
  });
  const never = { p10_seconds: 172_800, p50_seconds: null, p90_seconds: null };
  const resources = [resource("a", { is_exhausted: true }), resource("soon"), resource("soonest"), resource("c", { after: never })];
  const excursion = { id: "soonest", unit: "ratio", rises: true, line: 0.95, within_seconds: 1, probability: 1, base_rate: 0, after: never };
  const lines = linesOfDays(resources, warnings({ excursions: [excursion] }));
  expect(lines.map(({ what, says }) => `${what} ${says}`)).toEqual([
    "soon rises above 95.0 % at 2026-12-03 07:00 (80 %: 2026-12-02 07:00 to later), 93 % by 2026-12-14 07:00",
  ]);
});
