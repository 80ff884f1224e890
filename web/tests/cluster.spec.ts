// One page for several hosts: a node that follows another's stream.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test, tile } from "./fixture.ts";
import { Node } from "./node.ts";

test("the signals of a followed host stand in groups of their own, and can be shown alone", async ({ page }) => {
  const folder = await mkdtemp(join(tmpdir(), "foretop-stream-"));
  const stream = `unix:${folder}/stream`;
  const follow = join(folder, "follow.toml");
  await writeFile(follow, `[[follow]]\nendpoint = "source:${stream}"\nname = "db1"\nmatch = ["load.*", "cpu.busy"]\n`);
  const sender = await Node.start("--stream", `connect:${stream}`);
  const follower = await Node.start("--config", follow);
  try {
    await page.goto(follower.url);
    const theirs = tile(page, "db1/load.1m");
    // Only what is in view is drawn.
    await theirs.scrollIntoViewIfNeeded();
    await expect(theirs.locator(".value")).toHaveText(/^\d+\.\d\d tasks$/);
    await expect(theirs.locator(".name")).toHaveText("1m");
    await expect(page.getByRole("region", { name: "db1 · load" })).toBeVisible();
    await page.getByRole("radio", { name: "db1", exact: true }).check();
    await expect(theirs).toBeVisible();
    await expect(tile(page, "load.1m")).toBeHidden();
    await page.getByRole("radio", { name: "this one", exact: true }).check();
    await expect(theirs).toBeHidden();
    await expect(tile(page, "load.1m")).toBeVisible();
    await page.getByRole("radio", { name: "all", exact: true }).check();
    await theirs.click();
    await expect(page.locator(".detail h2")).toHaveText("db1/load.1m");
    // The follower has its own processes, not those of the other host.
    await expect(page.getByRole("link", { name: "warn me" })).toBeVisible();
    await expect(page.getByRole("button", { name: "who used the host" })).toBeHidden();
  } finally {
    await follower.dispose();
    await sender.dispose();
    await rm(folder, { recursive: true, force: true });
  }
});

test("a node that follows nobody has no hosts to choose from", async ({ page, node }) => {
  await page.goto(node.url);
  await expect(tile(page, "load.1m")).toBeVisible();
  await expect(page.getByRole("group", { name: "host" })).toHaveCount(0);
});
