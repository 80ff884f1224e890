//! Records in a result of ACE: one struct for each kind of record. Spans are in nanoseconds.
//!
//! The format is in `docs/formats/mpi-results.md`. In the results of a sweep, records carry the number of their cell.

use mpi_run::{AWAY_RATIO_MAX, Neighbour, Offset};
use mpi_trace::Mode;
use netmodel::Cost;
use serde::{Deserialize, Serialize};
use statistics::digest::Summary;
use units::Rank;

use crate::application::Application;
use crate::pattern::Pattern;

/// Kind of [`Point`].
pub const POINT: &str = "ace.point";
/// Kind of [`Model`].
pub const MODEL: &str = "ace.model";
/// Kind of [`Planned`].
pub const APPLICATION: &str = "ace.application";
/// Kind of [`RankResult`].
pub const RANK: &str = "ace.rank";
/// Kind of [`Anomaly`].
pub const ANOMALY: &str = "ace.anomaly";
/// Kind of [`ClockResult`].
pub const CLOCK: &str = "ace.clock";
/// Kind of [`Seen`].
pub const NEIGHBOUR: &str = "ace.neighbour";
/// Kind of [`SweepResult`].
pub const SWEEP: &str = "ace.sweep";
/// Kind of [`Cell`].
pub const CELL: &str = "ace.cell";

/// Name of ping-pong in points and models, beside the names of patterns.
pub const PING_PONG: &str = "ping-pong";

/// Phase one: one size of one exchange, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Number of the cell, in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// Name of the application on whose ranks it was measured.
    pub application: String,
    /// [`PING_PONG`], or a pattern's name for its whole exchange.
    pub what: String,
    /// Mode in which point-to-point messages were sent; none for a collective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Ranks that took part.
    pub n_ranks: u32,
    /// Size of one message.
    pub size_bytes: u64,
    /// Span of half a round trip, or of the exchange on the rank that took longest, each time.
    pub span: Summary,
    /// Length of the exchange that predictions use: the median over batches of exchanges of the mean of each.
    pub span_ns: f64,
}

/// Phase one: the cost model fitted to the points of one exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Number of the cell, in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// Name of the application on whose ranks it was measured.
    pub application: String,
    /// [`PING_PONG`], or a pattern's name for its whole exchange.
    pub what: String,
    /// Ranks that took part.
    pub n_ranks: u32,
    /// The model.
    pub model: Cost,
}

/// Plan before phase two: one emulated application, and its predicted length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Number of the cell, in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// The application as asked for, with open settings filled in.
    pub application: Application,
    /// Its ranks' positions in the world, in the order of its own.
    pub world_ranks: Vec<Rank>,
    /// Cycles of each rank.
    pub n_cycles: u64,
    /// Mean size of a message over these cycles.
    pub size_mean_bytes: f64,
    /// Largest size of a message.
    pub size_max_bytes: u64,
    /// Its predicted length.
    pub predicted: Predicted,
}

/// Predicted lengths of a cycle and a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// The one of the two predictions of the exchange that is used.
    pub basis: Basis,
    /// The reason for that one.
    pub reason: String,
    /// Messages that one exchange takes one after the other.
    pub n_messages: u32,
    /// T_comm by the linear model of ping-pong: the sum over those messages of alpha + beta * n (equation 1).
    pub communication_by_model_ns: f64,
    /// T_comm by the pattern's own exchange, measured.
    pub communication_by_benchmark_ns: f64,
    /// T_comm used, on average over the sizes.
    pub communication_ns: f64,
    /// T_comp, from T_comm and load.
    pub compute_ns: f64,
    /// T_cycle = T_comp + T_comm (equation 2).
    pub cycle_ns: f64,
    /// A barrier that is waited for at once; 0 where cycles have none.
    pub synchronization_ns: f64,
    /// All cycles and their barriers.
    pub run_ns: f64,
}

/// Source of the predicted T_comm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The pattern's own exchange, benchmarked in phase one.
    #[default]
    Benchmark,
    /// The linear model of ping-pong (the paper's equation 1).
    Model,
}

/// Result after phase two: one rank of one application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankResult {
    /// Number of the cell, in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// Name of the application.
    pub application: String,
    /// Position in the application.
    pub rank: Rank,
    /// Position in the world.
    pub world_rank: Rank,
    /// Cycles made.
    pub n_cycles: u64,
    /// Length of the run, without what ACE does between blocks of cycles.
    pub run_ns: f64,
    /// Predicted before the run: benchmarked once.
    pub benchmarked_once: Prediction,
    /// Predicted as the run went, for each block of cycles from those before it.
    pub forecast_as_we_go: Prediction,
    /// The forecasting model; the first block's forecast is the benchmark's.
    pub forecast_model: String,
    /// T_comp as calculated.
    pub compute_calculated_ns: f64,
    /// Deviation of the median compute phase from `compute_calculated_ns`, in percent of the latter.
    pub compute_error_percent: f64,
    /// Whole cycles.
    pub cycle: Summary,
    /// Their compute phases.
    pub compute: Summary,
    /// Their waits for the other ranks before an exchange.
    pub synchronization: Summary,
    /// Their exchanges.
    pub communication: Summary,
    /// Standard deviations by means.
    pub dispersion: Dispersion,
    /// Time that ACE took between blocks of cycles (forecasts included), in total; not part of the run.
    pub between_blocks_ns: f64,
    /// Shares of the time in which this rank was off its core; none in results that lack them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away: Option<Away>,
}

/// Shares of the time in which a rank did not run, by wall time against processor time of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Away {
    /// Share in phase one.
    pub benchmark_ratio: f64,
    /// Share in the run.
    pub run_ratio: f64,
}

impl Away {
    /// The larger one.
    #[must_use]
    pub fn worst_ratio(self) -> f64 {
        self.benchmark_ratio.max(self.run_ratio)
    }
}

impl RankResult {
    /// Returns the shares of the time off its core, if they are so large that the rank's times are the scheduler's.
    #[must_use]
    pub fn is_away(&self) -> Option<Away> {
        self.away.filter(|away| away.worst_ratio() > AWAY_RATIO_MAX)
    }
}

/// A predicted run time, and how wrong it was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Predicted.
    pub run_ns: f64,
    /// Actual less predicted, in percent of predicted; above 0 when the run took longer.
    pub error_percent: f64,
    /// Mean over the blocks of the size of their errors, in percent of what was predicted of the block.
    pub block_error_percent: f64,
}

/// Standard deviations by means, of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dispersion {
    /// Dispersion of whole cycles.
    pub cycle_ratio: f64,
    /// Dispersion of compute phases.
    pub compute_ratio: f64,
    /// Dispersion of exchanges.
    pub communication_ratio: f64,
    /// Dispersion of exchanges in phase one; none if sizes differ.
    pub benchmark_ratio: Option<f64>,
    /// Standard deviation of exchanges by that in phase one; none where that one is 0, or sizes differ.
    pub communication_to_benchmark: Option<f64>,
}

/// Anomaly: cycles of a rank that are out of the ordinary in one of their parts, or a pair of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Anomaly {
    /// Number of the cell, in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// Name of the application.
    pub application: String,
    /// Position of the rank in the application.
    pub rank: Rank,
    /// The part that took too long.
    pub part: Part,
    /// The other rank, with [`Part::Pair`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<Rank>,
    /// Cycles beyond the limit; of a pair, all its cycles.
    pub n_cycles: u64,
    /// Ordinary time: the median of this rank's cycles; of a pair, the median in phase one or that of all ranks.
    pub ordinary_ns: f64,
    /// Limit beyond which a time is anomalous.
    pub limit_ns: f64,
    /// Rule that gives the limit.
    pub rule: String,
    /// Time of all of these beyond the ordinary, in percent of the run; of cycles kept in `worst` only.
    pub share_of_run_percent: f64,
    /// The worst of these cycles, the longest first; at most [`N_WORST`].
    pub worst: Vec<WorstCycle>,
}

/// Number of cycles that an anomaly names.
pub const N_WORST: usize = 16;

/// The part of a cycle in which an anomaly lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The rank's own work: something else was on its core, or its core slowed down.
    Compute,
    /// Waiting for the others: another rank was late.
    Synchronization,
    /// The exchange.
    Communication,
    /// Messages with one other rank, compared to those of all other pairs.
    Pair,
}

/// One anomalous cycle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstCycle {
    /// Which, from 0.
    pub cycle: u64,
    /// Time from the start of the run to the start of the cycle.
    pub at_ns: u64,
    /// Length of the part in this cycle.
    pub span_ns: u64,
    /// Peer of the longest step of the exchange; none for a collective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<Rank>,
}

/// Clock and work of one rank, looked at again at the end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockResult {
    /// Number of the cell, in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// Position in the world.
    pub world_rank: Rank,
    /// Share by which the calibrated work takes longer after phase two than before it; 0.02 is 2 % longer.
    pub calibration_drift_ratio: f64,
    /// Offset of its clock ahead of rank 0's in the end.
    pub offset: Offset,
    /// Overhead of a cycle beside work and messages: clock readings and records, by a dry loop, median.
    /// None for an idle rank.
    pub cycle_overhead_ns: Option<f64>,
}

/// Another process that had more than a twentieth of a core of a host with ranks, from phase one to the end of phase
/// two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Number of the cell, in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// The other process.
    #[serde(flatten)]
    pub neighbour: Neighbour,
}

/// One application in one cell of a sweep, all that figures need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepResult {
    /// The cell.
    #[serde(flatten)]
    pub key: Cell,
    /// Name of the application.
    pub application: String,
    /// Its ranks.
    pub n_ranks: u32,
    /// Predicted before the run.
    pub predicted_run_ns: f64,
    /// The longest of its ranks' runs.
    pub run_ns: f64,
    /// Error of "benchmarked once", in percent of the predicted.
    pub error_percent: f64,
    /// Error of "forecast as we go" on the rank that took longest.
    pub forecast_error_percent: f64,
    /// Standard deviation of exchanges by their mean, the largest of its ranks.
    pub communication_ratio: f64,
    /// Standard deviation of exchanges by that in phase one, the largest of its ranks.
    pub communication_to_benchmark: Option<f64>,
    /// Cycles that were anomalous in any part, the most of its ranks.
    pub n_anomalous_cycles: u64,
    /// Share of phase one or of the run in which a rank was off its core, the largest of all; none in results that do
    /// not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_ratio: Option<f64>,
}

/// A cell of a sweep. As a record of its own it says that the cell is whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its number, from 0 in the order in which they are run.
    pub cell: u32,
    /// Pattern of all applications in it.
    pub pattern: Pattern,
    /// Mode in which point-to-point messages are sent.
    pub mode: Mode,
    /// Size of messages.
    pub size_bytes: u64,
    /// Share of a cycle that is communication.
    pub load_percent: f64,
    /// Applications that run at the same time.
    pub n_applications: u32,
    /// Number of this run among those with the same settings, from 0.
    pub repetition: u32,
}
