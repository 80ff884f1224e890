//! Estimated and measured gain of one ratio, and the residual between them.

use serde::{Deserialize, Serialize};

use super::{AccountError, Term, TimeAccount};

/// Change of one term against 1:1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TermChange {
    /// The term.
    pub term: Term,
    /// Mean growth in seconds per processor; below 0 if the term has shrunk.
    pub growth_seconds: f64,
    /// Standard deviation of the growth over runs; none with a single run of either kind.
    pub spread_seconds: Option<f64>,
}

/// Gain of one ratio against 1:1, in seconds of run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GainAccount {
    /// Mean run time at 1:1.
    pub base_seconds: f64,
    /// Mean run time at this ratio.
    pub run_seconds: f64,
    /// Terms that all runs have.
    pub changes: Vec<TermChange>,
    /// Decrease of idle time less the increase of overheads.
    pub estimated_seconds: f64,
    /// Decrease of run time.
    pub measured_seconds: f64,
    /// Measured less estimated gain: what the account does not explain.
    pub residual_seconds: f64,
    /// Whether memory and TLB wait were counted. If not, growth of user time outside of MPI stands for both.
    pub has_counters: bool,
}

impl TermChange {
    /// Whether the term grew by at least this much, and by more than it varies between runs.
    #[must_use]
    pub fn has_grown(&self, least_seconds: f64) -> bool {
        self.growth_seconds >= least_seconds && self.growth_seconds > self.spread_seconds.unwrap_or(0.0)
    }
}

impl GainAccount {
    /// Returns the growth of a term, if all runs have it.
    #[must_use]
    pub fn growth(&self, term: Term) -> Option<f64> {
        self.changes.iter().find(|change| change.term == term).map(|change| change.growth_seconds)
    }

    /// Returns the residual by the run time at this ratio.
    #[must_use]
    pub fn residual_ratio(&self) -> f64 {
        self.residual_seconds / self.run_seconds
    }

    /// Returns the overheads of the estimate.
    pub fn overheads(&self) -> impl Iterator<Item = &TermChange> {
        self.changes.iter().filter(|change| counts(change.term, self.has_counters))
    }

    /// Returns the sum of all overheads, in seconds per processor.
    #[must_use]
    pub fn overhead_seconds(&self) -> f64 {
        self.overheads().map(|change| change.growth_seconds).sum()
    }

    /// Returns the overhead that grew most; none if none has grown.
    #[must_use]
    pub fn grown_most(&self) -> Option<TermChange> {
        let grown = self.overheads().filter(|change| change.growth_seconds > 0.0);
        grown.max_by(|a, b| a.growth_seconds.total_cmp(&b.growth_seconds)).copied()
    }
}

/// Accounts for the gain of the runs at one ratio over those at 1:1.
///
/// # Errors
/// [`AccountError`] without runs, or if they were made on different numbers of processors.
pub fn gain(base: &[TimeAccount], other: &[TimeAccount]) -> Result<GainAccount, AccountError> {
    let first = base.first().ok_or(AccountError::Nothing { what: "runs at 1:1" })?;
    if other.is_empty() {
        return Err(AccountError::Nothing { what: "runs at this ratio" });
    }
    if let Some(odd) = base.iter().chain(other).find(|account| account.n_processors != first.n_processors) {
        return Err(AccountError::Processors { base: first.n_processors, other: odd.n_processors });
    }
    let changes: Vec<TermChange> = first.mean.keys().filter_map(|term| change(*term, base, other)).collect();
    let has = |wanted: Term| changes.iter().any(|change| change.term == wanted);
    let has_counters = has(Term::Memory) && has(Term::Tlb);
    let growth = |change: &TermChange| if change.term == Term::Idle { change.growth_seconds } else { 0.0 };
    let idle_growth: f64 = changes.iter().map(growth).sum();
    let overheads = changes.iter().filter(|change| counts(change.term, has_counters));
    let estimated_seconds = -idle_growth - overheads.map(|change| change.growth_seconds).sum::<f64>();
    let run = |runs: &[TimeAccount]| mean_of(&runs.iter().map(|run| run.run_seconds).collect::<Vec<_>>()).0;
    let (base_seconds, run_seconds) = (run(base), run(other));
    let measured_seconds = base_seconds - run_seconds;
    let residual_seconds = measured_seconds - estimated_seconds;
    Ok(GainAccount {
        base_seconds,
        run_seconds,
        changes,
        estimated_seconds,
        measured_seconds,
        residual_seconds,
        has_counters,
    })
}

/// Whether a term is part of the estimate: counted misses, or the user time that stands for them, but never both.
fn counts(term: Term, has_counters: bool) -> bool {
    match term {
        Term::Compute => !has_counters,
        Term::Memory | Term::Tlb => has_counters,
        _ => term.is_overhead(),
    }
}

fn change(term: Term, base: &[TimeAccount], other: &[TimeAccount]) -> Option<TermChange> {
    let of = |runs: &[TimeAccount]| runs.iter().map(|run| run.mean.get(&term).copied()).collect::<Option<Vec<f64>>>();
    let ((before, before_variance), (after, after_variance)) = (mean_of(&of(base)?), mean_of(&of(other)?));
    let spread_seconds = before_variance.zip(after_variance).map(|(before, after)| (before + after).sqrt());
    Some(TermChange { term, growth_seconds: after - before, spread_seconds })
}

/// Returns the mean and the variance of some values; no variance for one value.
fn mean_of(values: &[f64]) -> (f64, Option<f64>) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| squares / (values.len() - 1) as f64))
}
