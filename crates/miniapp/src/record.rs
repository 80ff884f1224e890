//! The records of a run, as they stand in its result file (docs/formats/mpi-results.md).

use serde::{Deserialize, Serialize};
use statistics::digest::Summary;
use units::Rank;

use crate::plan::{ConvergenceTest, Data};

/// Kinds of records.
pub mod kind {
    /// [`super::RankTimes`].
    pub const RANK: &str = "miniapp.rank";
    /// [`super::RunSeen`].
    pub const RUN: &str = "miniapp.run";
    /// [`super::Relaxed`].
    pub const SOR: &str = "miniapp.sor";
    /// [`super::Noised`].
    pub const NOISE: &str = "miniapp.noise";
}

/// A run, over all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSeen {
    /// `gsum`, `compute-gsum`, `sor` or `noise-allreduce`.
    pub app: String,
    /// Size of an allreduce; the smallest, if they have several sizes in turn.
    pub size_bytes: u64,
    /// Number of sizes in turn: that one, twice that, and so on.
    pub n_sizes: u32,
    /// Allreduces, or iterations without any.
    pub n_calls: u64,
    /// Time from a barrier to the last allreduce's return, on rank 0.
    pub run_ns: u64,
    /// The quotient of that time and the number of calls.
    pub call_ns: f64,
    /// The share of the time that communication was to take, if one was asked for.
    pub communication_ratio_asked: Option<f64>,
    /// The share that it took, in the mean over ranks.
    pub communication_ratio: f64,
    /// Integers that were sorted between two allreduces.
    pub n_sorted: u64,
    /// The rank that was late on purpose, as `RANK:TIME`.
    pub straggler: Option<String>,
    /// Allreduces that gave a wrong sum on any rank, each counted on each rank.
    pub n_wrong: u64,
}

/// Times of one rank's steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTimes {
    /// Which.
    pub rank: Rank,
    /// Allreduces.
    pub call: Summary,
    /// The median of the last hundred allreduces, in nanoseconds.
    pub call_last_median_ns: f64,
    /// Work between them, a straggler's included.
    pub work: Summary,
    /// Exchanges of borders.
    pub exchange: Summary,
    /// Allreduces with a wrong sum.
    pub n_wrong: u64,
}

/// Result of a relaxation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relaxed {
    /// The data on the grid at the start.
    pub data: Data,
    /// Points on a side.
    pub side: u32,
    /// The factor of relaxation.
    pub relaxation: f64,
    /// The requested limit of convergence.
    pub epsilon: f64,
    /// The test of convergence.
    pub test: ConvergenceTest,
    /// Iterations made.
    pub n_iterations: u64,
    /// The sum of all changes of the last iteration; null without a test.
    pub changed: Option<f64>,
    /// Whether that is below epsilon.
    pub is_converged: bool,
    /// Checksum of all points, 16 hexadecimal digits: the same on any number of ranks after as many iterations.
    pub checksum: String,
}

/// Work and allreduces in turn, as rank 0 saw them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noised {
    /// Time that each rank was to work before each allreduce.
    pub work_ns: u64,
    /// Whether ranks slept for that long, because they have fewer cores than they are.
    pub is_slept: bool,
    /// The requested test.
    pub test: ConvergenceTest,
    /// Whether allreduces were conditional; not so if the library for that was not loaded.
    pub is_conditional: bool,
    /// Calls that said to go on.
    pub n_true: u64,
    /// Calls whose value was the sum of all ranks.
    pub n_exact: u64,
}
