// The large view of one signal.

import { readFile } from "node:fs/promises";

import type { Page } from "@playwright/test";

import { hashOf } from "../src/route.ts";
import { chart, expect, expectLink, figure, test, tile, wave } from "./fixture.ts";
import type { Node } from "./node.ts";

/** Opens the large view of a signal that this test alone pushes, and waits for its forecast. */
async function openPushed(page: Page, node: Node, id: string): Promise<void> {
  await node.push(id, wave(60));
  await page.goto(node.url + hashOf(id));
  await expect.poll(() => figure(chart(page), "forecast-points")).toBe(60);
}

function radio(page: Page, group: string, option: string) {
  return page.getByRole("group", { name: group }).getByLabel(option, { exact: true });
}

test("a click opens a signal, Back closes it, and a link opens it again", async ({ page, node }) => {
  await page.goto(node.url);
  await tile(page, "load.1m").click();
  await expect(page.getByRole("heading", { name: "load.1m" })).toBeVisible();
  const url = page.url();
  await page.goBack();
  await expect(tile(page, "load.1m")).toBeVisible();
  await expect(page.locator(".detail")).toHaveCount(0);
  await page.goto("about:blank");
  await page.goto(url);
  await expect(page.getByRole("heading", { name: "load.1m" })).toBeVisible();
});

test("a short name in a link opens the signal that it stands for", async ({ page, node }) => {
  await page.goto(node.url + hashOf("cpu.availability.load"));
  await expect(page.getByRole("heading", { name: "cpu.availability.loadavg" })).toBeVisible();
});

test("a link to a signal that is not there says so", async ({ page, node }) => {
  await page.goto(node.url + hashOf("no.such.signal"));
  await expect(page.getByText("there is no signal “no.such.signal” on this node")).toBeVisible();
});

test("the horizon decides how many steps are forecast", async ({ page, node }) => {
  await openPushed(page, node, "trial.horizon");
  for (const [option, nSteps] of [
    ["10 s", 10],
    ["5 min", 300],
    ["30 s", 30],
  ] as const) {
    await radio(page, "horizon", option).check();
    await expect.poll(() => figure(chart(page), "forecast-points")).toBe(nSteps);
  }
});

test("a day ahead is drawn beside a day of the past, and says what it is", async ({ page, node }) => {
  const id = "trial.far";
  await node.push(id, wave(60), "ms", 3_600);
  await page.goto(node.url + hashOf(id));
  await radio(page, "horizon", "7 d").check();
  await expect.poll(() => figure(chart(page), "forecast-points")).toBe(168);
  await expect(radio(page, "history", "7 d")).toBeChecked();
  await expect(page.locator(".note")).toContainText("each value is a mean over 1 h; the band is a guess beyond");
  await radio(page, "horizon", "1 h").check();
  await expect.poll(() => figure(chart(page), "forecast-points")).toBe(1);
  await expect(page.locator(".note")).not.toContainText("a mean over");
});

test("the band of more confidence holds those of less", async ({ page, node }) => {
  await openPushed(page, node, "trial.confidence");
  const ends = await Promise.all(
    ["lower-95", "lower-80", "lower-50", "upper-50", "upper-80", "upper-95"].map((end) => figure(chart(page), end)),
  );
  expect(ends).toEqual([...ends].sort((left, right) => left - right));
  expect(new Set(ends).size).toBe(6);
});

test("the large view goes on with the ticks", async ({ page, node }) => {
  await page.goto(node.url + hashOf("load.1m"));
  await expect(chart(page)).toHaveAttribute("data-origin", /Z$/);
  const before = await chart(page).getAttribute("data-origin");
  await expect(chart(page)).not.toHaveAttribute("data-origin", before ?? "");
});

test("model and accuracy are those that the node tells", async ({ page, node }) => {
  await openPushed(page, node, "trial.model");
  const { model } = await node.get<{ model: string }>("series/trial.model");
  await expect(page.locator(".model dd").first()).toHaveText(model);
  type Answer = { leads: { n: number }[]; residuals: unknown };
  const { leads, residuals } = await node.get<Answer>("series/trial.model/accuracy");
  const rows = page.locator(".accuracy tbody tr");
  await expect(rows).toHaveCount(leads.length);
  const counts = leads.map(({ n }) => (n === 0 ? "none has come due" : String(n)));
  await expect(rows.locator("td:nth-of-type(1)")).toHaveText(counts);
  await expect(page.locator(".accuracy .residuals")).toHaveCount(residuals === null ? 0 : 1);
});

test("what the node said before is laid over the samples, unless a person wants none", async ({ page, node }) => {
  await openPushed(page, node, "trial.said");
  await expect.poll(() => figure(chart(page), "said-before")).toBeGreaterThan(0);
  await expect(radio(page, "past forecasts, made before", "10 s")).toBeChecked();
  await radio(page, "past forecasts, made before", "none").check();
  await expect.poll(() => figure(chart(page), "said-before")).toBe(0);
});

test("what would have been forecast hours before is laid over a day, and held against what came", async ({ page, node }) => {
  await node.push("trial.before", wave(2_880), "ms", 60);
  await page.goto(node.url + hashOf("trial.before"));
  await radio(page, "past forecasts, made before", "6 h").check();
  await radio(page, "history", "1 d").check();
  await expect.poll(() => figure(chart(page), "said-before")).toBeGreaterThan(1_400);
  await expect(page.getByText(/of what was forecast 6 h before, 95 % intervals held \d+(\.\d)? % of 1,4\d\d values, and half were narrower than [\d.]+ ms/)).toBeVisible();
  await expect(page.getByText("forecast made 6 h before, 95 % interval")).toBeVisible();
});

test("accuracy from a few forecasts is a count and no figure", async ({ page, node }) => {
  await node.push("trial.few", wave(4));
  await page.goto(node.url + hashOf("trial.few"));
  await expect(page.locator(".accuracy tbody tr").first()).toHaveText(/^1 s\d forecasts? so far$/);
  await expect(page.locator(".best")).toHaveCount(0);
});

test("horizon, history, range and second signal survive a reload", async ({ page, node }) => {
  await node.push("trial.beside", wave(60));
  await openPushed(page, node, "trial.kept");
  await radio(page, "horizon", "30 s").check();
  await page.getByLabel("second signal").selectOption("trial.beside");
  await expect.poll(() => figure(chart(page), "other-samples")).toBe(60);
  const box = (await chart(page).locator(".u-over").boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 60);
  await page.mouse.up();
  await expect(radio(page, "history", "from – to")).toBeChecked();
  const from = await figure(chart(page), "from");
  expect(from).toBeGreaterThan(Date.now() - 600_000);
  await page.reload();
  await expect.poll(() => figure(chart(page), "forecast-points")).toBe(30);
  expect(await figure(chart(page), "from")).toBe(from);
  await expect(page.getByLabel("second signal")).toHaveValue("trial.beside");
  await page.getByLabel("from", { exact: true }).fill("2026-01-01T00:00:00");
  await page.getByLabel("from", { exact: true }).press("Enter");
  await expect.poll(() => figure(chart(page), "from")).toBe(Date.parse("2026-01-01T00:00:00Z"));
  await radio(page, "history", "10 min").check();
  await expect.poll(() => figure(chart(page), "from")).toBeNaN();
  expect(page.url()).not.toContain("from=");
});

test("nonsense in an address is said, and everything else is shown", async ({ page, node }) => {
  await node.push("trial.nonsense", wave(60));
  const nonsense = "?horizon=10parsecs&history=1h&from=soon&with=%3Cb%3E&x=1";
  await page.goto(node.url + hashOf("trial.nonsense") + nonsense);
  await expect.poll(() => figure(chart(page), "forecast-points")).toBe(60);
  await expect(radio(page, "history", "1 h")).toBeChecked();
  await expect(page.getByRole("status", { name: "ignored" }).getByRole("listitem")).toHaveText([
    /^horizon “10parsecs” .* is ignored/,
    /^from and to “soon” .* is ignored/,
    /^x “1” .* is ignored/,
  ]);
  await expect(page.locator(".note")).toHaveText(/no signal “<b>” in ms/);
  await page.goto(`${node.url}#/no/such/page`);
  await expect(tile(page, "load.1m")).toBeVisible();
  await expect(page.getByRole("status", { name: "ignored" })).toHaveText(/“\/no\/such\/page”/);
});

test("every figure of the accuracy is in sight at 1,200 pixels", async ({ page, node }) => {
  await page.setViewportSize({ width: 1200, height: 900 });
  // Bytes per second take the most room.
  await node.push(
    "trial.wide",
    wave(60).map((value) => value * 3e6),
    "bytes/s",
  );
  await page.goto(node.url + hashOf("trial.wide"));
  const last = page.locator(".accuracy tbody tr").first().locator("td").last();
  await expect(last).toHaveText(/^\d+ %$/);
  const { right, edge } = await last.evaluate((cell) => ({
    right: cell.getBoundingClientRect().right,
    edge: cell.closest(".scroll")?.getBoundingClientRect().right ?? 0,
  }));
  expect(right).toBeLessThanOrEqual(edge);
});

test("a day of history is asked for in means over minutes, and drawn", async ({ page, node }) => {
  await openPushed(page, node, "trial.day");
  const asked = page.waitForRequest(/trial\.day\/samples\?.*step=60s/);
  await radio(page, "history", "1 d").check();
  await asked;
  await expect.poll(() => figure(chart(page), "samples")).toBeGreaterThan(0);
});

test("the CSV has every sample and every step of the forecast", async ({ page, node }) => {
  await openPushed(page, node, "trial.csv");
  await expect.poll(() => figure(chart(page), "samples")).toBe(60);
  const waiting = page.waitForEvent("download");
  await page.getByRole("link", { name: "CSV" }).click();
  const download = await waiting;
  expect(download.suggestedFilename()).toMatch(/_trial\.csv_.*\.csv$/);
  const rows = (await readFile(await download.path(), "utf8")).trim().split("\n");
  expect(rows[0]).toBe("time,measured,forecast,standard_error,lower,upper,confidence");
  expect(rows.filter((row) => /Z,[\d.]+,,,,,$/.test(row))).toHaveLength(60);
  expect(rows.filter((row) => row.endsWith(",0.95"))).toHaveLength(60);
});

test("the keyboard alone filters, opens, changes the horizon and closes", async ({ page, node }) => {
  await page.goto(node.url);
  await expectLink(page, /^live$/);
  await expect(tile(page, "load.1m")).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("load");
  await page.keyboard.press("Enter");
  const first = page.locator(".tile:visible").first();
  await expect(first).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator(".tile:visible").nth(1)).toBeFocused();
  await page.keyboard.press("ArrowLeft");
  await expect(first).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator(".detail h2")).toBeFocused();
  await expect.poll(() => figure(chart(page), "forecast-points")).toBe(60);
  await page.keyboard.press("Tab");
  await expect(radio(page, "horizon", "1 min")).toBeFocused();
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => figure(chart(page), "forecast-points")).toBe(30);
  await page.keyboard.press("Escape");
  await expect(first).toBeFocused();
});
