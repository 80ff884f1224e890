//! Forecasts hours and days ahead by a series' days and weeks, and probabilities of statements.

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// Whether a look ahead goes by the seasons of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seasons {
    /// The seasons that the series has had, unless the node is configured to see none.
    #[default]
    Learned,
    /// No season.
    Off,
}

/// A season that no configuration names, found in the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Season {
    /// Its length.
    pub period_seconds: f64,
    /// The share of the variance of the samples that it explains, 0 to 1, by samples from which it was not learned.
    pub explained_ratio: f64,
}

/// The scale on which a series is forecast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Its own.
    #[default]
    Linear,
    /// The logarithm of the distance from the least value that it can have.
    Log,
    /// The logarithm of the ratio of the distances from both ends of its range.
    Logit,
}

/// Answer of `GET /api/v1/series/{id}/outlook`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Outlook {
    /// The series.
    pub id: String,
    /// Unit of the values.
    pub unit: String,
    /// Start of the last step that the outlook is made from.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub origin: Timestamp,
    /// Time from one value to the next. Each is a mean over so much time.
    pub step_seconds: f64,
    /// Share of values to come that the bounds are meant to hold, in (0, 1).
    pub confidence: f64,
    /// Medians: as many values are meant to lie above as below; element `i` is for `origin + (i + 1) * step`.
    pub median: Vec<f64>,
    /// Lower bounds, within the range of the series.
    pub lower: Vec<f64>,
    /// Upper bounds, within the range of the series.
    pub upper: Vec<f64>,
    /// Length of the past that the outlook is made from.
    pub history_seconds: f64,
    /// Moment of the last sample, if that is more than five minutes and three of the series' own steps ago: the outlook
    /// is then about the time after that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub no_sample_since: Option<Timestamp>,
    /// Longest lead at which forecasts of this series have been compared with samples. Beyond, bounds widen as a random
    /// walk's, which is a guess.
    pub seen_seconds: f64,
    /// The weight of the daily season in the forecast of a day ahead, 0 to 1; `null` until a day has been forecast, and
    /// for steps that are too long to know a day.
    pub season_ratio: Option<f64>,
    /// Seasons beside days and weeks, the one that explains most first.
    #[serde(default)]
    pub seasons: Vec<Season>,
    /// The scale on which it is forecast.
    #[serde(default)]
    pub scale: Scale,
}

/// Answer of `GET /api/v1/series/{id}/hindcast`: outlooks as they would have been so long before, each from what was
/// known by then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Hindcast {
    /// The series.
    pub id: String,
    /// Unit of the values.
    pub unit: String,
    /// Lead time: the time between the making of each outlook and its step.
    pub lead_seconds: f64,
    /// Time from one value to the next. Each is a mean over so much time.
    pub step_seconds: f64,
    /// Share of values that the bounds are meant to hold, in (0, 1).
    pub confidence: f64,
    /// Start of the first step.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub start: Timestamp,
    /// Medians; `null` where too little was known.
    pub median: Vec<Option<f64>>,
    /// Lower bounds.
    pub lower: Vec<Option<f64>>,
    /// Upper bounds.
    pub upper: Vec<Option<f64>>,
    /// Number of steps with a sample and bounds.
    pub n: usize,
    /// Share of these steps whose bounds held the sample; `null` without any.
    pub held_ratio: Option<f64>,
    /// Median width of the bounds of these steps; `null` without any.
    pub median_width: Option<f64>,
}

/// Answer of `GET /api/v1/probability`: how probable a statement about a series is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Probability {
    /// The series, or the expression of several.
    pub id: String,
    /// Unit of the values.
    pub unit: String,
    /// The statement, as it was understood.
    pub statement: String,
    /// The number that it compares with, in the unit of the values.
    pub line: f64,
    /// Start of the last step that the answer is made from.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub origin: Timestamp,
    /// The statement is about means over so much time.
    pub step_seconds: f64,
    /// Time within which the statement has to come true.
    pub within_seconds: f64,
    /// Time for which the statement has to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<f64>,
    /// Probability that the statement comes true, in [0, 1].
    pub probability: f64,
    /// Time until the statement becomes true.
    pub after: Passage,
    /// Length of the past that the answer is made from.
    pub history_seconds: f64,
    /// Moment of the last sample of one of the signals, if that is more than five minutes and three of that signal's
    /// own steps ago: the answer is then about the time after that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub no_sample_since: Option<Timestamp>,
    /// Seasons beside days and weeks, the one that explains most first.
    #[serde(default)]
    pub seasons: Vec<Season>,
    /// Record of earlier answers to the same question.
    pub record: Record,
}

/// The time until something becomes true; `null` for later than was asked about, and where only the end of the time can
/// tell, as of means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Passage {
    /// Time by which the event has come with probability 0.1.
    pub p10_seconds: Option<f64>,
    /// Time by which the event has come with probability 0.5.
    pub p50_seconds: Option<f64>,
    /// Time by which the event has come with probability 0.9.
    pub p90_seconds: Option<f64>,
}

/// Outcomes of the same question at earlier moments, each answered from what was known then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Record {
    /// Number of answers.
    pub n: usize,
    /// Number of answers that came true.
    pub n_true: usize,
    /// Mean squared difference between the probability and what came (Brier 1950): 0 is perfect. `null` while there are
    /// fewer than 20.
    pub brier: Option<f64>,
    /// Brier score of always stating the share that came true.
    pub base_rate_brier: Option<f64>,
    /// Answers by tenths of probability, without tenths that were never stated.
    pub bins: Vec<RecordBin>,
}

/// Answers of about the same probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct RecordBin {
    /// Number of answers.
    pub n: usize,
    /// The mean probability that was stated.
    pub stated_ratio: f64,
    /// The share that came true.
    pub true_ratio: f64,
}
