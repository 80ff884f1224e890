//! Plan of the runs: topologies, trials and their order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use units::ByteCount;

/// Sizes of the first paper's sums.
pub(crate) const SIZES: [u64; 2] = [4, 256];
/// Size of the second paper's sums.
pub const WATCHED_BYTES: u64 = 8;
/// Programs that run while they are watched, one after the other.
pub const WATCHED: [Workload; 3] = [Workload::Gsum, Workload::ComputeGsum, Workload::FourTrees];

/// Settings of a study. A study that is taken up again must be given the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The topologies on which trees are compared. The cost of watching is measured on the first.
    pub topologies: Vec<Topology>,
    /// Allreduces in a run.
    pub n_calls: u64,
    /// Runs of each tree.
    pub n_rounds: u32,
    /// Pairs of stretches for each overhead.
    pub n_pairs: u32,
    /// Milliseconds that a stretch takes.
    pub stretch_ms: u64,
    /// Helper threads of a parallel gather.
    pub n_helpers: u32,
}

/// Hosts, and how many ranks each has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Hosts as launchers have them: `a:4`; empty for this host alone.
    pub hosts: Vec<String>,
    /// Number of ranks on all of them.
    pub n_ranks: u32,
}

/// The reason why settings of a study are refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Not hosts with their ranks.
    #[error("`{}` is not a list of hosts with ranks: write HOST:RANKS,…, as in a:4,b:4", given.escape_debug())]
    Hosts {
        /// The given text.
        given: String,
    },
}

/// One run of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Position among the topologies.
    pub topology: usize,
    /// The program.
    pub workload: Workload,
    /// Size of an allreduce.
    pub size_bytes: u64,
    /// The way in which its allreduces are made.
    pub way: Way,
    /// Number of the round, from 0.
    pub round: u32,
}

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Sums, one after the other.
    Gsum,
    /// Half of the time sums, half of it sorting.
    ComputeGsum,
    /// Relaxation with a convergence test.
    Sor,
    /// Sums over four trees in turn, all like the first tree.
    FourTrees,
}

/// The way in which an allreduce is made in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// The MPI library by itself.
    Library {
        /// Whether waiting ranks give their core away.
        is_yielding: bool,
    },
    /// A tree: its name among the [`crate::configurations`].
    Tree(String),
}

/// A stretch of a run over the first tree with something, right before or after one without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The program.
    pub workload: Workload,
    /// The difference between the stretches.
    pub subject: Subject,
    /// Number of the round, from 0. In odd rounds the stretch with the subject is the first.
    pub round: u32,
}

/// The difference between the stretches of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Nothing: what chance makes of two stretches.
    Nothing,
    /// Whether the stages of calls are recorded.
    Collectors,
    /// Whether a monitor runs besides.
    Monitor(Monitor),
}

/// A monitor, as `foretop mpi watch` is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Monitor {
    /// Which.
    pub kind: Kind,
    /// Threads of a gather besides its own.
    pub n_helpers: u32,
    /// The time when it may read.
    pub gate: Gate,
    /// Trees that it watches, from the first of the program's on.
    pub n_trees: u32,
}

/// Kinds of monitors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The rank that is last, found where all is gathered.
    LoadBalance,
    /// The rank that is last, counted on each host.
    Distributed,
    /// Figures of all stages.
    Statistics,
}

/// Time when a monitor may read the records of a call (coscheduling).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// Any time.
    Off,
    /// The time after the host has sent its part.
    Sent,
    /// The time after the host has released its ranks.
    Released,
}

impl FromStr for Topology {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let given = || SettingsError::Hosts { given: text.to_owned() };
        let mut n_ranks = 0;
        let hosts = text.split(',').map(|host| {
            let (name, ranks) = host.split_once(':')?;
            n_ranks += ranks.parse::<u32>().ok().filter(|ranks| *ranks > 0 && !name.is_empty())?;
            Some(host.to_owned())
        });
        let hosts = hosts.collect::<Option<Vec<String>>>().ok_or_else(given)?;
        Ok(Self { hosts, n_ranks })
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hosts.len() {
            0 | 1 => write!(f, "1 host, {} ranks", self.n_ranks),
            n_hosts => write!(f, "{n_hosts} hosts, {} ranks", self.n_ranks),
        }
    }
}

impl Workload {
    /// Returns the number of trees that the program uses in turn.
    #[must_use]
    pub fn n_trees(self) -> u32 {
        if self == Self::FourTrees { 4 } else { 1 }
    }
}

impl Kind {
    /// Returns the name that `foretop mpi watch --monitor` has for the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LoadBalance => "load-balance",
            Self::Distributed => "distributed",
            Self::Statistics => "statistics",
        }
    }
}

impl Gate {
    /// Returns the name that `foretop mpi watch --gate` has for the gate.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Sent => "sent",
            Self::Released => "released",
        }
    }
}

impl Settings {
    /// All trials of one topology whose trees have these names, in the order in which they are to be run: a round of
    /// all before the next, so that what drifts meets all alike.
    #[must_use]
    pub fn trials(&self, topology: usize, trees: &[String]) -> Vec<Trial> {
        let mut trials = Vec::new();
        let library = |is_yielding| Way::Library { is_yielding };
        let ways: Vec<Way> = std::iter::once(library(true)).chain(trees.iter().cloned().map(Way::Tree)).collect();
        for round in 0..self.n_rounds {
            for size_bytes in SIZES {
                let of = |way| Trial { topology, workload: Workload::Gsum, size_bytes, way, round };
                trials.extend(ways.iter().cloned().map(of));
                // Where ranks share cores, such a run takes half a minute to start, and says the same each time.
                trials.extend((round == 0).then(|| of(library(false))));
            }
        }
        let way = Way::Tree(crate::FIRST.to_owned());
        trials.push(Trial { topology, workload: Workload::Sor, size_bytes: WATCHED_BYTES, way, round: 0 });
        trials
    }

    /// All pairs of a workload, a round of all before the next.
    #[must_use]
    pub fn pairs(&self, workload: Workload) -> Vec<Pair> {
        let subjects: Vec<Subject> = crate::table::subjects(self.n_helpers, workload);
        (0..self.n_pairs)
            .flat_map(|round| subjects.iter().map(move |&subject| Pair { workload, subject, round }))
            .collect()
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}: {}", self.workload, ByteCount::new(self.size_bytes), self.way)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gsum => "gsum",
            Self::ComputeGsum => "compute-gsum",
            Self::Sor => "sor",
            Self::FourTrees => "gsum over four trees",
        })
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { is_yielding: false } => f.write_str("the MPI library"),
            Self::Library { is_yielding: true } => f.write_str("the MPI library, yielding"),
            Self::Tree(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Collectors => f.write_str("event collectors"),
            Self::Monitor(monitor) => write!(f, "{monitor}"),
        }
    }
}

impl fmt::Display for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gathered = if self.n_helpers == 0 { "sequential" } else { "parallel" };
        write!(f, "{}, {gathered}, gate {}", self.kind.name(), self.gate.name())?;
        if self.n_trees > 1 { write!(f, ", {} trees", self.n_trees) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_written_with_their_ranks() {
        let topology: Topology = "a:4,b:2".parse().unwrap();
        assert_eq!((topology.n_ranks, topology.to_string().as_str()), (6, "2 hosts, 6 ranks"));
        for text in ["", "a", "a:0", "a:4,b", ":3", "a:x"] {
            let error = text.parse::<Topology>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }

    #[test]
    fn each_trial_and_each_pair_is_there_once() {
        let topologies = vec!["a:4,b:4".parse().unwrap()];
        let settings = Settings { topologies, n_calls: 10, n_rounds: 2, n_pairs: 3, stretch_ms: 1, n_helpers: 4 };
        let trials = settings.trials(0, &["flat".to_owned(), "deep".to_owned()]);
        assert!(trials.iter().enumerate().all(|(at, trial)| !trials[..at].contains(trial)));
        for workload in WATCHED {
            let pairs = settings.pairs(workload);
            assert!(
                !pairs.is_empty() && pairs.iter().enumerate().all(|(at, pair)| !pairs[..at].contains(pair)),
                "{pairs:?}"
            );
            let most = pairs.iter().map(|pair| match pair.subject {
                Subject::Monitor(monitor) => monitor.n_trees,
                _ => 1,
            });
            assert_eq!(most.max(), Some(workload.n_trees()));
        }
    }
}
