//! The delay and the threshold with the least sum of squared errors, among all that leave enough on either side.

use super::{Regime, Regimes};
use crate::effort::spend;
use crate::optimize::triangle::Triangle;

/// More thresholds than this are thinned out to evenly spaced ones; beside 1,000 others none is missed by much.
const N_CUTS_MAX: usize = 1000;

/// The least share of rows in a regime, in hundredths, as is usual since Hansen (1997).
const TRIMMED_PERCENT: usize = 15;

/// A target's position, all of the `order` before it known.
pub(super) type Row = usize;

/// The reason why there is nothing to choose from.
pub(super) enum Problem {
    /// Too few samples whose predecessors are all known.
    TooFewRows { have: usize, need: usize },
    /// Too many equal samples.
    NoThreshold,
    /// Forecasts return at no threshold.
    Explosive,
}

/// The least sum of squares over `delays`, each at most `order`, and thresholds at which the regimes are stable;
/// `deviations` have NaN in gaps. Equal sums go to the shorter delay.
pub(super) fn search(
    deviations: &[f64],
    order: usize,
    delays: impl Iterator<Item = usize>,
) -> Result<Regimes, Problem> {
    let rows: Vec<Row> = known_rows(deviations, order).collect();
    if rows.len() < n_rows_min(order) {
        return Err(Problem::TooFewRows { have: rows.len(), need: n_rows_min(order) });
    }
    let (mut best, mut least, mut n_cuts) = (None, f64::INFINITY, 0);
    for delay in delays {
        if !spend(20 * rows.len() * (order + 1).pow(2)) {
            break;
        }
        let sorted = Sorted::new(deviations, order, delay, rows.clone());
        n_cuts += sorted.cuts.len();
        if let Some((regimes, squares)) = sorted.best(least) {
            (best, least) = (Some(regimes), squares);
        }
    }
    best.ok_or(if n_cuts == 0 { Problem::NoThreshold } else { Problem::Explosive })
}

/// The samples that are known as are the `order` before them.
pub(super) fn known_rows(deviations: &[f64], order: usize) -> impl Iterator<Item = Row> {
    let is_known = move |row: &Row| deviations[row - order..=*row].iter().all(|deviation| !deviation.is_nan());
    (order..deviations.len()).filter(is_known)
}

/// Returns the regressors of `row`: 1 and the past, newest first.
pub(super) fn regressors(deviations: &[f64], order: usize, row: Row) -> impl Iterator<Item = f64> {
    std::iter::once(1.0).chain(deviations[row - order..row].iter().rev().copied())
}

/// Two regimes, each with a row more than it estimates: coefficients and a variance.
pub(crate) fn n_rows_min(order: usize) -> usize {
    2 * (order + 3)
}

/// Rows in order of the deviation `delay` before them, and where they may be cut in two: how many go to the lower
/// regime.
struct Sorted<'a> {
    deviations: &'a [f64],
    order: usize,
    delay: usize,
    rows: Vec<Row>,
    cuts: Vec<usize>,
}

impl<'a> Sorted<'a> {
    fn new(deviations: &'a [f64], order: usize, delay: usize, mut rows: Vec<Row>) -> Self {
        let decider = |row: Row| deviations[row - delay];
        rows.sort_by(|one, other| decider(*one).total_cmp(&decider(*other)));
        let n = rows.len();
        let n_side_min = (n * TRIMMED_PERCENT).div_ceil(100).max(n_rows_min(order) / 2);
        let is_between = |cut: &usize| decider(rows[cut - 1]) < decider(rows[*cut]);
        let cuts: Vec<usize> = (n_side_min..=n - n_side_min).filter(is_between).collect();
        let stride = cuts.len().div_ceil(N_CUTS_MAX).max(1);
        let cuts = cuts.into_iter().step_by(stride).collect();
        Self { deviations, order, delay, rows, cuts }
    }

    /// The stable regimes with the least sum of squares, if it is below `least`, and that sum.
    ///
    /// One pass up gives every lower regime, one pass down every upper one (the estimator of Chan 1993).
    fn best(&self, least: f64) -> Option<(Regimes, f64)> {
        let n = self.rows.len();
        let low = self.regimes(self.rows.iter(), self.cuts.iter().copied());
        let mut high = self.regimes(self.rows.iter().rev(), self.cuts.iter().rev().map(|cut| n - cut));
        high.reverse();
        let squares = |idx: usize| [&low[idx], &high[idx]].iter().map(|side| side.variance * side.n_rows as f64).sum();
        let mut order: Vec<(f64, usize)> = (0..self.cuts.len()).map(|idx| (squares(idx), idx)).collect();
        order.retain(|(squares, _)| *squares < least);
        order.sort_by(|one, other| one.0.total_cmp(&other.0));
        let regimes = |idx: usize| {
            let threshold = self.deviations[self.rows[self.cuts[idx] - 1] - self.delay];
            Regimes { delay: self.delay, threshold, low: low[idx].clone(), high: high[idx].clone() }
        };
        order.into_iter().map(|(squares, idx)| (regimes(idx), squares)).find(|(regimes, _)| regimes.is_stable())
    }

    /// The regimes of the first of `rows`, as many as each of `counts` says; those rise.
    fn regimes<'b>(&self, rows: impl Iterator<Item = &'b Row>, counts: impl Iterator<Item = usize>) -> Vec<Regime> {
        let mut triangle = Triangle::new(self.order + 1);
        let mut counts = counts.peekable();
        let mut regimes = Vec::with_capacity(self.cuts.len());
        for (row, n_rows) in rows.zip(1..) {
            triangle.add(regressors(self.deviations, self.order, *row), self.deviations[*row]);
            if counts.next_if_eq(&n_rows).is_some() {
                let solution = triangle.solve();
                let variance = triangle.squares() / n_rows as f64;
                regimes.push(Regime { intercept: solution[0], phi: solution[1..].to_vec(), variance, n_rows });
            }
        }
        regimes
    }
}
