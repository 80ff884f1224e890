//! Warnings: rules that somebody made, and signals that will leave their usual range.

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::{ChangeCause, Passage};

/// Answer of `GET /api/v1/warnings`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Warnings {
    /// Moment of the node's last look ahead; `null` before the first.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub at: Option<Timestamp>,
    /// Time from one look to the next.
    pub every_seconds: f64,
    /// The rules: the file's first, then those of the page.
    pub rules: Vec<Warning>,
    /// Fault of the file of rules; rules that were read before stay in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Signals that will probably leave their usual range and seldom do, soonest first.
    pub excursions: Vec<Excursion>,
    /// Signals with too little history to know their usual range.
    pub n_too_young: usize,
    /// Ways by which warnings are sent.
    pub ways: Vec<WarningWay>,
}

/// A rule and its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Warning {
    /// Its name.
    pub name: String,
    /// The series that it is about.
    pub id: String,
    /// The statement that is not to come true.
    pub statement: String,
    /// Time that the rule looks ahead.
    pub within_seconds: f64,
    /// Time for which the statement has to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<f64>,
    /// The probability from which on the warning stands.
    pub raise: f64,
    /// The probability below which it is taken back.
    pub clear: f64,
    /// Probability that the statement comes true, in [0, 1]; `null` while there is none.
    pub probability: Option<f64>,
    /// Time until the statement becomes true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Passage>,
    /// The last sample that this is made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub origin: Option<Timestamp>,
    /// Moment of the last sample of one of the signals, if that is more than five minutes and three of that signal's
    /// own steps ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub no_sample_since: Option<Timestamp>,
    /// The reason why there is no probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether the warning stands.
    pub stands: bool,
    /// Moment since which the warning stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
    /// Programs whose use of a resource made the warning stand; absent if no program is known to have a part in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<ChangeCause>,
    /// Moment until which nobody is notified of the warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub silent_until: Option<Timestamp>,
    /// Acknowledgement of the warning; absent if nobody has acknowledged it, and when it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Acknowledgement>,
}

/// Acknowledgement of a warning: somebody takes care of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Acknowledgement {
    /// Moment of the acknowledgement.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Name of who takes care of it, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
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
    /// The end of its usual range: the 1st to the 99th percentile of the past week, and a twentieth of that beyond. For
    /// a file system, the share of 0.95 that is used.
    pub line: f64,
    /// Horizon of the probability.
    pub within_seconds: f64,
    /// Probability, in [0, 1].
    pub probability: f64,
    /// Base rate: share of the moments of the past week after which the event came within such a time.
    pub base_rate: f64,
    /// Time until the event.
    pub after: Passage,
    /// Programs whose use of a resource moves the signal there; absent if no program is known to have a part in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<ChangeCause>,
    /// The last sample that this is made from.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub origin: Timestamp,
}

/// State of the delivery of warnings in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct WarningWay {
    /// Name of the way: `mail to ops@example.org`.
    pub name: String,
    /// Warnings, and ends of warnings, that were sent.
    pub n_told: u64,
    /// Messages that are still to be sent.
    pub n_waiting: usize,
    /// Messages that were given up, because too many waited.
    pub n_given_up: u64,
    /// The reason why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Body of `POST /api/v1/warnings/{name}/acknowledge`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Acknowledging {
    /// Name of who takes care of the warning, at most 100 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Moment since which the warning stands that is meant; the one that stands by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
}

/// Body of `POST /api/v1/warnings/{name}/silence`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Silence {
    /// Time for which nobody is to be notified, such as `2h`, at most 30d; `0s` ends a silence.
    #[serde(rename = "for")]
    pub length: String,
}
