// The bodies of the HTTP interface, as `docs/formats/http.md` describes them. Only what the page reads.

/** What a quantity can be; an end that is `null` is open. */
export interface Range {
  min: number | null;
  max: number | null;
}

export interface NodeInfo {
  host: string;
  version: string;
  started: string;
  step_seconds: number;
  model: string;
}

export interface SeriesInfo {
  id: string;
  aliases: string[];
  unit: string;
  kind: "gauge" | "rate";
  sentence: string;
  labels: Record<string, string>;
  source: "sensor" | "pushed";
  step_seconds: number;
  range: Range;
  last: { time: string; value: number | null } | null;
  n_samples: number;
  n_gaps: number;
  model: string;
  /** Whose word counts most for the next sample; only of models that choose among several. */
  model_speaking?: string;
}

export interface SeriesList {
  node: NodeInfo;
  series: SeriesInfo[];
}

export interface Fitted {
  model: string;
  coefficients: number[];
  /** Only of models that have one. */
  moving_average?: number[];
  mean: number;
  innovation_variance: number;
  n_samples: number;
  /** Absent for LAST while the configured model waits. */
  fitted_at?: string | null;
  n_refits: number;
  /** Only of models that weigh several, the heaviest first. */
  speakers?: Speaker[];
}

/** One of the models that a model such as AUTO weighs. */
export interface Speaker {
  model: string;
  /** Its share in the forecast of the next sample. */
  weight_ratio: number;
  n_samples: number;
  n_fits: number;
  parameters: { name: string; value: number }[];
  /** Its share at the leads where it has one. */
  leads: { lead_steps: number; weight_ratio: number }[];
}

export interface Waiting {
  for: string;
  reason: "too_short" | "constant" | "did_not_converge";
  have: number | null;
  need: number | null;
}

export interface SeriesDetail extends SeriesInfo {
  fitted: Fitted | null;
  waiting: Waiting | null;
}

export interface Samples {
  id: string;
  unit: string;
  start: string;
  step_seconds: number;
  values: (number | null)[];
}

export interface Forecast {
  id: string;
  unit: string;
  origin: string;
  step_seconds: number;
  confidence: number;
  model: string;
  mean: number[];
  standard_error: number[];
  lower: number[];
  upper: number[];
}

export interface Remembered {
  id: string;
  lead_seconds: number;
  time: string[];
  mean: number[];
  standard_error: number[];
}

export interface Score {
  min: number;
  median: number;
  max: number;
  mean: number;
  mean_absolute: number;
  mean_squared: number;
  /** By confidence: `"0.5"`, `"0.8"`, `"0.95"`. */
  coverage: Record<string, number>;
}

export interface LeadAccuracy {
  lead_steps: number;
  lead_seconds: number;
  n: number;
  model: Score | null;
  last: Score | null;
  mean: Score | null;
}

export interface Accuracy {
  id: string;
  unit: string;
  leads: LeadAccuracy[];
}

export interface Hello {
  node: NodeInfo;
}

export interface Tick {
  time: string;
  step_seconds: number;
  values: Record<string, number | null>;
  forecasts: Record<string, { leads: number[]; mean: number[]; lower: number[]; upper: number[] }>;
  /** Second bands; only where asked for. */
  inner?: Record<string, { lower: number[]; upper: number[] }>;
}

export interface Health {
  status: "ok" | "degraded";
  problems: string[];
  absent: { signal: string; reason: string }[];
  missed_deadlines: number;
  store: { ok: boolean; backlog_samples: number; dropped_samples: number };
  clock_behind_seconds: number;
}

export interface ErrorBody {
  error: { code: string; message: string; field?: string };
}
