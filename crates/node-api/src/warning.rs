//! What is about to go wrong: rules that somebody made, and signals that will leave their usual range.

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::Passage;

/// Answer of `GET /api/v1/warnings`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Warnings {
    /// When the node looked ahead last; `null` until it has.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub at: Option<Timestamp>,
    /// Time from one look to the next.
    pub every_seconds: f64,
    /// The rules: the file's first, then those of the page.
    pub rules: Vec<Warning>,
    /// What is wrong with the file of rules; those that were read before go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Signals that will probably leave their usual range and seldom do, soonest first.
    pub excursions: Vec<Excursion>,
    /// Signals with too little history to know their usual range.
    pub n_too_young: usize,
    /// Where warnings go.
    pub ways: Vec<WarningWay>,
}

/// How a rule stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Warning {
    /// Its name.
    pub name: String,
    /// The series that it is about.
    pub id: String,
    /// What is not to happen.
    pub statement: String,
    /// How far ahead it looks.
    pub within_seconds: f64,
    /// For how long it has to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<f64>,
    /// The probability from which on the warning stands.
    pub raise: f64,
    /// The probability below which it is taken back.
    pub clear: f64,
    /// In [0, 1]; `null` while there is none.
    pub probability: Option<f64>,
    /// When it becomes true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Passage>,
    /// The last sample that this is made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub origin: Option<Timestamp>,
    /// Since when one of its signals has had no sample, if that is longer than five minutes and three of that signal's own steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub no_sample_since: Option<Timestamp>,
    /// Why there is no probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether the warning stands.
    pub stands: bool,
    /// Since when it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
    /// Until when nobody is told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub silent_until: Option<Timestamp>,
}

/// A signal that will probably leave its usual range, or a file system that will be full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Excursion {
    /// The series.
    pub id: String,
    /// Unit of the line.
    pub unit: String,
    /// Whether it rises above its range, or falls below.
    pub rises: bool,
    /// The end of its usual range: the 1st to the 99th percentile of the past week, and a twentieth of that beyond. For a file system, the
    /// share of 0.95 that is used.
    pub line: f64,
    /// How far ahead this looks.
    pub within_seconds: f64,
    /// In [0, 1].
    pub probability: f64,
    /// How often it happened within such a time over the past week.
    pub base_rate: f64,
    /// When it happens.
    pub after: Passage,
    /// The last sample that this is made from.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub origin: Timestamp,
}

/// How telling somebody goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct WarningWay {
    /// `mail to ops@example.org`.
    pub name: String,
    /// Warnings that were told, and ends of warnings.
    pub n_told: u64,
    /// Those that have still to be told.
    pub n_waiting: usize,
    /// Those that were given up, because too many waited.
    pub n_given_up: u64,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Body of `POST /api/v1/warnings/{name}/silence`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Silence {
    /// For how long nobody is to be told, such as `2h`, at most 30d; `0s` ends a silence.
    #[serde(rename = "for")]
    pub length: String,
}
