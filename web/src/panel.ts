// What stands under the large drawing: the model with its coefficients, and how its forecasts did.

import { make } from "./dom.ts";
import { countText, lengthText, momentText, NOTHING, quantityText } from "./format.ts";
import type { Accuracy, Fitted, LeadAccuracy, Score, SeriesDetail, Waiting } from "./wire.ts";

type Fact = [term: string, value: string];

/** The model in use, what it waits for, and what was fitted. */
export function modelPanel(detail: SeriesDetail): Node[] {
  const { fitted, waiting } = detail;
  const facts: Fact[] = [["in use", detail.model]];
  if (detail.model_speaking !== undefined) facts.push(["speaking", detail.model_speaking]);
  if (waiting !== null) facts.push(["waiting", waitingText(waiting)]);
  if (fitted !== null) {
    facts.push(
      ["fitted", fittedText(fitted)],
      ["samples", countText(fitted.n_samples)],
      ["refits", countText(fitted.n_refits)],
      ["mean", quantityText(fitted.mean, detail.unit)],
      // The step's own error, in the unit of the signal.
      ["innovation", `± ${quantityText(Math.sqrt(fitted.innovation_variance), detail.unit)}`],
    );
  }
  const seen = `${counted(detail.n_samples, "sample")}, ${counted(detail.n_gaps, "gap")} since the node started`;
  facts.push(["seen", seen]);
  const entries = facts.flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)]);
  const list = make("dl", { class: "facts" }, ...entries);
  const weights: [string, number[]][] = [
    ["coefficients by lag", fitted?.coefficients ?? []],
    ["moving average by lag", fitted?.moving_average ?? []],
  ];
  const lists = weights.filter(([, values]) => values.length > 0).map(([name, values]) => weightList(name, values));
  return [list, ...lists];
}

/** `1 gap`, `1 853 samples`. */
function counted(n: number, noun: string): string {
  return `${countText(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** What was fitted and when: `AR(16), 10:38:18`. */
function fittedText({ model, fitted_at: at }: Fitted): string {
  return typeof at === "string" ? `${model}, ${momentText(Date.parse(at))}` : model;
}

/** What a model waits for: `AR(16) needs 80 samples and has 40`. */
export function waitingText(waiting: Waiting): string {
  if (waiting.reason === "did_not_converge") return `${waiting.for} found no fit to these samples`;
  if (waiting.reason === "constant") return `${waiting.for} has nothing to fit: the samples do not vary`;
  return `${waiting.for} needs ${waiting.need ?? "more"} samples and has ${waiting.have ?? "too few"}`;
}

/** Rows per lead time: the mean absolute error of the model, LAST and MEAN, and how often the intervals held. */
export function accuracyTable(accuracy: Accuracy): HTMLElement {
  const columns = ["lead", "n", "model", "LAST", "MEAN", "RMSE", "bias", "50 %", "80 %", "95 %"];
  const spans = [
    make("th", { colspan: "2" }),
    heading("mean absolute error", 3),
    heading("of the model", 2),
    heading("held by intervals", 3),
  ];
  return make(
    "table",
    {},
    make(
      "thead",
      {},
      make("tr", { class: "spans" }, ...spans),
      make("tr", {}, ...columns.map((text) => make("th", { scope: "col" }, text))),
    ),
    make("tbody", {}, ...accuracy.leads.map((lead) => accuracyRow(lead, accuracy.unit))),
  );
}

function accuracyRow(lead: LeadAccuracy, unit: string): HTMLElement {
  const errors = [lead.model, lead.last, lead.mean].map((score) => score?.mean_absolute ?? null);
  const best = Math.min(...errors.filter((error) => error !== null));
  const cells = errors.map((error) =>
    make("td", { class: error !== null && error === best ? "best" : null }, quantityText(error, unit)),
  );
  const { model } = lead;
  const square = model?.mean_squared ?? null;
  const covered = ["0.5", "0.8", "0.95"].map((share) => make("td", {}, quantityText(coverage(model, share), "ratio")));
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, lengthText(Math.round(lead.lead_seconds * 1_000))),
    make("td", {}, lead.n === 0 ? NOTHING : countText(lead.n)),
    ...cells,
    make("td", {}, quantityText(square === null ? null : Math.sqrt(square), unit)),
    make("td", {}, quantityText(model?.mean ?? null, unit)),
    ...covered,
  );
}

function coverage(score: Score | null, share: string): number | null {
  return score?.coverage[share] ?? null;
}

function heading(text: string, nColumns: number): HTMLElement {
  return make("th", { colspan: String(nColumns), scope: "colgroup" }, text);
}

function weightList(name: string, weights: number[]): HTMLElement {
  const items = weights.map((value, idx) => {
    const item = make("li", {}, make("small", {}, String(idx + 1)), " ", value.toFixed(4).replace("-", "−"));
    item.title = String(value);
    return item;
  });
  return make("ol", { class: "coefficients", "aria-label": name }, ...items);
}
