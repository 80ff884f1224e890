// Who uses the host: now, by a real node; and minutes of the past as made here, because a young node has none.

import { spawn } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { hashOf, hashOfProcesses } from "../src/route.ts";
import type { ProcessTable, ProgramHistory } from "../src/wire.ts";
import { chart, expect, figure, test } from "./fixture.ts";

const MINUTE_MS = 60_000;

/** A program that is busy for a part of the time. */
const BUSY = "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1; done";

function iso(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** Figures of a column in these rows, as they are drawn at one moment. */
async function columnOf(page: Page, rows: string, idx: number): Promise<number[]> {
  const texts = await page.locator(`.processes ${rows}`).evaluateAll((rows, idx) => rows.map((row) => row.children[idx]?.textContent ?? ""), idx);
  return texts.map((text) => (text === "–" ? 0 : Number.parseFloat(text)));
}

/** Has minutes of the past made here, in each of which `leak` has more memory than in the one before. */
async function withMinutes(page: Page): Promise<void> {
  const rows = (ms: number) => [
    { name: "leak", unit: "leak.service", cpu_cores: 0.25, memory_bytes: ms / MINUTE_MS, read_bytes_per_sec: 0, written_bytes_per_sec: 0 },
    { name: "<b>idle", cpu_cores: 0, memory_bytes: 1_024, read_bytes_per_sec: 0, written_bytes_per_sec: 0 },
  ];
  await page.route(/\/processes\?.*\bat=/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const ms = Math.floor(Date.parse(query.get("at") ?? "") / MINUTE_MS) * MINUTE_MS;
    const table: ProcessTable = {
      time: iso(ms),
      span_seconds: 60,
      by: "program",
      sort: query.get("sort") as ProcessTable["sort"],
      rows: rows(ms),
      n_others: 7,
      others: { cpu_cores: 0.5, memory_bytes: 1_024, read_bytes_per_sec: 0, written_bytes_per_sec: 0 },
      short_lived_cores: 0.25,
      n_processes: 9,
      n_measured: null,
      n_left_out: 0,
      previous: iso(ms - MINUTE_MS),
      next: iso(ms + MINUTE_MS),
    };
    return route.fulfill({ json: table });
  });
  await page.route(/\/processes\/history\?/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [from, to] = ["from", "to"].map((name) => Date.parse(query.get(name) ?? "")) as [number, number];
    const times = Array.from({ length: (to - from) / MINUTE_MS }, (_, idx) => from + idx * MINUTE_MS);
    const history: ProgramHistory = {
      sort: query.get("sort") as ProgramHistory["sort"],
      first: iso(from),
      minutes: times.map(iso),
      programs: [{ name: "leak", unit: "leak.service", values: times.map((ms, idx) => (idx === 5 ? null : ms / MINUTE_MS)) }],
    };
    return route.fulfill({ json: history });
  });
}

/** Opens the large view of a signal, and waits for its drawing. */
async function openDrawn(page: Page, url: string, id: string): Promise<{ x: number; y: number; width: number }> {
  await page.goto(url + hashOf(id));
  await expect.poll(() => figure(chart(page), "samples")).toBeGreaterThan(0);
  const box = await chart(page).locator(".u-over").boundingBox();
  return box ?? { x: 0, y: 0, width: 0 };
}

test("rows, others and the short-lived add up to all", async ({ page, node }) => {
  await page.goto(node.url);
  await page.getByRole("banner").getByRole("link", { name: "processes" }).click();
  await expect(page.getByRole("heading", { name: "who uses the host" })).toBeFocused();
  await expect(page.locator(".processes .moment")).toHaveText(/^now, \d+ processes$/);
  // A node that has just begun knows no rates.
  await expect(page.locator(".processes tfoot td").first()).toHaveText("100.0 %");
  for (const idx of [1, 2]) {
    const figures = await columnOf(page, ":is(tbody, tfoot) tr", idx);
    const parts = figures.slice(0, -1);
    // Each is rounded to a tenth of a percent or a hundredth of a core.
    const rounding = (idx === 1 ? 0.05 : 0.005) * figures.length;
    expect(Math.abs(parts.reduce((sum, part) => sum + part, 0) - (figures.at(-1) ?? NaN))).toBeLessThanOrEqual(rounding);
  }
  await page.keyboard.press("Escape");
  await expect(page.getByRole("main", { name: "signals" })).toBeVisible();
});

test("order and grouping are chosen by a click and survive a reload", async ({ page, node }) => {
  await page.goto(node.url + hashOfProcesses());
  const table = page.getByRole("table", { name: "by program, sorted by cpu" });
  await expect(table.getByRole("columnheader", { name: "cpu" })).toHaveAttribute("aria-sort", "descending");
  await page.getByRole("radio", { name: "memory" }).check();
  await page.getByRole("radio", { name: "process", exact: true }).check();
  await page.reload();
  const sorted = page.getByRole("table", { name: "by process, sorted by memory" });
  await expect(sorted.getByRole("columnheader", { name: "memory" })).toHaveAttribute("aria-sort", "descending");
  const shares = await columnOf(page, "tbody tr:not(.sum)", 1);
  expect(shares).toEqual([...shares].sort((left, right) => right - left));
  await page.getByRole("radio", { name: "control group" }).check();
  await expect(page.getByRole("rowheader", { name: /^\// }).first()).toBeVisible();
});

test("a name that another program chose is text, and what cannot be seen in it is escaped", async ({ page, node }) => {
  const folder = await mkdtemp(join(tmpdir(), "foretop-name-"));
  const path = join(folder, "<b>x\u001b[2J\u202e");
  await symlink("/bin/sh", path);
  const child = spawn(path, ["-c", BUSY], { stdio: "ignore" });
  try {
    await page.goto(node.url + hashOfProcesses());
    const name = page.getByRole("rowheader", { name: "<b>x\\u{1b}" });
    await expect(name.locator("bdi").first()).toHaveText("<b>x\\u{1b}[2J\\u{202e}");
    await expect(name.locator("b")).toHaveCount(0);
    await page.getByRole("radio", { name: "process", exact: true }).check();
    await expect(name).toContainText(String(child.pid));
  } finally {
    child.kill();
    await rm(folder, { recursive: true });
  }
});

test("a click into a history shows the programs of that minute, and arrows go to those beside it", async ({ page, node }) => {
  await withMinutes(page);
  const box = await openDrawn(page, node.url, "memory.available");
  await page.mouse.click(box.x + box.width * 0.5, box.y + 50);
  const panel = page.getByRole("region", { name: "who uses the host" });
  const moment = panel.locator(".moment");
  await expect(moment).toHaveText(/^programs in the minute from \d\d:\d\d, 9 processes$/);
  await expect(panel.getByRole("table", { name: "by program, sorted by memory" })).toBeVisible();
  await expect(panel.getByRole("rowheader")).toHaveText(["leak leak.service", "<b>idle", "7 others", "short-lived", "all"]);
  // One of the minutes does not name the program, so its curve has two pieces.
  const curve = panel.getByRole("row", { name: "leak" }).getByRole("img");
  await expect(curve.locator("path").nth(1)).toHaveAttribute("d", /^M[^M]+M[^M]+$/);
  await expect(panel.getByRole("row", { name: "<b>idle" }).getByRole("img")).toHaveCount(0);

  const atMs = () => Date.parse(new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("at") ?? "");
  const clicked = Math.floor(atMs() / MINUTE_MS) * MINUTE_MS;
  for (const [key, expected] of [["ArrowLeft", -1], ["ArrowLeft", -2], ["ArrowRight", -1]] as const) {
    const before = await moment.textContent();
    await page.keyboard.press(key);
    await expect.poll(atMs).toBe(clicked + expected * MINUTE_MS);
    await expect(moment).not.toHaveText(before ?? "");
  }
  await page.reload();
  await expect(moment).toHaveText(/^programs in the minute from/);
  const toggle = page.getByRole("button", { name: "who used the host" });
  await expect(toggle).toHaveAttribute("aria-expanded", "true");
  await toggle.press("Enter");
  await expect(panel).toHaveCount(0);
  await toggle.press("Enter");
  await expect(moment).toHaveText(/^programs in the minute from/);
});

test("a drag over a range does not ask for programs, nor does a click on the forecast", async ({ page, node }) => {
  const box = await openDrawn(page, node.url, "cpu.busy");
  const toggle = page.getByRole("button", { name: "who used the host" });
  await page.mouse.click(box.x + box.width - 5, box.y + 50);
  await expect(toggle).toHaveAttribute("aria-expanded", "false");
  await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60);
  await page.mouse.up();
  await expect.poll(() => figure(chart(page), "from")).toBeGreaterThan(0);
  await expect(toggle).toHaveAttribute("aria-expanded", "false");
});

test("a moment that nothing is kept of has the reason in its place", async ({ page, node }) => {
  const view = { id: "load.1m", atMs: Date.parse("2020-01-01T00:00:00Z") };
  await page.goto(`${node.url}${hashOf(view.id)}?at=${iso(view.atMs)}`);
  const panel = page.getByRole("region", { name: "who uses the host" });
  await expect(panel.getByRole("status")).toHaveText(/^(No minute is kept so far|Programs are kept since \d\d:\d\d\.)/);
  await expect(panel.getByRole("table")).toHaveCount(0);
});

test("a signal that a program pushed has no processes beside it", async ({ page, node }) => {
  await node.push("trial.pushed", [1, 2, 3]);
  await page.goto(node.url + hashOf("trial.pushed"));
  await expect(page.getByRole("link", { name: "warn me" })).toBeVisible();
  await expect(page.getByRole("button", { name: "who used the host" })).toBeHidden();
});

test("processes are asked for only while somebody looks", async ({ page, node }) => {
  let nAsked = 0;
  page.on("request", (request) => (nAsked += /\/processes\?/.test(request.url()) ? 1 : 0));
  const pass = () => page.clock.runFor(10_000);
  const expectAsking = async () => {
    const before = nAsked;
    await expect.poll(async () => (await pass(), nAsked)).toBeGreaterThan(before + 1);
  };
  const expectSilence = async () => {
    // What is under way may still end.
    await pass();
    const before = nAsked;
    await pass();
    await pass();
    expect(nAsked).toBe(before);
  };
  const setHidden = (isHidden: boolean) =>
    page.evaluate((isHidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, value: isHidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
  await page.clock.install();
  await page.goto(node.url + hashOfProcesses());
  await expectAsking();
  await setHidden(true);
  await expectSilence();
  await setHidden(false);
  await expectAsking();
  await page.keyboard.press("Escape");
  await expectSilence();
});
