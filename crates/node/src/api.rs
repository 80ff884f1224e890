//! The types of the HTTP interface, as `docs/formats/http.md` specifies them.
//!
//! Clients in Rust read answers into the same types that the node writes. Requests refuse unknown fields; answers do
//! not, so that an older client understands a newer node. Numbers in answers are finite; a gap, and whatever else is
//! not there, is `None` here and `null` on the wire. Only types are here, so the file is longer than most.

use std::collections::BTreeMap;
use std::sync::Arc;

use predict::Model;
use serde::{Deserialize, Serialize};
use units::Timestamp;
use utoipa::ToSchema;

/// Who answers: the node itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeInfo {
    /// The host's name.
    pub host: String,
    /// Version of the program.
    pub version: String,
    /// When the node started.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// Time between two samples of a sensor.
    pub step_seconds: f64,
    /// The model that sensor series are to be forecast with.
    pub model: String,
}

/// Answer of `GET /api/v1/series`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeriesList {
    /// Who answers.
    pub node: NodeInfo,
    /// Every series, in a fixed order.
    pub series: Vec<Series>,
}

/// One series: a signal, sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Series {
    /// Its name: at most 200 bytes, without control characters.
    pub id: String,
    /// Short names that stand for it.
    pub aliases: Vec<String>,
    /// Unit of its values: `ratio`, `tasks`, `bytes`, `bytes/s`, … or what the maker of a pushed series said.
    pub unit: String,
    /// How a value comes about.
    pub kind: Kind,
    /// What it is, in a sentence.
    pub sentence: String,
    /// What tells it from its family: `{"interface": "eth0"}`.
    pub labels: BTreeMap<String, String>,
    /// Where its samples come from.
    pub source: Source,
    /// Time between two samples.
    pub step_seconds: f64,
    /// What the quantity can be.
    pub range: Range,
    /// The last sample; `null` before the first.
    pub last: Option<LastSample>,
    /// Samples since the node started, gaps not counted.
    pub n_samples: u64,
    /// Gaps since the node started.
    pub n_gaps: u64,
    /// The model in use at this moment.
    pub model: String,
    /// Of a model that chooses among several, the one whose word counts most for the next sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_speaking: Option<String>,
}

/// How a value comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Read as it is.
    Gauge,
    /// Difference of a counter over time.
    Rate,
}

/// Where the samples of a series come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The node measures it.
    Sensor,
    /// A program pushes it.
    Pushed,
}

/// What a quantity can be; an end that is `null` is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Range {
    /// Least value.
    pub min: Option<f64>,
    /// Greatest value.
    pub max: Option<f64>,
}

/// The last sample of a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LastSample {
    /// The moment it is for.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// Its value; `null` in a gap.
    pub value: Option<f64>,
}

/// Answer of `GET /api/v1/series/{id}`: the series, and what is fitted to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeriesDetail {
    /// What the list says of it.
    #[serde(flatten)]
    pub series: Series,
    /// What the last fit found; `null` before the first.
    pub fitted: Option<Fitted>,
    /// What the configured model waits for; `null` when it is the one in use.
    pub waiting: Option<Waiting>,
}

/// What a fit found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Fitted {
    /// What was fitted, a `REFIT` around it left out.
    pub model: String,
    /// Weights of past deviations from the mean, newest first.
    pub coefficients: Vec<f64>,
    /// Weights of past one-step errors, newest first, for a model with a moving average.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moving_average: Vec<f64>,
    /// Mean of the samples fitted to.
    pub mean: f64,
    /// Variance of one-step errors as the fit estimates it.
    pub innovation_variance: f64,
    /// Samples that the fit used, gaps not counted.
    pub n_samples: usize,
    /// When it was fitted; absent in a one-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub fitted_at: Option<Timestamp>,
    /// How many times a `REFIT` has replaced the model.
    pub n_refits: u64,
}

impl Fitted {
    /// What `model` found; the series that it is of knows when, and how often before.
    pub(crate) fn of(model: &Model) -> Self {
        Self {
            model: model.spec().inner().to_string(),
            coefficients: model.coefficients(),
            moving_average: model.moving_average().to_vec(),
            mean: model.mean(),
            innovation_variance: model.innovation_variance(),
            n_samples: model.n_samples(),
            fitted_at: None,
            n_refits: 0,
        }
    }
}

/// What the configured model waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Waiting {
    /// The model that waits.
    #[serde(rename = "for")]
    pub model: String,
    /// Why it waits.
    pub reason: WaitingReason,
    /// Samples there are; `null` when it is not their number that is missing.
    pub have: Option<usize>,
    /// Samples needed; `null` when it is not their number that is missing.
    pub need: Option<usize>,
}

/// Why a model cannot be fitted yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingReason {
    /// Too few samples.
    TooShort,
    /// The samples do not vary.
    Constant,
    /// No coefficients were found at which the error is least.
    DidNotConverge,
}

/// Answer of `GET /api/v1/series/{id}/samples`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Samples {
    /// The series.
    pub id: String,
    /// Unit of the values.
    pub unit: String,
    /// The moment of the first value.
    #[schema(value_type = String, format = DateTime)]
    pub start: Timestamp,
    /// Time from one value to the next.
    pub step_seconds: f64,
    /// Value `i` belongs to `start + i * step`; a gap is `null`.
    pub values: Vec<Option<f64>>,
}

/// Answer of `GET /api/v1/series/{id}/forecast`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Forecast {
    /// The series.
    pub id: String,
    /// Unit of the values.
    pub unit: String,
    /// The moment of the last sample that the forecast is made from.
    #[schema(value_type = String, format = DateTime)]
    pub origin: Timestamp,
    /// Time from one value to the next.
    pub step_seconds: f64,
    /// Share of values to come that the bounds are meant to hold, in (0, 1).
    pub confidence: f64,
    /// The model in use.
    pub model: String,
    /// Of a model that chooses among several, whose word counts most from which lead on; empty for any other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_speaking: Vec<Speaking>,
    /// Expected values; element `i` is for `origin + (i + 1) * step`.
    pub mean: Vec<f64>,
    /// Standard errors of the means.
    pub standard_error: Vec<f64>,
    /// Lower bounds, cut to the range of the series.
    pub lower: Vec<f64>,
    /// Upper bounds, cut to the range of the series.
    pub upper: Vec<f64>,
}

/// Whose word counts most in a stretch of a forecast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Speaking {
    /// The first lead of the stretch, in steps. It ends before the next one, or with the forecast.
    pub from_lead: usize,
    /// The model.
    pub model: String,
}

/// Answer of `GET /api/v1/series/{id}/forecasts`: what the node said back then, by the moments it was for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Remembered {
    /// The series.
    pub id: String,
    /// How far ahead these forecasts looked.
    pub lead_seconds: f64,
    /// The moments that they were for.
    #[schema(value_type = Vec<String>, format = DateTime)]
    pub time: Vec<Timestamp>,
    /// Expected values.
    pub mean: Vec<f64>,
    /// Standard errors of the means.
    pub standard_error: Vec<f64>,
}

/// Answer of `GET /api/v1/series/{id}/accuracy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Accuracy {
    /// The series.
    pub id: String,
    /// Unit of the errors.
    pub unit: String,
    /// Shortest lead first.
    pub leads: Vec<LeadAccuracy>,
}

/// How the forecasts of one lead time did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LeadAccuracy {
    /// The lead in steps of the series.
    pub lead_steps: usize,
    /// The lead in time.
    pub lead_seconds: f64,
    /// Forecasts that came due and are counted here.
    pub n: usize,
    /// Of the model in use; `null` before any came due.
    pub model: Option<ErrorStatistics>,
    /// Of LAST at the same moments; `null` before any came due.
    pub last: Option<ErrorStatistics>,
    /// Of MEAN at the same moments; `null` before any came due.
    pub mean: Option<ErrorStatistics>,
}

/// Statistics of errors: sample minus forecast, in the unit of the series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorStatistics {
    /// Least error.
    pub min: f64,
    /// Median error.
    pub median: f64,
    /// Greatest error.
    pub max: f64,
    /// Mean error: what the forecast is off by on the whole.
    pub mean: f64,
    /// Mean absolute error.
    pub mean_absolute: f64,
    /// Mean squared error, in squared units of the series.
    pub mean_squared: f64,
    /// How often the sample lay in the interval.
    pub coverage: Coverage,
}

/// Share of samples inside the interval of each confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Coverage {
    /// Of the 50 % interval.
    #[serde(rename = "0.5")]
    pub p50: f64,
    /// Of the 80 % interval.
    #[serde(rename = "0.8")]
    pub p80: f64,
    /// Of the 95 % interval.
    #[serde(rename = "0.95")]
    pub p95: f64,
}

/// Request of `POST /api/v1/forecast`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OneOff {
    /// A model specification: `AR(16)`.
    pub model: String,
    /// Evenly spaced samples, oldest first; a gap is `null`. At most 100,000.
    pub samples: Vec<Option<f64>>,
    /// Steps to look ahead, 1 to 100,000.
    pub horizon: usize,
    /// Share of values to come that the bounds are meant to hold, in (0, 1); 0.95 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// Answer of `POST /api/v1/forecast`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OneOffForecast {
    /// The model that was asked for.
    pub model: String,
    /// Share of values to come that the bounds are meant to hold, in (0, 1).
    pub confidence: f64,
    /// Expected values; element `i` is for lead `i + 1`.
    pub mean: Vec<f64>,
    /// Standard errors of the means.
    pub standard_error: Vec<f64>,
    /// Lower bounds.
    pub lower: Vec<f64>,
    /// Upper bounds.
    pub upper: Vec<f64>,
    /// What the fit found.
    pub fitted: Fitted,
}

/// Request of `POST /api/v1/forecasts`: one-offs of many series, all by the same model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OneOffs {
    /// A model specification: `AR(16)`.
    pub model: String,
    /// By name, the evenly spaced samples of each series, oldest first; a gap is `null`. At most 100,000 in all.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
    /// Steps to look ahead, at least 1; at most 100,000 over all series.
    pub horizon: usize,
    /// Share of values to come that the bounds are meant to hold, in (0, 1); 0.95 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// Answer of `POST /api/v1/forecasts`: every series is in one of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OneOffForecasts {
    /// By name, what follows the samples.
    pub forecasts: BTreeMap<String, OneOffForecast>,
    /// By name, why the samples do not yield the model.
    pub refused: BTreeMap<String, String>,
}

/// Answer of `GET /api/v1/runtime`: how long a task takes that starts at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunTime {
    /// The host's name.
    pub host: String,
    /// CPU time that the task needs, of all its threads together.
    pub cpu_seconds: f64,
    /// How many threads share the work.
    pub threads: u32,
    /// Share of tasks that the bounds are meant to hold, in (0, 1).
    pub confidence: f64,
    /// The last sample that this is made from.
    #[schema(value_type = String, format = DateTime)]
    pub origin: Timestamp,
    /// The signals that this is made from: two where `threads` lies between those that are measured.
    pub series: Vec<String>,
    /// The model in use for the first of them.
    pub model: String,
    /// The longest time that can be told; a time that is `null` is longer.
    pub horizon_seconds: f64,
    /// As many tasks take longer as take less.
    pub median_seconds: Option<f64>,
    /// Lower bound.
    pub lower_seconds: Option<f64>,
    /// Upper bound.
    pub upper_seconds: Option<f64>,
    /// The distribution, by rising probability.
    pub quantiles: Vec<RunTimeQuantile>,
}

/// A time, and the share of tasks that take no longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunTimeQuantile {
    /// In (0, 1).
    pub probability: f64,
    /// `null` for longer than the horizon.
    pub seconds: Option<f64>,
}

/// Request of `POST /api/v1/series`: a program's own signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSeries {
    /// Its name: at most 200 bytes, without control characters.
    pub id: String,
    /// Unit of its values; empty when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What it is, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// Time between two samples, with a unit: `5s`.
    pub step: String,
    /// A model specification; the node's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Request of `POST /api/v1/series/{id}/samples`; all are taken or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PushedSamples {
    /// Oldest first.
    pub samples: Vec<PushedSample>,
}

/// One sample of a program's own signal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PushedSample {
    /// The moment it is for, rounded to the nearest slot; the slot after the last one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub time: Option<Timestamp>,
    /// Its value; a gap is `null`, which has to be written.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub value: Option<f64>,
}

/// Answer of `POST /api/v1/series/{id}/samples`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// How many samples were taken.
    pub accepted: usize,
}

/// The first event of a stream: who speaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Hello {
    /// Who speaks.
    pub node: NodeInfo,
}

/// An event: samples that arrived, and the forecasts made from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TickEvent {
    /// The moment that the samples are for.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// Time from one sample of these series to the next.
    pub step_seconds: f64,
    /// A value for each series; a gap is `null`.
    #[schema(value_type = BTreeMap<String, Option<f64>>)]
    pub values: BTreeMap<Arc<str>, Option<f64>>,
    /// Forecasts of those series that have one.
    #[schema(value_type = BTreeMap<String, LeadForecast>)]
    pub forecasts: BTreeMap<Arc<str>, LeadForecast>,
}

/// A forecast at chosen leads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LeadForecast {
    /// In steps of the series, ascending.
    pub leads: Vec<usize>,
    /// Expected values, one for each lead.
    pub mean: Vec<f64>,
    /// Lower bounds, cut to the range of the series.
    pub lower: Vec<f64>,
    /// Upper bounds, cut to the range of the series.
    pub upper: Vec<f64>,
}

/// An event: the reader was too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lagged {
    /// Ticks that it did not get.
    pub missed: u64,
}

/// Answer of `GET /healthz`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// The whole in a word.
    pub status: Status,
    /// One sentence for each thing that a person should look at.
    pub problems: Vec<String>,
    /// Signals that this host does not have.
    pub absent: Vec<Absent>,
    /// Deadlines at which no sample was taken.
    pub missed_deadlines: u64,
    /// How the store is.
    pub store: StoreHealth,
    /// How far the wall clock is behind the labels of samples, after it was set back.
    pub clock_behind_seconds: f64,
}

/// How the node is, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing to look at.
    Ok,
    /// It serves, and something is wrong.
    Degraded,
}

/// Signals that this host does not have, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Absent {
    /// The signals, with `*` for any text.
    pub signal: String,
    /// Why they are absent.
    pub reason: String,
}

/// How the store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreHealth {
    /// Whether the last write succeeded.
    pub ok: bool,
    /// Samples in memory that are still to be written.
    pub backlog_samples: u64,
    /// Samples given up because there was no room for them.
    pub dropped_samples: u64,
}

/// Answer of `GET /readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// Whether the first tick is in and the store is open.
    pub ready: bool,
    /// What is waited for; absent when ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Every answer with a status of 4xx or 5xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// For programs.
    pub code: ErrorCode,
    /// For people: names the value, and what would be right.
    pub message: String,
    /// The parameter or field to blame; absent when no single one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// What went wrong, for programs. The set is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// 400: a parameter has a value that makes no sense.
    BadParameter,
    /// 400: the body is not JSON, or not of the right shape.
    BadBody,
    /// 400: no model specification.
    BadModel,
    /// 401: no token, or a wrong one.
    Unauthorized,
    /// 403: the name in `Host` is not this node's, or the request comes from a page elsewhere.
    HostNotAllowed,
    /// 404: no such path.
    NotFound,
    /// 404: no series of that name.
    UnknownSeries,
    /// 405: the path does not take this method.
    MethodNotAllowed,
    /// 409: the series exists, or belongs to a sensor.
    Conflict,
    /// 409: a sample that is not later than the last.
    OutOfOrder,
    /// 409: too few samples for a forecast.
    NotReady,
    /// 413: the body is over 1 MiB.
    BodyTooLarge,
    /// 415: the body is not said to be JSON.
    UnsupportedMediaType,
    /// 422: the model cannot be fitted to these samples.
    CannotFit,
    /// 500: a fault of the node.
    Internal,
    /// 503: a limit of clients, series or work is reached.
    TooMany,
    /// 503: the store cannot be read or written.
    StoreUnavailable,
}
