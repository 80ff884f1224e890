import { expect, test } from "vitest";

import { headingOf, linesOf, namePartsOf, noMinuteText, orderFor, otherMinuteText, remarksOf } from "../src/process.ts";
import type { ProcessTable } from "../src/wire.ts";

const HOST_MINUTE: ProcessTable = {
  time: "2026-11-21T09:10:00Z",
  span_seconds: 60,
  by: "program",
  sort: "cpu",
  rows: [
    { name: "postgres", cpu_cores: 0.5, memory_bytes: 1_000, read_bytes_per_sec: 0, written_bytes_per_sec: 1_024 },
    { name: "cp", cpu_cores: 0.25, memory_bytes: 1_000, read_bytes_per_sec: 0, written_bytes_per_sec: 0 },
  ],
  n_others: 57,
  others: { cpu_cores: 0.125, memory_bytes: 2_000, read_bytes_per_sec: 0, written_bytes_per_sec: 0 },
  short_lived_cores: 0.125,
  n_processes: 312,
  n_measured: null,
  n_left_out: 0,
  previous: "2026-11-21T09:09:00Z",
  next: "2026-11-21T09:11:00Z",
};
const T0 = Date.parse(HOST_MINUTE.time);

test("rows, others and the short-lived add up to all, and their shares to one", () => {
  const lines = linesOf(HOST_MINUTE);
  expect(lines.map(({ user }) => (typeof user === "string" ? user : user.name))).toEqual(["postgres", "cp", "57 others", "short-lived", "all"]);
  expect(lines.map(({ use }) => use.cpu)).toEqual([0.5, 0.25, 0.125, 0.125, 1]);
  expect(lines.map(({ share }) => share)).toEqual([0.5, 0.25, 0.125, 0.125, 1]);
  expect(lines.at(-1)?.use).toEqual({ cpu: 1, memory: 4_000, read: 0, written: 1_024 });
});

test("shares are of the resource that the table is sorted by, and unknown where that is unused or unknown", () => {
  expect(linesOf({ ...HOST_MINUTE, sort: "memory" }).map(({ share }) => share)).toEqual([0.25, 0.25, 0.5, null, 1]);
  expect(linesOf({ ...HOST_MINUTE, sort: "read" }).map(({ share }) => share)).toEqual([null, null, null, null, null]);
});

test("what cannot be seen in a name is a piece of its own", () => {
  const shown = (name: string) => namePartsOf(name).map(({ isEscape, text }) => (isEscape ? `[${text}]` : text)).join("");
  expect(shown("a\n\u001b[2J")).toBe("a[\\n][\\u{1b}][2J");
  expect(shown("\u202egpj.exe\u2028")).toBe("[\\u{202e}]gpj.exe[\\u{2028}]");
  expect(shown("node exporter ")).toBe("node exporter[\\u{20}]");
  expect(shown("system-a\\x2db.slice")).toBe("system-a\\x2db.slice");
  expect(shown("<b>ü漢")).toBe("<b>ü漢");
});

test("a signal has the order that explains it", () => {
  const orders = ["cpu.busy", "load.1m", "memory.available", "swap.used", "cgroup.memory.used", "disk.sda.read", "disk.sda.written", "filesystem./.free", "net.eth0.received"].map(orderFor);
  expect(orders).toEqual(["cpu", "cpu", "memory", "memory", "memory", "read", "written", "written", "cpu"]);
});

test("a table says what it is of, and what it does not cover", () => {
  expect(headingOf(HOST_MINUTE, T0)).toMatch(/^programs in the minute from \d\d:\d\d, 312 processes$/);
  expect(headingOf({ ...HOST_MINUTE, span_seconds: 33.6 }, T0)).toMatch(/, measured over 34 s$/);
  expect(headingOf({ ...HOST_MINUTE, span_seconds: null }, T0)).toBe("now, 312 processes");
  expect(remarksOf(HOST_MINUTE)).toEqual([]);
  const partial = { ...HOST_MINUTE, span_seconds: null, n_measured: 12, n_left_out: 1, short_lived_cores: null, sort: "memory" as const };
  expect(remarksOf({ ...partial, others: { ...HOST_MINUTE.others, read_bytes_per_sec: null } })).toEqual([
    "Rates of 300 of 312 processes are unknown until their second read.",
    "The last scan left out 1 process for lack of time; older figures stand in.",
    "CPU time of short-lived processes is unknown, because the node may not see all processes.",
    "The node may not see the disk use of every process; “all” sums up what is known.",
    "Memory is resident memory; pages that processes share count for each of them.",
  ]);
});

test("another minute than the one asked for is named as such", () => {
  expect(otherMinuteText(T0 + 59_999, HOST_MINUTE, T0)).toBe("");
  expect(otherMinuteText(T0 + 60_000, { ...HOST_MINUTE, next: null }, T0)).toMatch(/^The minute from \d\d:11 is not stored yet/);
  expect(otherMinuteText(T0 + 120_000, HOST_MINUTE, T0)).toMatch(/^Nothing was measured at \d\d:12/);
  const history = { sort: "cpu" as const, first: HOST_MINUTE.time, minutes: [], programs: [] };
  expect(noMinuteText(history, T0)).toMatch(/^Programs are kept since \d\d:10\.$/);
  expect(noMinuteText({ ...history, first: null }, T0)).toContain("No minute is kept so far");
});
