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

test("more confidence is a wider band", async ({ page, node }) => {
  await openPushed(page, node, "trial.confidence");
  const width = async () => (await figure(chart(page), "upper")) - (await figure(chart(page), "lower"));
  let before = 0;
  for (const option of ["50 %", "80 %", "95 %", "99 %"]) {
    await radio(page, "confidence", option).check();
    await expect.poll(width).toBeGreaterThan(before);
    before = await width();
  }
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
  const { leads } = await node.get<{ leads: { n: number }[] }>("series/trial.model/accuracy");
  const rows = page.locator(".accuracy tbody tr");
  await expect(rows).toHaveCount(leads.length);
  const counts = leads.map(({ n }) => (n === 0 ? "–" : String(n)));
  await expect(rows.locator("td:nth-of-type(1)")).toHaveText(counts);
});

test("what the node said before is laid over the samples", async ({ page, node }) => {
  await openPushed(page, node, "trial.said");
  expect(await figure(chart(page), "said-before")).toBe(0);
  await radio(page, "said before", "1 s").check();
  await expect.poll(() => figure(chart(page), "said-before")).toBeGreaterThan(0);
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
