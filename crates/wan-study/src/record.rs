//! The records of a study, as they stand in its result file (docs/formats/mpi-results.md).

use mpi_analysis::Analysis;
use noise::record::Late;
use serde::{Deserialize, Serialize};

use crate::Trial;

/// Kinds of records.
pub mod kind {
    /// [`crate::Settings`].
    pub const SETTINGS: &str = "wan.settings";
    /// [`super::Run`].
    pub const RUN: &str = "wan.run";
    /// [`super::Answered`].
    pub const ANSWERED: &str = "wan.answered";
    /// [`super::Needed`].
    pub const NEEDED: &str = "wan.needed";
    /// [`super::Noise`].
    pub const NOISE: &str = "wan.noise";
}

/// A trial that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The trial.
    pub trial: Trial,
    /// Number of round trips, messages, calls or iterations.
    pub n: u64,
    /// Time of one: the median of round trips, the 99.9 % quantile of how late messages were, the mean of all else.
    pub took_ns: f64,
    /// Time by the model alone, if that is one figure.
    pub modelled_ns: Option<f64>,
}

/// Answers to one cluster's calls. It stands before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Trial of the run.
    pub trial: Trial,
    /// Its site.
    pub site: String,
    /// Counts of conditional allreduces; none in a sequential run.
    pub counts: Option<Counts>,
    /// Times of calls, in stretches of as many of them.
    pub stretches: Vec<Stretch>,
}

/// Counts as in `conditional-RANK.jsonl` (docs/formats/mpi-conditional.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// All calls.
    pub calls: u64,
    /// Calls decided by the cluster's own part.
    pub local: u64,
    /// Calls decided because another cluster had gone on.
    pub inferred: u64,
    /// Calls that used other clusters, by cluster.
    pub remotes: Vec<Remote>,
}

/// Calls that used the part of one other cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remote {
    /// Name of the cluster.
    pub cluster: String,
    /// Calls that used what had come before they began.
    pub prefetched: u64,
    /// Calls that waited for it.
    pub waited: u64,
    /// Time of these waits together.
    pub waited_ns: u64,
}

/// Calls that followed each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// The first one's number.
    pub first: u64,
    /// Median of their times.
    pub median_ns: f64,
    /// Longest of their times.
    pub max_ns: f64,
}

/// Number of calls of a whole data set in which a cluster's own part does not decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Needed {
    /// The data set.
    pub data: String,
    /// All iterations.
    pub n_iterations: u64,
    /// Number of calls by cluster, in their order.
    pub n_needed: Vec<u64>,
}

/// Delays of ranks at two sites. It stands before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Rows of `foretop mpi noise`.
    pub late: Vec<Late>,
    /// Analysis of the stages of its allreduces.
    pub analysis: Analysis,
}

impl Stretch {
    /// Builds at most so many stretches of equal length from the times of calls.
    #[must_use]
    pub fn of(spans_ns: &[f64], n_max: usize) -> Vec<Self> {
        let n_each = spans_ns.len().div_ceil(n_max).max(1);
        let stretch = |(at, spans_ns): (usize, &[f64])| Self {
            first: (at * n_each) as u64,
            median_ns: statistics::median(spans_ns).unwrap_or(0.0),
            max_ns: spans_ns.iter().copied().fold(0.0, f64::max),
        };
        spans_ns.chunks(n_each).enumerate().map(stretch).collect()
    }
}
