//! Run times of tasks.

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// Answer of `GET /api/v1/runtime`: run time of a task that starts at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct RunTime {
    /// The host's name.
    pub host: String,
    /// CPU time that the task needs, of all its threads together.
    pub cpu_seconds: f64,
    /// Number of threads that share the work.
    pub threads: u32,
    /// Share of tasks that the bounds are meant to hold, in (0, 1).
    pub confidence: f64,
    /// The last sample that this is made from.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub origin: Timestamp,
    /// The signals that this is made from: two where `threads` lies between those that are measured.
    pub series: Vec<String>,
    /// The cores of the host, where `threads` are more: they get what as many threads as cores get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_cores: Option<u32>,
    /// The model in use for the first of them.
    pub model: String,
    /// The longest time that can be forecast; a time that is `null` is longer.
    pub horizon_seconds: f64,
    /// Median: as many tasks take longer as take less.
    pub median_seconds: Option<f64>,
    /// Lower bound.
    pub lower_seconds: Option<f64>,
    /// Upper bound.
    pub upper_seconds: Option<f64>,
    /// The distribution, by rising probability.
    pub quantiles: Vec<RunTimeQuantile>,
}

/// A time, and the share of tasks that take no longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct RunTimeQuantile {
    /// Probability, in (0, 1).
    pub probability: f64,
    /// Time in seconds; `null` if it is longer than the horizon.
    pub seconds: Option<f64>,
}
