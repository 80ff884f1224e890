//! Series: what they are, what is fitted to them, their samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::node::NodeInfo;

/// Answer of `GET /api/v1/series`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct SeriesList {
    /// Who answers.
    pub node: NodeInfo,
    /// Every series, in a fixed order.
    pub series: Vec<Series>,
}

/// One series: a signal, sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
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
    /// The longest horizon that its own model answers (`/forecast`). Beyond, `/outlook` knows more.
    pub near_seconds: f64,
    /// What the quantity can be.
    pub range: Range,
    /// The last sample; `null` before the first.
    pub last: Option<LastSample>,
    /// Since when it has had no sample, if that is longer than five minutes and three steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub no_sample_since: Option<Timestamp>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Read as it is.
    Gauge,
    /// Difference of a counter over time.
    Rate,
}

/// Where the samples of a series come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The node measures it.
    Sensor,
    /// A program pushes it.
    Pushed,
}

/// What a quantity can be; an end that is `null` is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Range {
    /// Least value.
    pub min: Option<f64>,
    /// Greatest value.
    pub max: Option<f64>,
}

/// The last sample of a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct LastSample {
    /// The moment it is for.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub time: Timestamp,
    /// Its value; `null` in a gap.
    pub value: Option<f64>,
}

/// Answer of `GET /api/v1/series/{id}`: the series, and what is fitted to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
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
    /// Samples that the fit used, gaps not counted; where several models are weighed, the most that one was last fitted to.
    pub n_samples: usize,
    /// When it was fitted; absent in a one-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub fitted_at: Option<Timestamp>,
    /// How many times a `REFIT` has replaced the model, or an `AUTO` one of those that it weighs.
    pub n_refits: u64,
    /// The models that make the forecasts together, of a model that weighs several: the heaviest first. Empty for any other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speakers: Vec<Speaker>,
    /// The season that an `AUTO` found by itself, whose model is among those that it weighs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<FoundSeason>,
}

/// A season that was found, and what the model that knows it is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct FoundSeason {
    /// The model.
    pub model: String,
    /// The lengths of the season in steps: one, or two as of a day and a week.
    pub period_steps: Vec<f64>,
    /// The leads at which models are compared, as far as forecasts for them have come due.
    pub leads: Vec<SeasonLead>,
}

/// What knowing the season is worth at one lead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct SeasonLead {
    /// Steps ahead.
    pub lead_steps: usize,
    /// The share that the season's model has in the forecast, in [0, 1].
    pub weight_ratio: f64,
    /// The best of the models that know no season.
    pub rival: String,
    /// The root mean squared error of the season's model of late over the rival's; below 1 where knowing the season helps.
    pub error_ratio: f64,
}

/// One of the models that make a forecast together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Speaker {
    /// The model.
    pub model: String,
    /// Its share in the forecast of the next sample, in [0, 1]; 0 for one that has a share at longer leads only.
    pub weight_ratio: f64,
    /// Samples that its last fit used, gaps not counted.
    pub n_samples: usize,
    /// How many times it was fitted.
    pub n_fits: u64,
    /// What its last fit found; empty for a model without coefficients.
    pub parameters: Vec<Parameter>,
    /// The leads at which it has a share, shortest first, among those at which models are compared. Between these leads shares follow
    /// straight lines.
    pub leads: Vec<LeadWeight>,
}

/// A coefficient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Parameter {
    /// `phi1`, …, `theta1`, …, `d`, `mean`; other models have names of their own.
    pub name: String,
    /// The estimate.
    pub value: f64,
}

/// The share of a model at one lead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct LeadWeight {
    /// The lead in steps of the series.
    pub lead_steps: usize,
    /// Its share in the forecast, in (0, 1].
    pub weight_ratio: f64,
}

/// What the configured model waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Samples {
    /// The series.
    pub id: String,
    /// Unit of the values.
    pub unit: String,
    /// The moment of the first value.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub start: Timestamp,
    /// Time from one value to the next: the step asked for in whole steps of the series, or a longer one where nothing finer is kept.
    pub step_seconds: f64,
    /// Value `i` belongs to `start + i * step`; a gap is `null`.
    pub values: Vec<Option<f64>>,
}
