//! The records of a study, as they stand in its result file (docs/formats/mpi-results.md).

use mpi_analysis::Analysis;
use serde::{Deserialize, Serialize};

use crate::{Pair, Trial};

/// Kinds of records.
pub mod kind {
    /// [`crate::Settings`].
    pub const SETTINGS: &str = "trees.settings";
    /// [`super::Run`].
    pub const RUN: &str = "trees.run";
    /// [`super::Paired`].
    pub const PAIR: &str = "trees.pair";
    /// [`super::Inside`].
    pub const INSIDE: &str = "trees.inside";
}

/// A trial that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Which.
    pub trial: Trial,
    /// Time of a call; null if the run failed.
    pub call_ns: Option<f64>,
    /// Share of the time in communication.
    pub communication_ratio: f64,
}

/// A pair that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Which.
    pub pair: Pair,
    /// Time of a call without the subject.
    pub without_ns: f64,
    /// And with it.
    pub with_ns: f64,
    /// The figures of a monitor, as the monitor reports them.
    pub monitor: Option<Monitored>,
}

/// Figures of a monitor, as the monitor reports them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Monitored {
    /// Records that it read, by those that there were.
    pub gathered_ratio: f64,
    /// Records that it came too late for.
    pub n_discarded: u64,
    /// Processor time of its threads, by the time that it ran.
    pub cpu_ratio: f64,
}

/// Breakdown of the time in a run over a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inside {
    /// The run.
    pub trial: Trial,
    /// The analysis of its stages.
    pub analysis: Analysis,
}
