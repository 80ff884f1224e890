//! Identity and state of a node.

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// The node that answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct NodeInfo {
    /// The host's name.
    pub host: String,
    /// Version of the program.
    pub version: String,
    /// Moment when the node started.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started: Timestamp,
    /// Time between two samples of a sensor.
    pub step_seconds: f64,
    /// The model that sensor series are to be forecast with.
    pub model: String,
    /// Whether the node answers `GET /api/v1/kernel`, because it was started with an agent that measures the kernel.
    #[serde(default)]
    pub has_kernel_agent: bool,
    /// Limits of the node's control group, its container or service, and of those above it; absent if none was tighter
    /// than the host when the node started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<HostLimits>,
}

/// Limits of a node's control group. Those that are no tighter than the host are absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct HostLimits {
    /// Most memory that the group may use, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Most cores that the group may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_cores: Option<f64>,
}

/// Answer of `GET /healthz`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Health {
    /// State of the node in a word.
    pub status: Status,
    /// One sentence for each thing that a person should look at.
    pub problems: Vec<String>,
    /// Signals that this host does not have.
    pub absent: Vec<Absent>,
    /// Deadlines at which no sample was taken.
    pub missed_deadlines: u64,
    /// State of the store.
    pub store: StoreHealth,
    /// Time by which the wall clock is behind the labels of samples, after it was set back.
    pub clock_behind_seconds: f64,
    /// Samples that models have still to take, after a start, a long gap or a large push; until then, forecasts begin
    /// before them.
    #[serde(default)]
    pub catching_up: CatchingUp,
}

/// Samples that are stored, and that models have still to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct CatchingUp {
    /// Number of samples.
    pub samples: u64,
    /// Number of series that these samples belong to.
    pub series: u64,
}

/// State of the node in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing to look at.
    Ok,
    /// The node serves, and something is wrong.
    Degraded,
}

/// Signals that this host does not have, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Absent {
    /// The signals, with `*` for any text.
    pub signal: String,
    /// The reason why the signals are absent.
    pub reason: String,
}

/// State of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct StoreHealth {
    /// Whether the last write succeeded.
    pub ok: bool,
    /// Samples in memory that are still to be written.
    pub backlog_samples: u64,
    /// Samples given up because there was no room for them.
    pub dropped_samples: u64,
}

/// Answer of `GET /readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Readiness {
    /// Whether the first tick is in and the store is open.
    pub ready: bool,
    /// The reason why the node is not ready; absent when it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
