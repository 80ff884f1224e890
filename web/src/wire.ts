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
  /** Whether it answers `GET /api/v1/kernel`. */
  has_kernel_agent: boolean;
  /** Limits of its control group that are tighter than the host. */
  limits?: HostLimits;
}

export interface HostLimits {
  memory_bytes?: number;
  cpu_cores?: number;
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
  /** The longest horizon that its own model answers; beyond, the outlook does. */
  near_seconds: number;
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

/** Hours and days ahead: means over steps. */
export interface Outlook {
  id: string;
  unit: string;
  /** Where the last step that was known begins. */
  origin: string;
  step_seconds: number;
  confidence: number;
  median: number[];
  lower: number[];
  upper: number[];
  /** How far ahead forecasts have been compared with what came. */
  seen_seconds: number;
}

/** What outlooks would have said `lead_seconds` before. */
export interface Hindcast {
  id: string;
  lead_seconds: number;
  step_seconds: number;
  confidence: number;
  start: string;
  median: (number | null)[];
  lower: (number | null)[];
  upper: (number | null)[];
  /** How many of them a sample came for, and the share of these that the bounds held. */
  n: number;
  held_ratio: number | null;
  /** How far apart the bounds of these are at the median. */
  median_width: number | null;
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
  residuals: Residuals | null;
}

export interface Residuals {
  n: number;
  n_lags: number;
  significant_ratio: number;
  ljung_box_p: number;
  turning_points_p: number;
  rises_p: number;
  normality_r_squared: number;
  normality_p: number | null;
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

/** Answer of `warnings`. */
export interface Warnings {
  at: string | null;
  rules: Warning[];
  problem?: string;
  excursions: Excursion[];
  n_too_young: number;
}

export interface Warning {
  name: string;
  id: string;
  statement: string;
  within_seconds: number;
  for_seconds?: number;
  probability: number | null;
  after?: Passage;
  no_sample_since?: string;
  problem?: string;
  stands: boolean;
  since?: string;
  cause?: ChangeCause;
  silent_until?: string;
  acknowledged?: { at: string; by?: string };
}

/** Answer of `series/{id}/cause`, as far as the page shows it. */
export interface ChangeCause {
  resource: ProcessOrder;
  measure: "difference" | "slope" | "mean";
  change: number;
  culprit: { name: string; kind: "program" | "unit" | "container" | "short_lived"; ratio: number; pid?: number; since?: string } | null;
}

export interface Excursion {
  id: string;
  unit: string;
  rises: boolean;
  line: number;
  within_seconds: number;
  probability: number;
  base_rate: number;
  after: Passage;
  cause?: ChangeCause;
}

/** Answer of `exhaustion`. */
export interface ExhaustionList {
  resources: Exhaustion[];
}

export interface Exhaustion {
  id: string;
  unit: string;
  rises: boolean;
  line: number;
  is_exhausted: boolean;
  within_seconds: number;
  probability: number;
  after: Passage;
  origin: string;
  step_seconds: number;
}

/** Answer of `rules`. */
export interface Rules {
  rules: Rule[];
  /** Those of the page, as a file of rules has them. */
  toml: string;
  /** Whether those of the page outlive a restart. */
  is_kept: boolean;
}

/** A rule without its name: body of a `PUT`. Lengths of time are text. */
export interface RuleText {
  when: string;
  within: string;
  for?: string;
  raise?: number;
  clear?: number;
  /** Hours of the week in which nobody is notified. */
  quiet?: string[];
}

export interface Rule extends RuleText {
  name: string;
  raise: number;
  clear: number;
  from: "file" | "page";
}

/** Answer of `rules/try`. */
export interface TriedRule {
  past_seconds: number;
  n_warned: number;
  n_right: number;
  n_late: number;
  n_events: number;
  n_foreseen: number;
  ahead_median_seconds: number | null;
}

/** When something becomes true; `null` for later than was asked about. */
export interface Passage {
  p10_seconds: number | null;
  p50_seconds: number | null;
  p90_seconds: number | null;
}

export interface ErrorBody {
  error: { code: string; message: string; field?: string };
}

/** A job of an MPI program, as it looks from the node's host. */
export interface MpiJob {
  job: string;
  program: string | null;
  library: string | null;
  n_ranks: number;
  ranks: number[];
  since: string;
  is_running: boolean;
  trees: string[];
  n_records: number;
  problems: string[];
}

/** A subsystem of the kernel, as the agent measures it. */
export interface KernelSubsystem {
  node: number;
  name: string;
  is_on: boolean;
  source: string;
  weight: number | null;
  cost_cores: number;
  factor: number | null;
  points: Record<string, KernelPointState>;
  probes: KernelPaid[];
  missing: string[];
}

/** What becomes of a point's events. */
export type KernelPointState = "inactive" | "summary" | "trace";

/** A part of a subsystem's cost: a program, or counting what they found. */
export interface KernelPaid {
  what: string;
  price_ns: number;
  run_ns: number | null;
  per_sec: number;
  cost_cores: number;
}

/** How the agent that measures the kernel is doing: `docs/formats/kernel-control.md`. */
export interface KernelStatus {
  is_on: boolean;
  interval_ms: number;
  budget_cores: number | null;
  cost_cores: number;
  own_cores: number;
  holder: [string, number] | null;
  queue: string[];
  nodes: { number: number; node: string }[];
  subsystems: KernelSubsystem[];
}

/** What came of the agent's traced points. */
export interface KernelTraces {
  now_ns: number;
  alarm: string | null;
  traces: KernelTrace[];
}

export interface KernelTrace {
  node: number;
  subsystem: string;
  point: string;
  /** The arguments that a user named, as events have them. */
  fields: string[];
  is_traced: boolean;
  received: number;
  per_sec: number;
  dropped: number;
  events: KernelEvent[];
}

export interface KernelEvent {
  begin_ns: number;
  end_ns: number;
  asked: number;
  returned: number;
  process: number;
  thread: number;
  processor: number;
  weight: number;
  fields?: number[];
}

export interface MpiJobs {
  host: string;
  jobs: MpiJob[];
}

export interface MpiJobDetail extends MpiJob {
  watched_seconds: number;
  records_per_second: number;
  calls_per_second: number;
  n_read: number;
  n_lost: number;
  n_left_out: number;
  operations: MpiOperation[];
  by_rank: { rank: number; n_calls: number; time_ratio: number }[];
  analyses: MpiAnalysis[];
}

export interface MpiOperation {
  operation: string;
  n_calls: number;
  n_failed: number;
  calls_per_second: number;
  time_ratio: number;
  mean_seconds: number;
  max_seconds: number;
  size_bytes: number;
}

/** Which way the data of a call go. */
export type MpiFlow = "all" | "to_root" | "from_root";

/** What is seen inside collective operations over one tree whose data go the same way. */
export interface MpiAnalysis {
  tree: string;
  flow: MpiFlow;
  n_calls: number;
  /** Calls by operation. */
  operations: Record<string, number>;
  n_incomplete: number;
  n_disordered: number;
  slowest_seconds: number;
  culprit: string | null;
  last_arrivals: { node: number; contributor: number }[];
  nodes: MpiTreeNode[];
  paths: MpiPath[];
  groups: MpiGroup[];
  hints: MpiHint[];
  slow: MpiSlow[];
}

/** A stage whose mean was above what its forecast allowed. */
export interface MpiSlow {
  part: string;
  node: number;
  contributor: number | null;
  mean_seconds: number;
  expected_seconds: number;
  upper_seconds: number;
  ago_seconds: number;
  /** Waiting for others, which somebody else's slowness leads to. */
  is_wait: boolean;
}

export interface MpiTreeNode {
  name: string;
  host: string;
  /** Position of the node that it contributes to; `null` for a root. */
  parent: number | null;
  contributors: MpiContributor[];
}

export interface MpiContributor {
  name: string;
  /** Position of the node; `null` for a rank. */
  node: number | null;
  n_last: number;
  last_ratio: number;
  hop_seconds: number | null;
}

/** A rank's way to its root and back. */
export interface MpiPath {
  rank: number;
  host: string;
  total_seconds: number;
  cost_seconds: number;
  stages: MpiStage[];
  /** Seconds before (below 0) and after the root, and collectors from there. */
  track: [seconds: number, height: number][];
  track_with_waits: [seconds: number, height: number][];
  /** What is passed from each point to the next: positions among the stages. */
  track_stages: number[];
}

/** A part of a path. */
export interface MpiStage {
  part: string;
  node: number;
  contributor: number;
}

export interface MpiGroup {
  ranks: number[];
  representative: number;
  cost_seconds: number;
  is_fast: boolean;
}

export interface MpiHint {
  part: string;
  node: string;
  rank: number;
  ratio: number;
  evidence: string;
  remedies: string[];
}

export type ProcessGrouping = "process" | "program" | "cgroup";

export type ProcessOrder = "cpu" | "memory" | "read" | "written";

/** Use of the resources; what is `null` the node does not know, or not yet. */
export interface ProcessFigures {
  cpu_cores: number | null;
  memory_bytes: number;
  read_bytes_per_sec: number | null;
  written_bytes_per_sec: number | null;
}

export interface ProcessRow extends ProcessFigures {
  name: string;
  unit?: string;
  container?: string;
  /** Of a single process. */
  pid?: number;
  state?: string;
  /** Of several, now. */
  n_processes?: number;
}

export interface ProcessTable {
  time: string;
  /** `null` for now. */
  span_seconds: number | null;
  by: ProcessGrouping;
  sort: ProcessOrder;
  rows: ProcessRow[];
  n_others: number;
  others: ProcessFigures;
  short_lived_cores: number | null;
  n_processes: number;
  n_measured: number | null;
  n_left_out: number;
  previous: string | null;
  next: string | null;
}

/** The use of one resource by programs, a value for each minute. */
export interface ProgramHistory {
  sort: ProcessOrder;
  /** The first minute that is kept at all. */
  first: string | null;
  minutes: string[];
  programs: { name: string; unit?: string; container?: string; values: (number | null)[] }[];
}
