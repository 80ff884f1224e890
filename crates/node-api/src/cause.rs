//! Causes of changes: the programs whose use of a resource moved a signal.

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::ProcessOrder;

/// Answer of `GET /api/v1/series/{id}/cause`: parts of the programs in a change of the use of a resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ChangeCause {
    /// The series.
    pub id: String,
    /// Resource that moves it.
    pub resource: ProcessOrder,
    /// Measure of the change.
    pub measure: CauseMeasure,
    /// Beginning of the first minute.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub from: Timestamp,
    /// End of the last minute.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub to: Timestamp,
    /// Number of minutes that are kept of this time.
    pub n_minutes: u64,
    /// Change of the whole: bytes per hour of memory, cores of CPU, bytes per second of disks.
    pub change: f64,
    /// Parts of the programs, greatest first, ten at most. With `others_ratio` they add up to 1.
    pub parts: Vec<CausePart>,
    /// Share of all others, the kernel included.
    pub others_ratio: f64,
    /// The one that accounts for half of the change or more; `null` for nobody in particular, and for a change that is
    /// no larger than the noise.
    pub culprit: Option<Culprit>,
    /// The answer, for people.
    pub summary: String,
}

/// Measure of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CauseMeasure {
    /// Difference between the end and the beginning.
    Difference,
    /// Slope of the line of least squares.
    Slope,
    /// Mean, of what adds up.
    Mean,
}

/// Part of a program in a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct CausePart {
    /// Name of the program.
    pub name: String,
    /// Systemd service of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Container of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Share of the change; below 0 if it moved against it.
    pub ratio: f64,
}

/// Whoever accounts for a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Culprit {
    /// Name of the program, unit or container.
    pub name: String,
    /// Kind of the culprit.
    pub kind: CulpritKind,
    /// Share of the change.
    pub ratio: f64,
    /// Number of its process, if a program has exactly one now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Minute in which its use began to change; absent if it changed all the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
}

/// Kind of a culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CulpritKind {
    /// All processes of one name in one unit or container.
    Program,
    /// All programs of a systemd service.
    Unit,
    /// All programs of a container.
    Container,
    /// Processes that lived shorter than from one scan to the next.
    ShortLived,
}
