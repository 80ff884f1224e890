// What is wrong with the node, as the page says it.

import { expect, expectLink, test, tile } from "./fixture.ts";
import { Node } from "./node.ts";

interface Health {
  problems: string[];
  absent: { signal: string; reason: string }[];
}

async function healthOf(node: Node): Promise<Health> {
  const response = await fetch(`${node.url}healthz`);
  return (await response.json()) as Health;
}

test("absent sensors are named as the node names them", async ({ page, node }) => {
  const { absent } = await healthOf(node);
  await page.goto(node.url);
  await expectLink(page, /^live$/);
  await expect(page.locator(".absent dt")).toHaveText(absent.map(({ signal }) => signal));
  await expect(page.locator(".absent dd")).toHaveText(absent.map(({ reason }) => reason));
});

test("a full disk is said while it lasts, and the signals go on", async ({ page }) => {
  const node = await Node.start();
  try {
    await page.goto(node.url);
    await expectLink(page, /^live$/);
    await expect(page.locator(".problems li")).toHaveCount(0);

    await node.setDisk("full");
    await expect(page.locator(".problems li")).toHaveText(/store cannot be written/);
    const load = tile(page, "load.1m");
    const before = await load.getAttribute("data-origin");
    await expect(load).not.toHaveAttribute("data-origin", before ?? "");

    await node.setDisk("free");
    await expect(page.locator(".problems li")).toHaveCount(0);
  } finally {
    await node.dispose();
  }
});
