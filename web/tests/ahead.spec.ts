// What is about to go wrong.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Warnings } from "../src/wire.ts";
import { expect, test } from "./fixture.ts";
import { Node } from "./node.ts";

test("a rule that warns stands on top with its probability, and a click opens its signal", async ({ page }) => {
  const folder = await mkdtemp(join(tmpdir(), "foretop-rules-"));
  const rule = (name: string, when: string) => `[[rule]]\nname = "${name}"\nwhen = "${when}"\nwithin = "10s"\n`;
  await writeFile(join(folder, "rules.toml"), rule("idle", "load.1m > 1000000") + rule("there", "load.1m < 1000"));
  await writeFile(join(folder, "foretop.toml"), `[warn]\nrules = "${folder}/rules.toml"\nevery = "1s"\n`);
  const node = await Node.start("--every", "100ms", "--config", join(folder, "foretop.toml"));
  try {
    await expect.poll(async () => (await node.get<Warnings>("warnings")).rules[1]?.stands).toBe(true);
    await page.goto(node.url);
    const ahead = page.getByRole("region", { name: "about to happen" });
    await expect(ahead.getByRole("listitem")).toHaveCount(1);
    await expect(ahead.getByRole("listitem")).toHaveText(/^there load\.1m < 1000 within 10 s: 100 % · warned /);
    await ahead.getByRole("link", { name: "there" }).click();
    await expect(page.getByRole("heading", { name: "load.1m" })).toBeVisible();
    await expect(ahead).toBeHidden();
  } finally {
    await node.dispose();
    await rm(folder, { recursive: true });
  }
});

test("a node without rules says calmly that nothing is ahead", async ({ page, node }) => {
  await page.goto(node.url);
  const ahead = page.getByRole("region", { name: "about to happen" });
  await expect(ahead).toContainText("Nothing is likely to go wrong.");
  await expect(ahead).toContainText("known after eight and a half hours");
});
