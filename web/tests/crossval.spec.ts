// A report of `foretop crossval`, opened from its file as a person would.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { expect, test } from "./fixture.ts";
import { BINARY } from "./node.ts";

const TRACES = join(import.meta.dirname, "../../testdata/nab");

/** A long name is what a diagram has the least room for. */
const TEMPLATE = `
models = ["MEAN", "LAST", "AR(1..4)", "REFIT(AR(1..32),every=25..100,window=200..400)"]
fit = "100..200"
test = "50..100"
leads = [1, 5, 30]
`;

async function foretop(...command: string[]): Promise<void> {
  await promisify(execFile)(BINARY, ["crossval", ...command]);
}

test("a report opened from its file shows its tables, draws its diagrams, and prints nothing", async ({ page }) => {
  const folder = await mkdtemp(join(tmpdir(), "foretop-report-"));
  try {
    const template = join(folder, "template.toml");
    const results = join(folder, "cases.parquet");
    const report = join(folder, "report.html");
    await writeFile(template, TEMPLATE);
    await foretop("run", template, "--traces", TRACES, "--cases", "400", "--out", results);
    await foretop("report", results, "--html", report, "--title", "Of a <test> & more");
    const said: string[] = [];
    page.on("console", (message) => said.push(message.text()));
    await page.goto(pathToFileURL(report).href);

    await expect(page).toHaveTitle("Of a <test> & more");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Of a <test> & more");
    const headings = await page.getByRole("heading", { level: 2 }).allTextContents();
    expect(headings).toEqual([
      "Who wins, by how much, and whether that matters",
      "Errors by lead",
      "Errors over LAST",
      "Mean ranks",
      "Cost against accuracy",
      "Calibration",
      "Errors one step ahead",
      "By trace",
      "Failures",
      "How this was found",
    ]);
    const rows = await page.locator("tbody").evaluateAll((bodies) => bodies.map((body) => body.children.length));
    // Recommended and winners by lead, errors over MEAN and LAST by model, ranks at three leads, costs, calibration, errors one step ahead, by trace, and the traces.
    expect(rows).toEqual([3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 7, 7]);

    // Errors, a critical-difference diagram for each lead, costs and calibration.
    const pictures = page.locator("figure[role=img][aria-label]");
    await expect(pictures).toHaveCount(6);
    for (const picture of await pictures.all()) {
      await expect(picture).toBeVisible();
      await expect(picture).toContainText("REFIT(AR(1..32),every=25..100,window=200..400)");
      expect(await picture.locator("svg").evaluate(outside)).toEqual([]);
    }
    expect(said).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** Whatever an SVG has drawn beyond its own edge, or nowhere, by its tag and its text. */
function outside(svg: Element): string[] {
  const edge = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text, polyline, rect, circle")]
    .filter((shape) => {
      const box = shape.getBoundingClientRect();
      const isDrawn = box.width + box.height > 0;
      // Half a pixel is a matter of rounding.
      const isInside =
        box.left > edge.left - 0.5 && box.top > edge.top - 0.5 && box.right < edge.right + 0.5 && box.bottom < edge.bottom + 0.5;
      return !isDrawn || !isInside;
    })
    .map((shape) => `${shape.tagName} ${shape.textContent}`);
}
