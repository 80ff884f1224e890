//! Verdict of a sweep: the ratio that pays, what limits the gain, and the overhead that grew most.

use mpi_analysis::account::{GainAccount, Term, TermChange, TimeAccount, gain};
use serde::{Deserialize, Serialize};
use text::figure::percent;

use crate::cost::{account, tlp_ratio};
use crate::profile::is_global;
use crate::record::SweepRun;
use crate::speedup::good;
use crate::{CallWait, Speedup, SweepSettings, speedups};

/// Idle time that still counts as a loss, by run time.
const IDLE_RATIO_MIN: f64 = 0.05;
/// Overhead that still counts, by run time at 1:1: the paper's residual up to 4:1, below which its account is blind.
const OVERHEAD_RATIO_MIN: f64 = 0.02;
/// Share of time with more ranks that could compute than processors, below which parallelism is lacking. The paper's
/// programs without gain are below it.
const TLP_RATIO_MIN: f64 = 0.10;
/// Share of blocked time in collectives over all ranks from which they separate phases.
const COLLECTIVE_RATIO_MIN: f64 = 0.5;
/// Decrease of idle time, by that at 1:1, below which phases hardly overlap: the paper's IS has 0.16, its FT 0.47.
const OVERLAP_RATIO_MIN: f64 = 0.25;

/// A limit of the gain, after Table 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limiter {
    /// Processors are idle less than at 1:1, but still idle.
    ProcessorIdle,
    /// Processors have no idle time to be used.
    ProcessorSaturated,
    /// Most of the time, no more ranks can compute than there are processors (thread-level parallelism).
    LackOfTlp,
    /// Cache misses take more time than at 1:1.
    CacheMisses,
    /// TLB misses take more time than at 1:1.
    TlbMisses,
    /// Cache or TLB misses, which cannot be told apart without hardware counters.
    Misses,
    /// Communication, synchronization and context switches take more time than at 1:1.
    SystemActivity,
    /// Collectives over all ranks separate computing from communicating.
    CommunicationPhases,
}

/// A limit with the figure that shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GainLimit {
    /// Which.
    pub limiter: Limiter,
    /// Figure that shows the limit.
    pub reason: String,
}

/// Verdict of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepVerdict {
    /// The fastest ratio above 1:1; `None` if no such run counts, or none at 1:1.
    pub candidate: Option<Speedup>,
    /// Account of its gain, if all ranks reported.
    pub account: Option<GainAccount>,
    /// Limits of its gain.
    pub limits: Vec<GainLimit>,
}

impl Limiter {
    /// Returns the name, as in Table 7.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ProcessorIdle => "processor idle",
            Self::ProcessorSaturated => "processor saturated",
            Self::LackOfTlp => "lack of TLP",
            Self::CacheMisses => "cache misses",
            Self::TlbMisses => "TLB misses",
            Self::Misses => "cache or TLB misses",
            Self::SystemActivity => "system activity",
            Self::CommunicationPhases => "communication phases",
        }
    }
}

impl SweepVerdict {
    /// Judges the runs so far.
    #[must_use]
    pub fn of(settings: &SweepSettings, runs: &[SweepRun]) -> Self {
        let all = speedups(settings, runs);
        let compared = all.into_iter().filter(|one| one.ratio > 1 && one.speedup.is_some());
        let candidate = compared.max_by(|a, b| a.speedup.unwrap_or(0.0).total_cmp(&b.speedup.unwrap_or(0.0)));
        let account = candidate.as_ref().and_then(|one| gain_of(settings, runs, one.ratio));
        let limits = match (&candidate, &account) {
            (Some(candidate), Some((base, gain))) => limits(settings, runs, candidate.ratio, base, gain),
            _ => Vec::new(),
        };
        Self { candidate, account: account.map(|(_, gain)| gain), limits }
    }

    /// Returns the ratio that pays: its whole interval is above 1.
    #[must_use]
    pub fn best(&self) -> Option<&Speedup> {
        self.candidate.as_ref().filter(|one| one.interval.is_some_and(|interval| interval.lower > 1.0))
    }

    /// Returns the overhead that grew most (Table 6), if it grew by enough to count.
    #[must_use]
    pub fn grown_most(&self) -> Option<TermChange> {
        let account = self.account.as_ref()?;
        account.grown_most().filter(|change| change.has_grown(OVERHEAD_RATIO_MIN * account.base_seconds))
    }
}

/// Returns the share of the time at 1:1 in which processors were unused although ranks could compute, if it is so large
/// that a gain may be no more than a larger share of processors that other programs use, too.
pub(crate) fn disturbed_ratio(settings: &SweepSettings, runs: &[SweepRun]) -> Option<f64> {
    let (base, gain) = gain_of(settings, runs, 1)?;
    mean(&base, Term::Unused).map(|seconds| seconds / gain.base_seconds).filter(|ratio| *ratio >= IDLE_RATIO_MIN)
}

/// Returns the account at 1:1 and that of the gain at a ratio, from the runs that count.
pub(crate) fn gain_of(
    settings: &SweepSettings,
    runs: &[SweepRun],
    ratio: u32,
) -> Option<(Vec<TimeAccount>, GainAccount)> {
    let accounts = |ratio: u32| {
        let these = good(runs).into_iter().filter(|run| run.trial.ratio == ratio);
        these.filter_map(|run| account(settings, run).ok().flatten()).collect::<Vec<_>>()
    };
    let base = accounts(1);
    let gain = gain(&base, &accounts(ratio)).ok()?;
    Some((base, gain))
}

fn limits(
    settings: &SweepSettings,
    runs: &[SweepRun],
    ratio: u32,
    base: &[TimeAccount],
    gain: &GainAccount,
) -> Vec<GainLimit> {
    let these: Vec<&SweepRun> = good(runs).into_iter().filter(|run| run.trial.ratio == ratio).collect();
    let mut found = idle_limits(base, gain, &these);
    let parallelism = tlp_ratio(&these, settings.processors_a_host() as usize + 1);
    if let Some(share) = parallelism.filter(|share| *share < TLP_RATIO_MIN && !is_saturated(&found)) {
        let reason = format!("more ranks than processors can compute for {} of the time", percent(share));
        found.push(GainLimit { limiter: Limiter::LackOfTlp, reason });
    }
    found.extend(gain.overheads().filter_map(|change| overhead_limit(change, gain.base_seconds)));
    found
}

fn is_saturated(limits: &[GainLimit]) -> bool {
    limits.iter().any(|limit| limit.limiter == Limiter::ProcessorSaturated)
}

fn idle_limits(base: &[TimeAccount], gain: &GainAccount, runs: &[&SweepRun]) -> Vec<GainLimit> {
    let (Some(growth), Some(before)) = (gain.growth(Term::Idle), mean(base, Term::Idle)) else { return Vec::new() };
    let (before_ratio, ratio) = (before / gain.base_seconds, (before + growth) / gain.run_seconds);
    let idle = format!("processors are idle for {} of the time, {} at 1:1", percent(ratio), percent(before_ratio));
    if ratio < IDLE_RATIO_MIN {
        return vec![GainLimit { limiter: Limiter::ProcessorSaturated, reason: idle }];
    }
    let mut found = Vec::new();
    if growth < 0.0 {
        found.push(GainLimit { limiter: Limiter::ProcessorIdle, reason: idle });
    }
    let share = collective_ratio(runs);
    if share >= COLLECTIVE_RATIO_MIN && -growth < OVERLAP_RATIO_MIN * before {
        let reason = format!("{} of the blocked time is in collectives over all ranks", percent(share));
        found.push(GainLimit { limiter: Limiter::CommunicationPhases, reason });
    }
    found
}

fn mean(accounts: &[TimeAccount], term: Term) -> Option<f64> {
    let all: Vec<f64> = accounts.iter().filter_map(|account| account.mean.get(&term).copied()).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Returns the share of blocked time in collectives that all ranks must have entered.
fn collective_ratio(runs: &[&SweepRun]) -> f64 {
    let all = || runs.iter().flat_map(|run| &run.calls);
    let blocked = |calls: &mut dyn Iterator<Item = &CallWait>| calls.map(|call| call.blocked_seconds).sum::<f64>();
    let whole = blocked(&mut all());
    if whole > 0.0 { blocked(&mut all().filter(|call| is_global(&call.call))) / whole } else { 0.0 }
}

fn overhead_limit(change: &TermChange, base_seconds: f64) -> Option<GainLimit> {
    let limiter = match change.term {
        Term::System => Limiter::SystemActivity,
        Term::Memory => Limiter::CacheMisses,
        Term::Tlb => Limiter::TlbMisses,
        Term::Compute => Limiter::Misses,
        _ => return None,
    };
    let ratio = change.growth_seconds / base_seconds;
    let reason = || format!("{} grew by {} of the run time at 1:1", change.term, percent(ratio));
    change.has_grown(OVERHEAD_RATIO_MIN * base_seconds).then(|| GainLimit { limiter, reason: reason() })
}

#[cfg(test)]
mod tests;
