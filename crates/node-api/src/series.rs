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
    /// The node that answers.
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
    /// Unit of its values: `ratio`, `tasks`, `bytes`, `bytes/s`, … or the one that the maker of a pushed series chose.
    pub unit: String,
    /// Kind of the values.
    pub kind: Kind,
    /// Description of the signal, in a sentence.
    pub sentence: String,
    /// Labels that distinguish the series within its family: `{"interface": "eth0"}`.
    pub labels: BTreeMap<String, String>,
    /// Source of the samples.
    pub source: Source,
    /// Time between two samples.
    pub step_seconds: f64,
    /// The longest horizon that its own model answers (`/forecast`). Beyond, `/outlook` is the better answer.
    pub near_seconds: f64,
    /// Range of possible values.
    pub range: Range,
    /// The last sample; `null` before the first.
    pub last: Option<LastSample>,
    /// Moment of the last sample, if that is more than five minutes and three steps ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub no_sample_since: Option<Timestamp>,
    /// Samples since the node started, gaps not counted.
    pub n_samples: u64,
    /// Gaps since the node started.
    pub n_gaps: u64,
    /// The model in use at this moment.
    pub model: String,
    /// The model of greatest weight for the next sample, if the model in use chooses among several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_speaking: Option<String>,
}

/// Kind of a series' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Read as it is.
    Gauge,
    /// Difference of a counter over time.
    Rate,
}

/// Source of the samples of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The node measures it.
    Sensor,
    /// A program pushes it.
    Pushed,
}

/// Range of possible values; an end that is `null` is open.
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
    /// The series, as in the list.
    #[serde(flatten)]
    pub series: Series,
    /// Result of the last fit; `null` before the first.
    pub fitted: Option<Fitted>,
    /// Condition that the configured model waits for; `null` when it is the one in use.
    pub waiting: Option<Waiting>,
}

/// Result of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Fitted {
    /// The model that was fitted, without a `REFIT` around it.
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
    /// Samples that the fit used, gaps not counted; where several models are weighed, the most that one was last fitted
    /// to.
    pub n_samples: usize,
    /// Moment of the fit; absent in a one-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub fitted_at: Option<Timestamp>,
    /// Number of times that a `REFIT` has replaced the model, or an `AUTO` one of those that it weighs.
    pub n_refits: u64,
    /// The models that make the forecasts together, of a model that weighs several: the heaviest first. Empty for any
    /// other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speakers: Vec<Speaker>,
    /// The season that an `AUTO` found by itself, whose model is among those that it weighs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<FoundSeason>,
}

/// A season that was found, and the value of the model with that season.
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

/// Value of the season's model at one lead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct SeasonLead {
    /// Steps ahead.
    pub lead_steps: usize,
    /// The share that the season's model has in the forecast, in [0, 1].
    pub weight_ratio: f64,
    /// The best of the models without a season.
    pub rival: String,
    /// The root mean squared error of the season's model of late over the rival's; below 1 where knowing the season
    /// helps.
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
    /// Number of fits of the model.
    pub n_fits: u64,
    /// Coefficients of the last fit; empty for a model without coefficients.
    pub parameters: Vec<Parameter>,
    /// The leads at which it has a share, shortest first, among those at which models are compared. Between these leads
    /// shares follow straight lines.
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

/// Condition that the configured model waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Waiting {
    /// The model that waits.
    #[serde(rename = "for")]
    pub model: String,
    /// The reason why the model waits.
    pub reason: WaitingReason,
    /// Samples there are; `null` when it is not their number that is missing.
    pub have: Option<usize>,
    /// Samples needed; `null` when it is not their number that is missing.
    pub need: Option<usize>,
}

/// The reason why a model cannot be fitted yet.
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
    /// Time from one value to the next: the step asked for in whole steps of the series, or a longer one where nothing
    /// finer is kept.
    pub step_seconds: f64,
    /// Value `i` belongs to `start + i * step`; a gap is `null`.
    pub values: Vec<Option<f64>>,
}
