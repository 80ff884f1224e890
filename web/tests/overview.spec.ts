// The small multiples.

import type { SeriesList } from "../src/wire.ts";
import { expect, expectLink, figure, test, tile, wave } from "./fixture.ts";
import { Node } from "./node.ts";

test("the page opens, names the host, and values arrive", async ({ page, node }) => {
  await page.goto(node.url);
  await expectLink(page, /^live$/);
  const { node: info } = await node.get<SeriesList>("series");
  await expect(page).toHaveTitle(`${info.host} · Foretop`);
  const load = tile(page, "load.1m");
  await expect(load.locator(".value")).toHaveText(/^\d+\.\d\d tasks$/);
  await expect.poll(() => figure(load, "samples")).toBeGreaterThan(1);
});

test("a minute after its start a node's tiles are full of samples from before the page was opened", async ({
  page,
}) => {
  // At a tenth of a second a minute's worth of samples is there in six seconds.
  const node = await Node.start("--every", "100ms");
  try {
    await node.reach("load.1m", 60);
    const { node: info } = await node.get<SeriesList>("series");
    // No tick comes, so that what is drawn is history.
    const body = `event: hello\ndata: ${JSON.stringify({ node: info })}\n\n`;
    await page.route("**/api/v1/events?*", (route) => route.fulfill({ contentType: "text/event-stream", body }));
    await page.goto(node.url);
    await expect.poll(() => figure(tile(page, "load.1m"), "samples")).toBeGreaterThanOrEqual(60);
  } finally {
    await node.dispose();
  }
});

test("what was zero all along is folded away with its number, until it moves", async ({ page, node }) => {
  await node.push("trial.zero", [0, 0, 0, 0]);
  await node.push("trial.moves", [0, 0, 0, 0]);
  await page.goto(node.url);
  const fold = page.getByRole("region", { name: "pushed" }).locator("summary");
  await expect(fold).toHaveText(/^\d+ at zero$/);
  await expect(tile(page, "trial.moves")).toBeHidden();
  await node.feed("trial.moves", 3);
  await expect(tile(page, "trial.moves")).toBeVisible();
  await expect(tile(page, "trial.zero")).toBeHidden();
  await fold.click();
  await expect(tile(page, "trial.zero")).toBeVisible();
});

test("a signal that surprised its forecast is shown first, with the reason", async ({ page }) => {
  // What a busy host does surprises as well, and there is room for few.
  const node = await Node.start("--only", "load.15m");
  try {
    await node.push("trial.jump", wave(60));
    await page.goto(node.url);
    await expect.poll(() => page.locator(".worth").textContent()).not.toContain("waiting");
    for (let n = 0; n < 12; n += 1) await node.feed("trial.jump", 50);
    const shown = page.locator('.worth .tile[data-signal="trial.jump"]');
    // It stays where it jumped to: a greater jump would make this one small. Without further samples it would be shown for that.
    await expect(async () => {
      await node.feed("trial.jump", 5_000);
      await expect(shown.locator(".scale")).toHaveText(/unexpected|likely to fall/, { timeout: 1_000 });
    }).toPass();
  } finally {
    await node.dispose();
  }
});

test("a group is folded away by its name, and the filter finds what is in it", async ({ page, node }) => {
  await page.goto(node.url);
  const name = page.getByRole("button", { name: /^load \d+$/ });
  await expect(tile(page, "load.1m")).toBeVisible();
  await name.click();
  await expect(tile(page, "load.1m")).toBeHidden();
  await page.getByRole("searchbox").fill("load.1m");
  await expect(tile(page, "load.1m")).toBeVisible();
  await page.reload();
  await expect(page.getByRole("searchbox")).toHaveValue("load.1m");
  await expect(tile(page, "load.1m")).toBeVisible();
  await expect(tile(page, "cpu.busy")).toBeHidden();
});

test("a question mark shows the keys", async ({ page, node }) => {
  await page.goto(node.url);
  await expectLink(page, /^live$/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "keys" })).toContainText("filter the signals");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("every signal of the node has a tile", async ({ page, node }) => {
  await page.goto(node.url);
  const { series } = await node.get<SeriesList>("series");
  const sensors = series.filter(({ source }) => source === "sensor").map(({ id }) => id);
  await expect(tile(page, "load.1m")).toBeVisible();
  const shown = await page.locator(".tile").evaluateAll((tiles) => tiles.map((found) => found.dataset["signal"]));
  expect(sensors.filter((id) => !shown.includes(id))).toEqual([]);
});

test("the forecast of a sensor moves on with the ticks", async ({ page, node }) => {
  await page.goto(node.url);
  const load = tile(page, "load.1m");
  await expect(load).toHaveAttribute("data-origin", /Z$/);
  const before = await load.getAttribute("data-origin");
  await expect(load).not.toHaveAttribute("data-origin", before ?? "");
  expect(await figure(load, "upper")).toBeGreaterThanOrEqual(await figure(load, "lower"));
});

test("the band follows what is measured", async ({ page, node }) => {
  await node.push("trial.band", wave(40));
  await page.goto(node.url);
  const band = tile(page, "trial.band");
  // Only what is in view is kept up to date, and signals that come to stand above push it out of there.
  const upper = async () => {
    await band.scrollIntoViewIfNeeded();
    return figure(band, "upper");
  };
  // A fit that ends after the page has asked is shown with the next sample.
  await expect(async () => {
    await node.feed("trial.band", 1);
    expect(await upper()).toBeGreaterThan(0);
  }).toPass();
  const before = await upper();
  await node.feed("trial.band", 5_000);
  await expect.poll(upper).toBeGreaterThan(before + 100);
  await expect(band).toHaveAttribute("aria-label", /^trial\.band: .*; forecast in /);
});

test("a signal made while the page is open appears", async ({ page, node }) => {
  await page.goto(node.url);
  await expectLink(page, /^live$/);
  await node.push("trial.later", wave(5));
  await expect(tile(page, "trial.later")).toBeVisible();
});

test("a signal without samples says since when", async ({ page, node }) => {
  await node.push("trial.stale", wave(5));
  await page.goto(node.url);
  // What comes above it may push it out of view again, where nothing is drawn.
  await expect(async () => {
    await tile(page, "trial.stale").scrollIntoViewIfNeeded();
    await expect(tile(page, "trial.stale")).toHaveClass(/stale/, { timeout: 2_000 });
  }).toPass();
  await expect(tile(page, "trial.stale").locator(".scale")).toHaveText(/no sample since \d\d:\d\d:\d\d/);
});

test("a hostile name is text and executes nothing", async ({ page, node }) => {
  const id = "<img src=x onerror=document.title=1>";
  await node.push(id, wave(5), "<b>x</b>");
  await page.goto(node.url);
  const hostile = tile(page, id);
  await expect(hostile.locator(".name")).toHaveText(id);
  await hostile.click();
  await expect(page.locator(".detail h2")).toHaveText(id);
  await expect(page).toHaveTitle(new RegExp("onerror"));
  await expect(page.locator(".detail .value small")).toHaveText("<b>x</b>");
  expect(await page.locator("img, b b, .tile img").count()).toBe(0);
});

test("cores are folded away until asked for", async ({ page, node }) => {
  await page.goto(node.url);
  const core = tile(page, "cpu.0.busy");
  await expect(core).toBeHidden();
  await page.getByText("per core").click();
  await core.scrollIntoViewIfNeeded();
  await expect.poll(() => figure(core, "samples")).toBeGreaterThan(0);
});

test("the filter finds what is folded away, and hides the rest", async ({ page, node }) => {
  await page.goto(node.url);
  await expect(tile(page, "load.1m")).toBeVisible();
  await page.getByRole("searchbox").fill("cpu.0 busy");
  await expect(tile(page, "cpu.0.busy")).toBeVisible();
  await expect(tile(page, "load.1m")).toBeHidden();
  await page.getByRole("searchbox").fill("nothing is called so");
  await expect(page.getByText("no signal matches")).toBeVisible();
});

test("a phone has no horizontal scroll", async ({ page, node }) => {
  await node.push(`trial.${"long".repeat(20)}`, wave(5), "bottles/fortnight");
  await page.setViewportSize({ width: 360, height: 760 });
  await page.goto(node.url);
  await expect(tile(page, "load.1m")).toBeVisible();
  const excess = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(await excess()).toBe(0);
  await tile(page, "load.1m").click();
  await expect(page.locator(".accuracy table")).toBeVisible();
  expect(await excess()).toBe(0);
});

test("the colours follow the system, and the choice of the person over it", async ({ page, node }) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const brightness = async () => Number(/\d+/.exec(await ground())?.[0]);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(node.url);
  await expect(tile(page, "load.1m")).toBeVisible();
  expect(await brightness()).toBeLessThan(60);
  await page.getByRole("button", { name: "colours: auto" }).click();
  await expect.poll(brightness).toBeGreaterThan(200);
  await page.reload();
  await expect(page.getByRole("button", { name: "colours: light" })).toBeVisible();
  expect(await brightness()).toBeGreaterThan(200);
});
