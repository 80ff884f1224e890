// What stands under the large drawing: the model with its coefficients, and how its forecasts did.

import { make } from "./dom.ts";
import { countText, lengthText, momentText, NOTHING, plain, quantityText } from "./format.ts";
import type { Accuracy, Fitted, LeadAccuracy, Residuals, Score, SeriesDetail, Speaker, Waiting } from "./wire.ts";

/** Fewer forecasts than this say nothing about a model yet. */
const LEAST_N = 10;
/** A p-value below this is shown as evidence. */
const SIGNIFICANCE = 0.05;
/** The leads, in steps, at which the weights of speakers are shown: soon, later, far. */
const SPEAKER_LEADS = [1, 8, 64];

type Fact = [term: string, value: string];

/** The model in use, what it waits for, and what was fitted. */
export function modelPanel(detail: SeriesDetail): Node[] {
  const { fitted, waiting } = detail;
  const facts: Fact[] = [["in use", detail.model]];
  const speakers = fitted?.speakers ?? [];
  // The table of weights says it better.
  const leader = speakers.length === 0 ? detail.model_speaking : undefined;
  if (leader !== undefined) facts.push(["led by", leader]);
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
  const table = speakers.length === 0 ? [] : [speakerTable(speakers, Math.round(detail.step_seconds * 1_000))];
  return [list, ...lists, ...table];
}

/** Who makes the forecast: a model's weight at some leads, the samples that it was fitted to, and what was found. */
function speakerTable(speakers: Speaker[], stepMs: number): HTMLElement {
  const leads = SPEAKER_LEADS.map((steps) => `in ${lengthText(steps * stepMs)}`);
  const head = ["model", ...leads, "samples"].map((text) => make("th", { scope: "col" }, text));
  const rows = speakers.flatMap(({ model, n_samples, parameters, leads }) => {
    const weights = SPEAKER_LEADS.map((steps) => leads.find(({ lead_steps }) => lead_steps === steps)?.weight_ratio);
    const cells = weights.map((weight) => make("td", {}, weight ? `${Math.round(weight * 100)} %` : NOTHING));
    const found = parameters.map(({ name, value }) => `${name}\u00a0${plain(value)}`).join(", ");
    return [
      make("tr", {}, make("th", { scope: "row" }, model), ...cells, make("td", {}, countText(n_samples))),
      ...(found === "" ? [] : [make("tr", { class: "found" }, make("td", { colspan: "5" }, found))]),
    ];
  });
  const spans = make("tr", { class: "spans" }, make("th"), heading("weight in the forecast", 3), make("th"));
  const thead = make("thead", {}, spans, make("tr", {}, ...head));
  const table = make("table", { class: "speakers" }, thead, make("tbody", {}, ...rows));
  return make("div", { class: "scroll" }, table);
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
    make("th", { colspan: "2", scope: "colgroup", class: "minor" }, "of the model"),
    heading("inside the interval", 3),
  ];
  return make(
    "table",
    {},
    make(
      "thead",
      {},
      make("tr", { class: "spans" }, ...spans),
      make("tr", {}, ...columns.map((text) => make("th", { scope: "col", class: isMinor(text) }, text))),
    ),
    make("tbody", {}, ...accuracy.leads.map((lead) => accuracyRow(lead, accuracy.unit))),
  );
}

/** Whether the errors one step ahead are noise: `not like noise (p < 0.001), not normal (R² 0.92)`. */
export function residualsText({ ljung_box_p, normality_p, normality_r_squared }: Residuals): string {
  const p = (value: number): string => (value < 0.001 ? "p < 0.001" : `p ${value.toFixed(3)}`);
  const negated = (value: number | null): string => (value !== null && value < SIGNIFICANCE ? "not " : "");
  const normal = `${negated(normality_p)}normal (R² ${normality_r_squared.toFixed(3)})`;
  return `errors one step ahead: ${negated(ljung_box_p)}like noise (${p(ljung_box_p)}), ${normal}`;
}

/** What a phone has no room for. */
function isMinor(column: string): string | null {
  return ["RMSE", "bias"].includes(column) ? "minor" : null;
}

function accuracyRow(lead: LeadAccuracy, unit: string): HTMLElement {
  const time = make("th", { scope: "row" }, lengthText(Math.round(lead.lead_seconds * 1_000)));
  if (lead.n < LEAST_N) {
    const sofar = lead.n === 0 ? "none has come due" : `${counted(lead.n, "forecast")} so far`;
    return make("tr", {}, time, make("td", { class: "few", colspan: "9" }, sofar));
  }
  const errors = [lead.model, lead.last, lead.mean].map((score) => score?.mean_absolute ?? null);
  const best = Math.min(...errors.filter((error) => error !== null));
  const cells = errors.map((error) =>
    make("td", { class: error !== null && error === best ? "best" : null }, quantityText(error, unit)),
  );
  const { model } = lead;
  const square = model?.mean_squared ?? null;
  const covered = ["0.5", "0.8", "0.95"].map((share) => make("td", {}, coverageText(model, share)));
  return make(
    "tr",
    {},
    time,
    make("td", {}, countText(lead.n)),
    ...cells,
    make("td", { class: "minor" }, quantityText(square === null ? null : Math.sqrt(square), unit)),
    make("td", { class: "minor" }, quantityText(model?.mean ?? null, unit)),
    ...covered,
  );
}

/** How often the interval of `share` held. A few hundred forecasts tell no tenth of a percent. */
function coverageText(score: Score | null, share: string): string {
  const covered = score?.coverage[share];
  return covered === undefined ? NOTHING : `${Math.round(covered * 100)} %`;
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
