//! Two runs side by side: by the means of their paths, and by the slowest path of each call, which is what decides.

use serde::Serialize;
use units::Rank;

use crate::{Analysis, Figures};

/// Two runs, with the same ranks or others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Mean of the greatest cost in each call, before.
    pub slowest_before_ns: f64,
    /// Mean of the greatest cost in each call, after.
    pub slowest_after_ns: f64,
    /// Ratio of before to after: more than 1 is faster.
    pub speedup: f64,
    /// Whether the difference is more than chance makes, for calls that do not depend on each other.
    pub verdict: Verdict,
    /// The same ratio of the path that is slowest on average.
    pub speedup_by_means: f64,
    /// Whether the two ratios are on different sides of 1.
    pub means_mislead: bool,
    /// Number of paths slowest on average that got faster, counted from the slowest until one did not.
    pub n_slowest_faster: usize,
    /// Number of ranks that got faster on average, of those that both runs have.
    pub n_faster: usize,
    /// Ranks that both runs have.
    pub ranks: Vec<RankComparison>,
}

/// One rank's path in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankComparison {
    /// Rank whose path it is.
    pub rank: Rank,
    /// Mean cost, arrival waits left out.
    pub before_ns: f64,
    /// Mean cost in the second run, arrival waits left out.
    pub after_ns: f64,
    /// Share of calls in which the path was the slowest.
    pub slowest_before: f64,
    /// The same share in the second run.
    pub slowest_after: f64,
}

/// Outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Faster by more than chance.
    Faster,
    /// Slower by more than chance.
    Slower,
    /// Difference that chance alone could make.
    Undecided,
}

impl Comparison {
    /// `after` compared with `before`.
    #[must_use]
    pub fn of(before: &Analysis, after: &Analysis) -> Self {
        let ranks: Vec<RankComparison> = before
            .paths
            .iter()
            .filter_map(|old| {
                let new = after.path(old.rank)?;
                Some(RankComparison {
                    rank: old.rank,
                    before_ns: old.cost.mean_ns,
                    after_ns: new.cost.mean_ns,
                    slowest_before: old.n_slowest as f64 / before.n_calls as f64,
                    slowest_after: new.n_slowest as f64 / after.n_calls as f64,
                })
            })
            .collect();
        let (slow_before, slow_after) = (descending(before), descending(after));
        let speedup = before.slowest.mean_ns / after.slowest.mean_ns;
        let first = |means: &[f64]| means.first().copied().unwrap_or(f64::NAN);
        let speedup_by_means = first(&slow_before) / first(&slow_after);
        Self {
            slowest_before_ns: before.slowest.mean_ns,
            slowest_after_ns: after.slowest.mean_ns,
            speedup,
            verdict: verdict(&before.slowest, &after.slowest),
            speedup_by_means,
            means_mislead: (speedup > 1.0) != (speedup_by_means > 1.0),
            n_slowest_faster: slow_before.iter().zip(&slow_after).take_while(|(old, new)| new < old).count(),
            n_faster: ranks.iter().filter(|rank| rank.after_ns < rank.before_ns).count(),
            ranks,
        }
    }
}

fn descending(analysis: &Analysis) -> Vec<f64> {
    let mut means: Vec<f64> = analysis.paths.iter().map(|path| path.cost.mean_ns).collect();
    means.sort_by(|a, b| b.total_cmp(a));
    means
}

/// Judges the difference of two means by its standard error (Welch), at 95 %.
fn verdict(before: &Figures, after: &Figures) -> Verdict {
    let squared = |figures: &Figures| figures.deviation_ns.powi(2) / figures.count as f64;
    let reach = 1.96 * (squared(before) + squared(after)).sqrt();
    match after.mean_ns - before.mean_ns {
        longer if longer > reach => Verdict::Slower,
        longer if longer < -reach => Verdict::Faster,
        _ => Verdict::Undecided,
    }
}
