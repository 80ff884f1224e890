// Rules for warnings, made on the page.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Rules, Warnings } from "../src/wire.ts";
import { expect, test, wave } from "./fixture.ts";
import { Node } from "./node.ts";

test("a rule is tried, made, changed, silenced, deleted and brought back", async ({ page }) => {
  const folder = await mkdtemp(join(tmpdir(), "foretop-rules-"));
  await writeFile(join(folder, "of_file.toml"), '[[rule]]\nname = "there"\nwhen = "load.1m < 1000"\nwithin = "10s"\n');
  await writeFile(join(folder, "foretop.toml"), `[warn]\nrules = "${folder}/of_file.toml"\nevery = "1s"\n`);
  const node = await Node.start("--every", "100ms", "--config", join(folder, "foretop.toml"));
  try {
    await node.push("queue", wave(3_600));
    await page.goto(`${node.url}#/signal/queue`);
    await page.getByRole("link", { name: "warn me" }).click();
    await expect(page).toHaveTitle(/^rules · /);
    const [name, statement] = [page.getByLabel("name"), page.getByLabel("statement")];
    await expect(statement).toBeFocused();
    await expect(statement).toHaveValue("queue > ");
    await expect(page.locator("#rule-signals option[value=queue]")).toHaveCount(1);
    const says = page.getByRole("form").getByRole("status");

    // What is wrong stands beside the field, whoever finds it.
    await page.getByRole("button", { name: "try" }).click();
    await expect(page.locator("#rule-when-fault")).not.toBeEmpty();
    await expect(statement).toHaveAttribute("aria-invalid", "true");
    await statement.fill("queue > 55");
    await page.getByLabel("within").fill("10");
    await page.getByRole("button", { name: "try" }).click();
    await expect(page.locator("#rule-within-fault")).toContainText("is not a length of time");
    await expect(page.getByLabel("within")).toBeFocused();
    await page.getByLabel("within").fill("10s");
    await page.getByRole("button", { name: "try" }).click();
    await expect(says).toHaveText(/^Over the 1 h that the node knows this rule would have warned \d+ times, .* It happened/);

    await name.fill("there");
    await page.getByRole("button", { name: "save" }).click();
    await expect(page.locator("#rule-name-fault")).toContainText("there is a rule “there”");
    await name.fill("long queue");
    await name.press("Enter");
    await expect(says).toContainText("“long queue” is saved");
    await expect.poll(async () => (await node.get<Warnings>("warnings")).rules.map((rule) => rule.name)).toEqual(["there", "long queue"]);
    await page.reload();
    const row = (named: string) => page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: named }) });
    await expect(row("long queue")).toContainText(/queue > 55 within 10s.*%.*page/);
    await expect(row("there")).toContainText(/%.*file/);
    await expect(row("there").getByRole("button", { name: "delete there" })).toHaveCount(0);

    await row("long queue").getByRole("button", { name: "edit long queue" }).click();
    await expect(statement).toBeFocused();
    await expect(name).toHaveJSProperty("readOnly", true);
    await statement.fill("queue > 1000");
    await statement.press("Enter");
    await expect(row("long queue")).toContainText("queue > 1000 within 10s");

    await row("there").getByRole("button", { name: "acknowledge there" }).click();
    await expect(row("there")).toContainText(/, acknowledged \d/);
    await expect(row("there").getByRole("button", { name: "acknowledge there" })).toHaveCount(0);

    await row("there").getByRole("button", { name: "silence there for 1h" }).click();
    await row("there").getByRole("button", { name: "tell of there again" }).click();
    await expect(row("there").getByRole("button", { name: "silence there for 8h" })).toBeVisible();

    await row("long queue").getByRole("button", { name: "delete long queue" }).click();
    await expect(row("long queue")).toHaveCount(0);
    expect((await node.get<Rules>("rules")).toml).toBe("");
    const undo = page.getByRole("button", { name: "undo" });
    await expect(undo).toBeFocused();
    await undo.press("Enter");
    await expect(row("long queue")).toContainText("queue > 1000 within 10s");
    await expect(undo).toBeHidden();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "TOML" }).click();
    expect((await download).suggestedFilename()).toBe("rules.toml");
    expect((await node.get<Rules>("rules")).toml).toContain('when = "queue > 1000"');
  } finally {
    await node.dispose();
    await rm(folder, { recursive: true });
  }
});

test("the rules are a click away from the signals, and Escape goes back", async ({ page, node }) => {
  await page.goto(node.url);
  await page.getByRole("region", { name: "about to happen" }).getByRole("link", { name: "make rules" }).click();
  const heading = page.getByRole("heading", { name: "rules for warnings" });
  await expect(heading).toBeFocused();
  await expect(page.getByRole("main", { name: "rules for warnings" })).toContainText("There is no rule yet.");
  await page.keyboard.press("Escape");
  await expect(heading).toBeHidden();
  await page.getByRole("banner").getByRole("link", { name: "rules" }).click();
  await expect(heading).toBeVisible();
});
