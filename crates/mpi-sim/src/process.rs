//! Messages between the launcher of ranks that are processes and the library inside of these ranks, as lines of JSON.

mod launch;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use units::{Rank, SimDuration, SimTime};

use crate::result::{AlgorithmUsed, Waiting};
use crate::world::{Counts, RankCounts};
pub use launch::{LaunchError, Parts, Program, Running};

/// The variable with the descriptors of a [`Setup`] to read and of a pipe for [`Report`]s, and the launcher's process,
/// as in `3,4,1234`.
pub const DESCRIPTORS: &str = "FORETOP_SIM";

/// The simulation that is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The text of the machine file, which has been read without an error.
    pub machine: String,
    /// Number of ranks.
    pub n_ranks: u32,
    /// Protocol by which a rank determines that nothing earlier can arrive.
    pub protocol: des::Protocol,
    /// Ranks that run at a time.
    pub n_workers: std::num::NonZero<u32>,
    /// Whether no two ranks send the same tag to one rank.
    pub has_unique_tags: bool,
    /// Source of the time between calls.
    pub compute: Compute,
    /// Arguments of the program, by which it is found among the processes of a script.
    pub arguments: Vec<String>,
    /// The library to take out of the environment of the ranks' own children.
    pub preloaded: String,
    /// The folder of libraries to take out of it.
    pub searched: String,
}

/// Source of the time between calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compute {
    /// The processor time that a rank takes here, by the machine's speed.
    Direct,
    /// No time.
    None,
    /// Time as with `Direct`, and written to this file, [`crate::compute::Times`].
    Record(PathBuf),
    /// Times from such a file.
    Replay(PathBuf),
    /// Times by the laws in this file, [`crate::compute::Laws`].
    Model(PathBuf),
}

/// A report of the ranks' keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// The first line.
    Begun {
        /// The keeper's process, which ends the run and reports what there is when it is interrupted.
        keeper: i32,
    },
    /// Progress of the ranks.
    Progress {
        /// Ranks that have ended.
        n_ended: u32,
        /// The clock of the one that is furthest behind, in nanoseconds.
        least_ns: u64,
        /// The clock of the one that is furthest ahead, in nanoseconds.
        most_ns: u64,
    },
    /// The reason why the run ended before its time.
    Failed(Failure),
    /// The last line: what each rank did, and what the simulation took.
    Ended {
        /// One for each rank.
        ranks: Vec<RankReport>,
        /// Counters of the protocol.
        counts: Counts,
        /// The algorithms of collective operations that ran.
        algorithms: Vec<AlgorithmUsed>,
        /// Bytes that the ranks share.
        shared_bytes: u64,
    },
}

/// The reason why a run ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The rank where it was seen.
    pub rank: Rank,
    /// Its call, if it was in one.
    pub call: Option<String>,
    /// Its clock.
    pub at: SimTime,
    /// The event, and what every rank waited for if that is the reason.
    pub what: String,
    /// The ranks that waited for ever.
    pub waits: Vec<Waiting>,
}

/// Summary of what a rank did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankReport {
    /// Its clock at the end.
    pub at: SimTime,
    /// Whether it called `MPI_Init` or `MPI_Init_thread`.
    pub is_initialized: bool,
    /// Breakdown of the rank's time.
    pub counts: RankCounts,
    /// Its calls by name.
    pub calls: Vec<CallReport>,
    /// Messages that were sent to it and never received: sender, tag and bytes.
    pub unreceived: Vec<(Rank, i32, u64)>,
    /// Operations that it began and never completed.
    pub n_unfinished: usize,
    /// Processes that it forked, which are not simulated.
    pub n_forks: u64,
}

/// All calls of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReport {
    /// The function.
    pub name: String,
    /// Number of the calls.
    pub n: u64,
    /// Total time of the calls.
    pub span: SimDuration,
    /// Bytes of the messages that they sent.
    pub n_bytes_sent: u64,
}
