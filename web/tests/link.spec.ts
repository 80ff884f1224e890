// The connection: a node that dies and comes back, and one that wants a token.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, expectLink, figure, test, tile } from "./fixture.ts";
import { Node } from "./node.ts";

test("a node that is killed is missed, and found again with its history", async ({ page }) => {
  const node = await Node.start();
  try {
    await page.goto(node.url);
    const load = tile(page, "load.1m");
    await expect.poll(() => figure(load, "samples")).toBeGreaterThan(5);

    await node.kill();
    await expectLink(page, /^(reconnecting|gone)$/);
    await expect(page.locator(".state")).toHaveText(/reconnecting, last heard \d\d:|node gone since \d\d:/);
    const before = await figure(load, "samples");
    await expect(load).toHaveClass(/stale/);

    await node.run();
    await expectLink(page, /^live$/);
    await expect(page.locator(".state")).toHaveText("live");
    await expect.poll(() => figure(load, "samples")).toBeGreaterThan(before);
    await expect(load).not.toHaveClass(/stale/);

    // The page that is opened afterwards has only what the node stored, which is all but the last second.
    await page.reload();
    await expect.poll(() => figure(load, "samples")).toBeGreaterThanOrEqual(before - 1);
  } finally {
    await node.dispose();
  }
});

test("an open signal goes on when its node is back", async ({ page }) => {
  const node = await Node.start();
  try {
    await page.goto(node.url);
    await tile(page, "load.1m").click();
    const drawn = page.locator(".chart");
    await expect(drawn).toHaveAttribute("data-origin", /Z$/);
    await node.kill();
    await expectLink(page, /^(reconnecting|gone)$/);
    const before = await drawn.getAttribute("data-origin");
    await node.run();
    await expect(drawn).not.toHaveAttribute("data-origin", before ?? "");
    await expect(page.getByRole("heading", { name: "load.1m" })).toBeVisible();
  } finally {
    await node.dispose();
  }
});

test("a node with a token is asked with the one that the person gives", async ({ page }) => {
  const folder = await mkdtemp(join(tmpdir(), "foretop-token-"));
  const file = join(folder, "token");
  await writeFile(file, "right-token-of-the-test\n", { mode: 0o600 });
  const node = await Node.start("--token-file", file);
  try {
    await page.goto(node.url);
    await expect(page.getByText("answers only those who have its token")).toBeVisible();
    await page.getByLabel("token", { exact: true }).fill("wrong");
    await page.getByLabel("token", { exact: true }).press("Enter");
    await expect(page.getByText("The node refused this token.")).toBeVisible();
    await page.getByLabel("token", { exact: true }).fill("right-token-of-the-test");
    await page.getByRole("button", { name: "use token" }).click();
    await expectLink(page, /^live$/);
    await expect.poll(() => figure(tile(page, "load.1m"), "samples")).toBeGreaterThan(0);
    await page.reload();
    await expectLink(page, /^live$/);
  } finally {
    await node.dispose();
    await rm(folder, { recursive: true });
  }
});
