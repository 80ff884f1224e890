//! Resources that will be exhausted: file systems that fill, memory that runs out.

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::Passage;

/// Answer of `GET /api/v1/exhaustion`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ExhaustionList {
    /// Resources that are exhausted, or will be within their horizon with probability 0.1 or more; soonest first.
    pub resources: Vec<Exhaustion>,
    /// Number of resources that will probably last beyond their horizon.
    pub n_lasting: usize,
    /// Number of resources that are known for less than an hour, or have too few samples for an answer.
    pub n_too_young: usize,
    /// Number of resources without a sample in the last five minutes.
    pub n_silent: usize,
}

/// A resource that will be exhausted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Exhaustion {
    /// The series.
    pub id: String,
    /// Host that has the resource.
    pub host: String,
    /// Unit of the line and of the last value.
    pub unit: String,
    /// Whether it is exhausted above the line, or below it.
    pub rises: bool,
    /// Value beyond which it counts as exhausted: 95 % used, or 5 % left.
    pub line: f64,
    /// Last value: a mean over a step of the outlook.
    pub last: f64,
    /// Whether the last value is beyond the line.
    pub is_exhausted: bool,
    /// Horizon of the probability: 14 days, or three times the known past if that is less.
    pub within_seconds: f64,
    /// Probability that it is exhausted within the horizon, in [0, 1].
    pub probability: f64,
    /// Time from the end of the last step until it is exhausted.
    pub after: Passage,
    /// Start of the last step that this is made from.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub origin: Timestamp,
    /// Length of a step.
    pub step_seconds: f64,
    /// Length of the past that this is made from.
    pub history_seconds: f64,
}
