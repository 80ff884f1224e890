//! The records of a sweep, as they stand in its result file (docs/formats/mpi-results.md).

use serde::{Deserialize, Serialize};

use crate::{CallWait, RankWait, SweepTrial};

/// Kinds of records.
pub mod kind {
    /// [`crate::SweepSettings`].
    pub const SETTINGS: &str = "overdecomposition.settings";
    /// [`super::SweepHost`].
    pub const HOST: &str = "overdecomposition.host";
    /// [`super::SweepRun`], one at 1:1 for advice alone.
    pub const ADVISED: &str = "overdecomposition.advised";
    /// [`super::WeighedHosts`].
    pub const WEIGHTS: &str = "overdecomposition.weights";
    /// [`super::TunedSide`].
    pub const TUNED: &str = "overdecomposition.tuned";
    /// [`super::SweepRun`].
    pub const RUN: &str = "overdecomposition.run";
}

/// Things of this host that decide what a sweep can show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepHost {
    /// Simultaneous multithreading: `on`, `off`, `not supported` as the kernel reports it, or `not known`.
    pub smt: String,
    /// Counters by the library that ranks are started with, or the reason why there are none.
    pub counters: Result<(), String>,
}

/// Weights of hosts, which all runs have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeighedHosts {
    /// Weight of each host, in their order.
    pub weights: Vec<f64>,
}

/// Size of a grid that a program found at 1:1 for a share of blocked time, and that all runs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedSide {
    /// Points on a side.
    pub side: u32,
}

/// A run of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRun {
    /// Which.
    pub trial: SweepTrial,
    /// End of the run.
    pub end: RunEnd,
    /// Time from the start of the launcher to its end.
    pub launcher_seconds: f64,
    /// Time that the program printed.
    pub program_seconds: Option<f64>,
    /// Answer that the program printed.
    pub answer: Option<String>,
    /// Last lines of the program's standard error, if it failed.
    pub error: Option<String>,
    /// Rows of the ranks that reported, in order.
    pub ranks: Vec<RankWait>,
    /// Calls of all ranks together, those that took longest first.
    pub calls: Vec<CallWait>,
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// The launcher reported success.
    Well,
    /// The launcher's exit status.
    Failed(i32),
    /// The signal that ended the launcher.
    Killed(i32),
    /// The time limit was reached, and the run was killed.
    Limit,
    /// The program printed so much that the run was killed.
    Output,
}

impl RunEnd {
    /// Returns the fault, if the run did not end well.
    #[must_use]
    pub fn fault(self) -> Option<String> {
        match self {
            Self::Well => None,
            Self::Failed(status) => Some(format!("it failed with status {status}")),
            Self::Killed(signal) => Some(format!("it was ended by signal {signal}")),
            Self::Limit => Some("it reached --limit and was killed".to_owned()),
            Self::Output => Some("it printed more than 256 MiB and was killed".to_owned()),
        }
    }
}

impl SweepRun {
    /// Returns the run time in seconds: that which the program printed, else from `MPI_Init` to `MPI_Finalize` of the
    /// longest rank if all ranks reported it, else the launcher's.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        let reported = || {
            let all = self.ranks.len() == self.trial.n_ranks as usize;
            all.then(|| self.ranks.iter().map(|rank| rank.run_seconds).fold(0.0, f64::max))
        };
        self.program_seconds.or_else(reported).unwrap_or(self.launcher_seconds)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run on two processors that ended well, without files of its ranks.
    pub(crate) fn run(ratio: u32, round: u32, seconds: f64) -> SweepRun {
        SweepRun {
            trial: SweepTrial { ratio, n_ranks: 2 * ratio, round },
            end: RunEnd::Well,
            launcher_seconds: seconds,
            program_seconds: None,
            answer: None,
            error: None,
            ranks: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// A rank that was blocked for half of the time.
    pub(crate) fn rank(rank: u32, seconds: f64) -> RankWait {
        RankWait {
            rank,
            host: "a".to_owned(),
            mode: crate::WaitMode::Block,
            processor: None,
            run_seconds: seconds,
            blocked_seconds: seconds / 2.0,
            call_seconds: seconds / 2.0,
            user_seconds: 1.0,
            system_seconds: 0.5,
            ready_seconds: Some(0.25),
            stolen_seconds: None,
            voluntary_switches: 10,
            involuntary_switches: 1,
            minor_faults: 100,
            major_faults: 0,
            tlp_seconds: None,
            phases: Vec::new(),
        }
    }

    pub(crate) fn call(name: &str, seconds: f64) -> CallWait {
        CallWait { call: name.to_owned(), calls: 10, bytes: 1_000, seconds, blocked_seconds: seconds }
    }

    #[test]
    fn the_run_time_is_the_programs_own_else_that_of_the_longest_rank_else_the_launchers() {
        let mut seen = run(1, 0, 5.0);
        assert_eq!(seen.seconds(), 5.0);
        seen.ranks = vec![rank(0, 3.0)];
        assert_eq!(seen.seconds(), 5.0, "one of two ranks is not all");
        seen.ranks.push(rank(1, 4.0));
        assert_eq!(seen.seconds(), 4.0);
        seen.program_seconds = Some(2.5);
        assert_eq!(seen.seconds(), 2.5);
    }
}
