//! Accounting of run time with several ranks a processor against the run with one (Bongo, thesis of 2007, section 8.3).
//!
//! The estimated gain is the decrease of idle time less the increase of system time, memory wait and TLB wait. The
//! residual is the measured gain less the estimated one. All times are seconds per processor, so that runs with
//! different numbers of ranks can be compared. For a phase of a program, the caller passes the costs of that phase.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use units::Rank;

mod gain;

pub use gain::{GainAccount, TermChange, gain};

/// A term of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Term {
    /// Time in which a processor had no rank that could compute.
    Idle,
    /// Time in which ranks did not use a processor although there were enough that could compute: they were bound to
    /// another one or waking up, or another program had the processor. It explains a part of the residual.
    Unused,
    /// Time in which ranks could compute but had no processor.
    Ready,
    /// System time: communication, synchronization, context switches.
    System,
    /// Time that the hypervisor gave to other guests.
    Steal,
    /// Cache misses times their penalties.
    Memory,
    /// TLB misses times their penalties.
    Tlb,
    /// User time outside of MPI, as far as it is known: its growth stands for memory and TLB wait where there are no
    /// counters.
    Compute,
    /// Wait for messages that were sent before they were waited for.
    NetworkWait,
    /// Wait for messages that were not sent yet.
    SynchronizationWait,
    /// Both waits together, where traces and trees cannot tell them apart.
    Wait,
}

/// Seconds of each term that was measured; a term that is absent was not measurable.
pub type TermSeconds = BTreeMap<Term, f64>;

/// Misses of one cache or TLB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Misses {
    /// Number of misses.
    pub n_misses: u64,
    /// Time that one miss takes, in nanoseconds.
    pub penalty_ns: f64,
}

/// Hardware counters of one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissCounters {
    /// Misses of each cache.
    pub caches: Vec<Misses>,
    /// Misses of each TLB.
    pub tlbs: Vec<Misses>,
}

/// Waiting time of one rank, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitSeconds {
    /// Both waits together.
    Together(f64),
    /// Each by itself, where a trace tells whether a message was sent before it was waited for.
    Apart {
        /// Wait for the network.
        network: f64,
        /// Wait for the sender.
        synchronization: f64,
    },
}

/// Cost of one rank in a run or a phase of it, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct RankCost {
    /// The rank.
    pub rank: Rank,
    /// Name of its host.
    pub host: String,
    /// Wall time.
    pub run_seconds: f64,
    /// User time.
    pub user_seconds: f64,
    /// System time.
    pub system_seconds: f64,
    /// User time outside of MPI, if it is known.
    pub compute_seconds: Option<f64>,
    /// Time in which the rank could run but had no processor, if it is known.
    pub ready_seconds: Option<f64>,
    /// Time in blocking calls.
    pub waiting: WaitSeconds,
    /// Hardware counters, if there are any.
    pub counters: Option<MissCounters>,
}

/// Cost of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCost {
    /// Name of the host.
    pub host: String,
    /// Number of its processors that ranks may use.
    pub n_processors: u32,
    /// Idle time of all its processors together, if it was measured: time in which fewer ranks could compute than there
    /// are processors. Otherwise idle time is what user, system and steal time leave of the run.
    pub idle_seconds: Option<f64>,
    /// Whether waiting ranks use their processor, because they spin or yield: then processor time tells nothing of
    /// computing, and [`Term::Unused`] is not known.
    pub waits_use_processor: bool,
    /// Stolen time of all its processors together, if the kernel reports it.
    pub steal_seconds: Option<f64>,
}

/// Account of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeAccount {
    /// Number of processors of all hosts.
    pub n_processors: u32,
    /// Wall time: that of the longest rank.
    pub run_seconds: f64,
    /// Mean over all processors of the cluster: waits move between hosts from run to run, their mean does not.
    pub mean: TermSeconds,
    /// Mean over the processors of each host, by its name.
    pub hosts: BTreeMap<String, TermSeconds>,
    /// Terms of each rank: seconds of the rank itself, without idle and steal, which belong to processors.
    pub ranks: BTreeMap<Rank, TermSeconds>,
}

/// The reason why there is no account.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// A run without ranks, or a comparison without runs.
    #[error("there are no {what}: nothing can be accounted for")]
    Nothing {
        /// Missing things.
        what: &'static str,
    },
    /// A host without processors.
    #[error("host `{host}` has ranks but no processors: state how many of its processors they may use")]
    NoProcessors {
        /// The host.
        host: String,
    },
    /// Runs on different numbers of processors.
    #[error("a run on {other} processors cannot be compared with one on {base}: use the same number")]
    Processors {
        /// Processors at 1:1.
        base: u32,
        /// Processors of the other run.
        other: u32,
    },
}

impl MissCounters {
    /// Returns the time that misses of caches took, in seconds. Overlapped misses make it too long.
    #[must_use]
    pub fn memory_seconds(&self) -> f64 {
        seconds(&self.caches)
    }

    /// Returns the time that misses of TLBs took, in seconds.
    #[must_use]
    pub fn tlb_seconds(&self) -> f64 {
        seconds(&self.tlbs)
    }
}

fn seconds(misses: &[Misses]) -> f64 {
    misses.iter().map(|level| level.n_misses as f64 * level.penalty_ns * 1e-9).sum()
}

impl Term {
    /// All terms, in the order of tables.
    pub const ALL: [Self; 11] = [
        Self::Idle,
        Self::Unused,
        Self::Ready,
        Self::System,
        Self::Steal,
        Self::Memory,
        Self::Tlb,
        Self::Compute,
        Self::NetworkWait,
        Self::SynchronizationWait,
        Self::Wait,
    ];

    /// Returns the name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Unused => "unused while ranks could compute",
            Self::Ready => "ready without a processor",
            Self::System => "system activity",
            Self::Steal => "stolen by the hypervisor",
            Self::Memory => "memory wait",
            Self::Tlb => "TLB wait",
            Self::Compute => "user time",
            Self::NetworkWait => "network wait",
            Self::SynchronizationWait => "synchronization wait",
            Self::Wait => "network and synchronization wait",
        }
    }

    /// Returns the known bias of the term, empty if there is none.
    #[must_use]
    pub fn bias(self) -> &'static str {
        match self {
            Self::System => "too high for programs with many calls: monitoring adds to it, most at high ratios",
            Self::Memory => "too high: overlapped misses count in full",
            Self::Tlb => "too high: page walks overlap with computing",
            Self::Compute => {
                "stands for memory and TLB wait together; user time in MPI, frequency and other guests are in it, too"
            }
            Self::Idle => "includes time that other programs had, where parallelism was not counted",
            Self::Unused => "other programs' time is in it, and processor time of waiting is taken off",
            Self::Ready | Self::Steal => "",
            Self::NetworkWait | Self::SynchronizationWait | Self::Wait => "of all ranks, so it overlaps with computing",
        }
    }

    /// Whether growth of the term is an overhead of overdecomposition in the estimate.
    #[must_use]
    pub fn is_overhead(self) -> bool {
        matches!(self, Self::System | Self::Steal | Self::Memory | Self::Tlb | Self::Compute)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl RankCost {
    fn terms(&self) -> TermSeconds {
        let mut terms = TermSeconds::from([(Term::System, self.system_seconds)]);
        let known = [(Term::Ready, self.ready_seconds), (Term::Compute, self.compute_seconds)];
        terms.extend(known.into_iter().filter_map(|(term, seconds)| Some((term, seconds?))));
        if let Some(counters) = &self.counters {
            terms.extend([(Term::Memory, counters.memory_seconds()), (Term::Tlb, counters.tlb_seconds())]);
        }
        match self.waiting {
            WaitSeconds::Together(seconds) => terms.extend([(Term::Wait, seconds)]),
            WaitSeconds::Apart { network, synchronization } => {
                let both = network + synchronization;
                let apart = [(Term::NetworkWait, network), (Term::SynchronizationWait, synchronization)];
                terms.extend(apart.into_iter().chain([(Term::Wait, both)]));
            }
        }
        terms
    }
}

impl TimeAccount {
    /// Accounts for one run, or one phase of it.
    ///
    /// # Errors
    /// [`AccountError`] without ranks, or if a rank's host is not among `hosts` or has no processors.
    pub fn of(ranks: &[RankCost], hosts: &[HostCost]) -> Result<Self, AccountError> {
        if ranks.is_empty() {
            return Err(AccountError::Nothing { what: "ranks" });
        }
        let usable = |name: &str| hosts.iter().any(|host| host.host == name && host.n_processors > 0);
        if let Some(lost) = ranks.iter().find(|rank| !usable(&rank.host)) {
            return Err(AccountError::NoProcessors { host: lost.host.clone() });
        }
        let run_seconds = ranks.iter().map(|rank| rank.run_seconds).fold(0.0, f64::max);
        let of_hosts = hosts.iter().filter(|host| host.n_processors > 0);
        let sums: Vec<(&HostCost, TermSeconds)> =
            of_hosts.map(|host| (host, host_sum(host, ranks, run_seconds))).collect();
        let n_processors: u32 = sums.iter().map(|(host, _)| host.n_processors).sum();
        let all: Vec<&TermSeconds> = sums.iter().map(|(_, terms)| terms).collect();
        Ok(Self {
            n_processors,
            run_seconds,
            mean: divided(&sum(&all), n_processors),
            hosts: sums.iter().map(|(host, terms)| (host.host.clone(), divided(terms, host.n_processors))).collect(),
            ranks: ranks.iter().map(|rank| (rank.rank, rank.terms())).collect(),
        })
    }
}

/// Returns the terms of all processors of a host together.
fn host_sum(host: &HostCost, ranks: &[RankCost], run_seconds: f64) -> TermSeconds {
    let here: Vec<&RankCost> = ranks.iter().filter(|rank| rank.host == host.host).collect();
    let terms: Vec<TermSeconds> = here.iter().map(|rank| rank.terms()).collect();
    let mut terms = sum(&terms.iter().collect::<Vec<_>>());
    let busy: f64 = here.iter().map(|rank| rank.user_seconds + rank.system_seconds).sum();
    let left = f64::from(host.n_processors) * run_seconds - busy - host.steal_seconds.unwrap_or(0.0);
    terms.insert(Term::Idle, host.idle_seconds.unwrap_or(left.max(0.0)));
    terms.extend(host.idle_seconds.filter(|_| !host.waits_use_processor).map(|idle| (Term::Unused, left - idle)));
    terms.extend(host.steal_seconds.map(|seconds| (Term::Steal, seconds)));
    terms
}

/// Adds up terms that all have: a term that one of them lacks is not measurable.
fn sum(all: &[&TermSeconds]) -> TermSeconds {
    let seen: BTreeSet<Term> = all.iter().flat_map(|terms| terms.keys().copied()).collect();
    let total = |term: Term| all.iter().map(|terms| terms.get(&term).copied()).sum::<Option<f64>>();
    seen.into_iter().filter_map(|term| Some((term, total(term)?))).collect()
}

fn divided(terms: &TermSeconds, n_processors: u32) -> TermSeconds {
    terms.iter().map(|(term, seconds)| (*term, seconds / f64::from(n_processors))).collect()
}

#[cfg(test)]
mod tests;
