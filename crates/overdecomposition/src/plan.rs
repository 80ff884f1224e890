//! Plan of a sweep: ratios, numbers of ranks, order of the runs.

use std::fmt;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::{HostWeights, RankPlacing, WaitMode};

/// Settings of a sweep. A sweep that is resumed must be given the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepSettings {
    /// The program and its arguments, with `{ranks}`, `{grid}` and `{ratio}` in them as typed.
    pub program: Vec<String>,
    /// Hosts; none for this host alone.
    pub hosts: Vec<String>,
    /// Processors that ranks may use, on all hosts together.
    pub n_processors: u32,
    /// Whether ranks may use all threads of a core, where it has several.
    pub uses_smt: bool,
    /// Numbers of ranks, ascending, each a multiple of the number of processors.
    pub ranks: Vec<u32>,
    /// Runs at each ratio.
    pub n_repeats: u32,
    /// Seed of the order of runs.
    pub seed: u64,
    /// Waiting of ranks.
    pub wait: WaitMode,
    /// Placing of ranks.
    pub placing: RankPlacing,
    /// Weights of hosts.
    pub weights: HostWeights,
    /// Time limit of a run, in milliseconds.
    pub limit_ms: u64,
    /// Regular expression that finds the answer in the program's output.
    pub answer: Option<String>,
    /// Regular expression that finds the run time, in seconds, in the program's output.
    pub time: Option<String>,
}

/// One run of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepTrial {
    /// Ranks by processors.
    pub ratio: u32,
    /// Number of ranks.
    pub n_ranks: u32,
    /// Number of the round, from 0: each has one run at every ratio.
    pub round: u32,
}

/// The reason why a sweep is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A zero.
    #[error("{what} is 0: use 1 or more")]
    Zero {
        /// Which.
        what: &'static str,
    },
    /// The same number of ranks twice.
    #[error("{given} is there twice: state each {what} once")]
    Twice {
        /// Ratio or number of ranks.
        what: &'static str,
        /// The number.
        given: u32,
    },
    /// No run at 1:1.
    #[error("there is no run with {n_processors} ranks, one a processor, which all others are compared with: {remedy}")]
    NoBase {
        /// Number of processors.
        n_processors: u32,
        /// Change of the arguments that helps.
        remedy: String,
    },
    /// Ranks that processors cannot share evenly.
    #[error(
        "{given} ranks cannot share {n_processors} processors evenly: use a multiple of {n_processors}, or change --processors"
    )]
    Uneven {
        /// Number of ranks.
        given: u32,
        /// Number of processors.
        n_processors: u32,
    },
    /// More ranks than an MPI library can have.
    #[error("{ratio} ranks on each of {n_processors} processors are too many: use a smaller ratio")]
    TooMany {
        /// The ratio.
        ratio: u32,
        /// Number of processors.
        n_processors: u32,
    },
    /// A text that is no way of waiting.
    #[error("`{given}` is not a way of waiting: use library, yield or block")]
    Wait {
        /// The text.
        given: String,
    },
    /// A text that is no way of weighing.
    #[error("`{given}` is not a way of weighing hosts: use even or forecast")]
    Weights {
        /// The text.
        given: String,
    },
    /// Weights of a single host, or of hosts that have ranks in turn.
    #[error("--weights forecast divides ranks among hosts: name several with --hosts, and place ranks blocked")]
    NothingToWeigh,
    /// A text that is no way of placing.
    #[error("`{given}` is not a way of placing ranks: use blocked or cyclic")]
    Placing {
        /// The text.
        given: String,
    },
}

impl SweepSettings {
    /// Returns the numbers of ranks for these ratios, ascending.
    ///
    /// # Errors
    /// [`SweepError`] for a 0, a ratio that is there twice, and ratios without 1.
    pub fn ranks_of_ratios(ratios: &[u32], n_processors: u32) -> Result<Vec<u32>, SweepError> {
        let remedy = || format!("add 1 to --ratios, as in 1,{}", listed(ratios));
        check("a ratio", ratios)?;
        check_base("ratio", ratios, 1, n_processors, remedy)?;
        let ranks = sorted(ratios).into_iter().map(|ratio| {
            let n_ranks = ratio.checked_mul(n_processors).filter(|n_ranks| *n_ranks <= N_RANKS_MAX);
            n_ranks.ok_or(SweepError::TooMany { ratio, n_processors })
        });
        ranks.collect()
    }

    /// Returns these numbers of ranks, ascending, for programs that cannot run with any number.
    ///
    /// # Errors
    /// [`SweepError`] for a 0, a number that is there twice, numbers without that of the processors, and one that the
    /// processors cannot share.
    pub fn ranks_as_given(ranks: &[u32], n_processors: u32) -> Result<Vec<u32>, SweepError> {
        check("a number of ranks", ranks)?;
        if let Some(&given) = ranks.iter().find(|ranks| !ranks.is_multiple_of(n_processors)) {
            return Err(SweepError::Uneven { given, n_processors });
        }
        let least = ranks.iter().min().copied().unwrap_or(1);
        let remedy = || format!("add {n_processors} to --ranks, or use --processors {least}");
        check_base("number of ranks", ranks, n_processors, n_processors, remedy)?;
        Ok(sorted(ranks))
    }

    /// Returns all runs: rounds with one run at every ratio each, in an order that depends only on the seed.
    #[must_use]
    pub fn trials(&self) -> Vec<SweepTrial> {
        let mut chance = ChaCha8Rng::seed_from_u64(self.seed);
        let round = |round| {
            let mut trials: Vec<SweepTrial> = self.ranks.iter().map(|&n_ranks| self.trial(n_ranks, round)).collect();
            trials.shuffle(&mut chance);
            trials
        };
        (0..self.n_repeats).flat_map(round).collect()
    }

    /// Returns the ratios, ascending; the first is 1.
    #[must_use]
    pub fn ratios(&self) -> Vec<u32> {
        self.ranks.iter().map(|n_ranks| n_ranks / self.n_processors).collect()
    }

    /// Returns the number of processors of each host.
    #[must_use]
    pub fn processors_a_host(&self) -> u32 {
        let n_hosts = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        (self.n_processors / n_hosts.max(1)).max(1)
    }

    fn trial(&self, n_ranks: u32, round: u32) -> SweepTrial {
        SweepTrial { ratio: n_ranks / self.n_processors, n_ranks, round }
    }
}

/// More ranks than this on the hosts of one sweep are a slip of the pen.
const N_RANKS_MAX: u32 = 1 << 16;

fn check(what: &'static str, numbers: &[u32]) -> Result<(), SweepError> {
    if numbers.contains(&0) { Err(SweepError::Zero { what }) } else { Ok(()) }
}

fn check_base(
    what: &'static str,
    numbers: &[u32],
    base: u32,
    n_processors: u32,
    remedy: impl Fn() -> String,
) -> Result<(), SweepError> {
    if !numbers.contains(&base) {
        return Err(SweepError::NoBase { n_processors, remedy: remedy() });
    }
    match sorted(numbers).windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(SweepError::Twice { what, given: pair[0] }),
        None => Ok(()),
    }
}

fn sorted(numbers: &[u32]) -> Vec<u32> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the most square grid of so many ranks, the longer side first: 4 and 2 for 8 ranks.
#[must_use]
pub fn grid(n_ranks: u32) -> (u32, u32) {
    let shorter = (1..=n_ranks.isqrt()).rev().find(|side| n_ranks.is_multiple_of(*side)).unwrap_or(1);
    (n_ranks / shorter, shorter)
}

/// Returns an argument for one run: `{ranks}`, `{grid}` (as in `4x2`) and `{ratio}` are replaced, all else is kept.
#[must_use]
pub fn substituted(argument: &str, trial: &SweepTrial) -> String {
    let (longer, shorter) = grid(trial.n_ranks);
    argument
        .replace("{ranks}", &trial.n_ranks.to_string())
        .replace("{grid}", &format!("{longer}x{shorter}"))
        .replace("{ratio}", &trial.ratio.to_string())
}

impl fmt::Display for SweepTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:1, {} ranks, round {}", self.ratio, self.n_ranks, self.round + 1)
    }
}

#[cfg(test)]
pub(crate) mod tests;
