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
    /// Which.
    pub trial: Trial,
    /// How many round trips, messages, calls or iterations.
    pub n: u64,
    /// What one took: the median of round trips, the 99.9 % quantile of how late messages were, the mean of all else.
    pub took_ns: f64,
    /// What it takes by the model alone, where that is one figure.
    pub modelled_ns: Option<f64>,
}

/// How one cluster's calls were answered. It stands before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Of which run.
    pub trial: Trial,
    /// Its site.
    pub site: String,
    /// By conditional allreduces; none in a sequential run.
    pub counts: Option<Counts>,
    /// What calls took, in stretches of as many of them.
    pub stretches: Vec<Stretch>,
}

/// As `conditional-RANK.jsonl` has them (docs/formats/mpi-conditional.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// All calls.
    pub calls: u64,
    /// Decided by the cluster's own part.
    pub local: u64,
    /// Decided because another cluster had gone on.
    pub inferred: u64,
    /// By other cluster.
    pub remotes: Vec<Remote>,
}

/// What came from one other cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remote {
    /// Which.
    pub cluster: String,
    /// Calls that used what had come before they began.
    pub prefetched: u64,
    /// Calls that waited for it.
    pub waited: u64,
    /// For how long together.
    pub waited_ns: u64,
}

/// Calls that followed each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// The first one's number.
    pub first: u64,
    /// Of what they took.
    pub median_ns: f64,
    /// The longest.
    pub max_ns: f64,
}

/// In which calls of a whole data set a cluster's own part does not decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Needed {
    /// The data set.
    pub data: String,
    /// All iterations.
    pub n_iterations: u64,
    /// By cluster, in their order.
    pub n_needed: Vec<u64>,
}

/// What delayed ranks at two sites. It stands before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Rows of `foretop mpi noise`.
    pub late: Vec<Late>,
    /// Of the stages of its allreduces.
    pub analysis: Analysis,
}

impl Stretch {
    /// At most so many of equal length, of what calls took.
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
