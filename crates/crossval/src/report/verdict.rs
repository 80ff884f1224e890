//! Verdict on a lead: the model that wins, by how much, and whether that could be luck.

use std::collections::BTreeMap;

use statistics::{Friedman, SignedRank, friedman, holm, signed_rank};

use crate::results::{Results, Score};

use super::blocks::{Window, disjoint};

/// The findings at one lead.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) lead: usize,
    /// The best first, those without a case left out.
    pub(crate) standings: Vec<Standing>,
    /// Over windows that all models of the template were judged on and whose test parts do not overlap.
    pub(crate) friedman: Option<Friedman>,
    /// Every pair of models, with p-values adjusted over all pairs.
    pub(crate) pairs: Vec<Pair>,
}

/// Results of a model of the template.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) family_idx: usize,
    /// The share of comparisons with other models on the same window that it won, ties counting half.
    pub(crate) win_share: f64,
    /// Medians over cases: loss over that of the mean, and squared error over that of the last value.
    pub(crate) over_mean: f64,
    pub(crate) over_last: f64,
    /// Mean shares of samples inside the 50, 80 and 95 % intervals.
    pub(crate) coverage: [f64; 3],
}

/// Two models on the same windows.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) first: usize,
    pub(crate) second: usize,
    /// Geometric mean of the first one's loss over the second one's, over all windows where both have one.
    pub(crate) ratio: f64,
    /// Over windows whose test parts do not overlap.
    pub(crate) test: SignedRank,
    pub(crate) p_adjusted: f64,
}

impl Verdict {
    /// `None` of a model without a case.
    pub(crate) fn standing(&self, family_idx: usize) -> Option<&Standing> {
        self.standings.iter().find(|standing| standing.family_idx == family_idx)
    }

    pub(crate) fn pair(&self, first: usize, second: usize) -> Option<Pair> {
        let same = |pair: &&Pair| (pair.first, pair.second) == (first, second);
        let swapped = |pair: &&Pair| (pair.first, pair.second) == (second, first);
        let turned = |pair: &Pair| Pair { first, second, ratio: 1.0 / pair.ratio, ..pair.clone() };
        self.pairs.iter().find(same).cloned().or_else(|| self.pairs.iter().find(swapped).map(turned))
    }
}

/// The mean over leads of what is known of a model; NaN of one without a case.
pub(crate) fn over_leads(verdicts: &[Verdict], family_idx: usize, of: impl Fn(&Standing) -> f64) -> f64 {
    mean(verdicts.iter().filter_map(|verdict| verdict.standing(family_idx)).map(of))
}

/// One for each lead of the report.
pub(crate) fn verdicts(results: &Results) -> Vec<Verdict> {
    let windows = Window::all(&results.records);
    (0..results.leads.len()).map(|lead_idx| of_lead(results, &windows, lead_idx)).collect()
}

fn of_lead(results: &Results, windows: &[Window<'_>], lead_idx: usize) -> Verdict {
    let n_families = results.families.len();
    let complete = |window: &&Window<'_>| window.losses(lead_idx, n_families).iter().all(|loss| !loss.is_nan());
    let blocks: Vec<Vec<f64>> = disjoint(windows.iter().filter(complete), |window| window.place())
        .into_iter()
        .map(|window| window.losses(lead_idx, n_families))
        .collect();
    let pairs = (0..n_families).flat_map(|first| (first + 1..n_families).map(move |second| (first, second)));
    let mut pairs: Vec<Pair> =
        pairs.filter_map(|(first, second)| pair(windows, lead_idx, n_families, first, second)).collect();
    let adjusted = holm(&pairs.iter().map(|pair| pair.test.p_value).collect::<Vec<_>>());
    pairs.iter_mut().zip(adjusted).for_each(|(pair, adjusted)| pair.p_adjusted = adjusted);
    Verdict {
        lead: results.leads[lead_idx],
        standings: standings(windows, lead_idx, n_families),
        friedman: friedman(&blocks),
        pairs,
    }
}

/// The standings by the share of comparisons won.
pub(crate) fn standings(windows: &[Window<'_>], lead_idx: usize, n_families: usize) -> Vec<Standing> {
    let (mut n_won, mut n_compared) = (vec![0.0; n_families], vec![0_u64; n_families]);
    for window in windows {
        let losses = window.losses(lead_idx, n_families);
        for first in 0..n_families {
            for second in (0..n_families).filter(|second| *second != first) {
                if losses[first].is_nan() || losses[second].is_nan() {
                    continue;
                }
                n_compared[first] += 1;
                n_won[first] += match losses[first].total_cmp(&losses[second]) {
                    std::cmp::Ordering::Less => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Greater => 0.0,
                };
            }
        }
    }
    let mut by_family: BTreeMap<usize, Vec<&Score>> = BTreeMap::new();
    let records = windows.iter().flat_map(|window| window.cases);
    records.for_each(|record| by_family.entry(record.family_idx).or_default().push(&record.scores[lead_idx]));
    let standing = |(family_idx, scores): (usize, Vec<&Score>)| Standing {
        family_idx,
        win_share: if n_compared[family_idx] == 0 { 0.5 } else { n_won[family_idx] / n_compared[family_idx] as f64 },
        over_mean: median(scores.iter().map(|score| score.loss / score.naive)),
        over_last: median(scores.iter().map(|score| score.over_last)),
        coverage: [0, 1, 2].map(|idx| mean(scores.iter().map(|score| score.coverage[idx]))),
    };
    let mut standings: Vec<Standing> = by_family.into_iter().map(standing).collect();
    standings.sort_by(|a, b| b.win_share.total_cmp(&a.win_share));
    standings
}

/// `None` without a window that both were judged on.
fn pair(windows: &[Window<'_>], lead_idx: usize, n_families: usize, first: usize, second: usize) -> Option<Pair> {
    let both = |window: &&Window<'_>| {
        let losses = window.losses(lead_idx, n_families);
        !losses[first].is_nan() && !losses[second].is_nan()
    };
    let difference = |window: &Window<'_>| {
        let losses = window.losses(lead_idx, n_families);
        log_ratio(losses[first], losses[second])
    };
    let ratios = windows.iter().filter(both).map(difference);
    let ratio = mean(ratios.map(|ratio| if ratio.is_finite() { ratio } else { f64::NAN })).exp();
    let blocks = disjoint(windows.iter().filter(both), |window| window.place());
    if blocks.is_empty() {
        return None;
    }
    let differences: Vec<f64> = blocks.into_iter().map(difference).collect();
    Some(Pair { first, second, ratio, test: signed_rank(&differences), p_adjusted: 1.0 })
}

/// 0 where both are without error, or both failed.
pub(crate) fn log_ratio(first: f64, second: f64) -> f64 {
    if first == second { 0.0 } else { first.ln() - second.ln() }
}

/// Returns the median of the known values; NaN of none. An infinite value counts: a model that failed in most cases has
/// no finite median.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut known: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    known.sort_by(f64::total_cmp);
    match known.len() {
        0 => f64::NAN,
        n if n.is_multiple_of(2) => 0.5 * (known[n / 2 - 1] + known[n / 2]),
        n => known[n / 2],
    }
}

/// Returns the mean of the known values; NaN of none.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.filter(|value| !value.is_nan()).fold((0_u64, 0.0), |(n, sum), value| (n + 1, sum + value));
    sum / n as f64
}
