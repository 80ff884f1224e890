import { expect, test } from "vitest";

import { ApiError } from "../src/api.ts";
import { acknowledgedText, BLANK, faultIn, faultOf, formOf, standingOf, statementOf, textOf, triedText } from "../src/rule.ts";
import { noteOf } from "../src/rules.ts";
import type { Rule, TriedRule, Warning, Warnings } from "../src/wire.ts";

const RULE: Rule = { name: "full", when: "load.1m > 3", within: "30m", for: "5m", raise: 0.8, clear: 0.5, from: "page" };

const tried = (more: Partial<TriedRule>): TriedRule => ({
  past_seconds: 604_800,
  n_warned: 7,
  n_right: 6,
  n_late: 0,
  n_events: 8,
  n_foreseen: 6,
  ahead_median_seconds: 2_475,
  ...more,
});

test("a form makes the rule that it was filled with, and leaves out what is empty", () => {
  expect(textOf(formOf(RULE))).toEqual({ when: "load.1m > 3", within: "30m", for: "5m", raise: 0.8, clear: 0.5 });
  const quiet = { ...RULE, quiet: ["Mon-Fri 22:00-06:00", "Sat Sun"] };
  expect(textOf(formOf(quiet)).quiet).toEqual(quiet.quiet);
  expect(statementOf(quiet)).toBe("load.1m > 3 for 5m within 30m, quiet Mon-Fri 22:00-06:00, Sat Sun");
  const sparse = { ...BLANK, when: "load.1m > 3", raise: " ", clear: "" };
  expect(textOf(sparse)).toEqual({ when: "load.1m > 3", within: "30min" });
});

test("an acknowledgement has a name only if one was given", () => {
  const at = "2026-11-24T06:20:00Z";
  const text = (warning: Partial<Warning>) => acknowledgedText(warning as Warning, Date.parse(at));
  expect(text({})).toBe("");
  expect(text({ acknowledged: { at } })).toMatch(/^acknowledged \d/);
  expect(text({ acknowledged: { at, by: "ana" } })).toMatch(/^acknowledged by ana \d/);
});

test("what the node need not be asked about is found before", () => {
  const form = { ...BLANK, name: "full", when: "load.1m > 3" };
  expect(faultIn(form, ["other"])).toBeNull();
  expect(faultIn(form, ["full"])).toEqual({ field: "name", message: "there is a rule “full”; edit that one, or choose another name" });
  expect(faultIn({ ...form, name: " " }, [])?.field).toBe("name");
  for (const name of ["try", ".", ".."]) expect(faultIn({ ...form, name }, [])?.message).toContain("cannot be called");
  expect(faultIn({ ...form, name: "" })).toBeNull();
  expect(faultIn({ ...form, when: " " })?.field).toBe("when");
  expect(faultIn({ ...form, clear: "half" })).toEqual({ field: "clear", message: "“half” is not a number; write one from 0 to 1, such as 0.8" });
});

test("a refusal stands beside the field that is meant", () => {
  const field = (code: string, of: string | null) => faultOf(new ApiError(400, code, "why", of)).field;
  expect(field("bad_body", "within")).toBe("within");
  expect(field("bad_body", "rule.for")).toBe("for");
  expect(field("conflict", "name")).toBe("name");
  expect(field("unknown_series", null)).toBe("when");
  expect(field("not_ready", null)).toBeNull();
  expect(field("bad_body", "past")).toBeNull();
});

test("a trial is told in a sentence or two", () => {
  expect(triedText(tried({}))).toBe(
    "Over the past 7 d this rule would have warned 7 times, 6 of them rightly, 41 min ahead at the median. It happened 8 times, twice unwarned.",
  );
  expect(triedText(tried({ n_warned: 1, n_right: 1, n_events: 1, n_foreseen: 1, past_seconds: 36_000 }))).toBe(
    "Over the 10 h that the node knows this rule would have warned once, rightly, 41 min ahead at the median. It happened once, never unwarned.",
  );
  const silent = tried({ n_warned: 0, n_right: 0, n_events: 0, n_foreseen: 0, ahead_median_seconds: null });
  expect(triedText(silent)).toBe("Over the past 7 d this rule would not have warned. It did not happen.");
  expect(triedText({ ...silent, past_seconds: 1_260 })).toContain("too little history to try this: the node knows 21 min of it");
  expect(triedText({ ...silent, n_warned: 2 })).toContain("would have warned twice, never rightly. It did not happen.");
  expect(triedText(tried({ n_right: 4, n_late: 2 }))).toContain("7 times, 4 of them rightly, 2 too late, 41 min");
  expect(triedText(tried({ n_right: 7 }))).toContain("would have warned 7 times, each time rightly, 41 min");
  expect(triedText({ ...silent, n_events: 3 })).toContain("would not have warned. It happened 3 times, each time unwarned.");
  expect(triedText({ ...silent, n_events: 1 })).toContain("It happened once, unwarned.");
});

test("a rule that was changed since the last look has no standing", () => {
  const warning: Warning = { name: "full", id: "load.1m", statement: "load.1m > 3", within_seconds: 1800, probability: 0.7, stands: false };
  const warnings: Warnings = { at: null, rules: [warning], excursions: [], n_too_young: 0 };
  expect(standingOf(RULE, warnings)).toBe(warning);
  expect(standingOf({ ...RULE, when: "load.1m > 4" }, warnings)).toBeNull();
  expect(statementOf(RULE)).toBe("load.1m > 3 for 5m within 30m");
  expect(noteOf({ rules: [], toml: "", is_kept: false }, warnings)).toContain("no data folder");
  expect(noteOf({ rules: [], toml: "", is_kept: true }, warnings)).toBe("");
});
