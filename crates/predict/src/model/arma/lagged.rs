//! Sums of products of rows with themselves and each other at many lags, each from the one before it.
//!
//! A regression on lagged rows has normal equations whose elements one step down the diagonal differ by the ends of the
//! row only: the first row and column of each block are sums over all samples, the rest follows.

use std::ops::Range;

use super::super::linear::dot;

/// A row with zeros before its beginning, to be read at lags 1 to `n_lags`.
pub(super) struct Lagged {
    values: Vec<f64>,
    n_lags: usize,
    n_zeros: usize,
}

impl Lagged {
    pub(super) fn new(row: &[f64], n_lags: usize) -> Self {
        // One more than is read: the step down the diagonal looks one further back.
        let n_zeros = n_lags + 1;
        let mut values = vec![0.0; n_zeros + row.len()];
        values[n_zeros..].copy_from_slice(row);
        Self { values, n_lags, n_zeros }
    }

    fn at(&self, t: usize, lag: usize) -> f64 {
        self.values[self.n_zeros + t - lag]
    }

    fn stretch(&self, run: &Range<usize>, lag: usize) -> &[f64] {
        &self.values[self.n_zeros + run.start - lag..self.n_zeros + run.end - lag]
    }

    /// The sum over `runs` of `other` at t times this at t - lag.
    pub(super) fn product(&self, lag: usize, other: &[f64], runs: &[Range<usize>]) -> f64 {
        runs.iter().map(|run| dot(&other[run.clone()], self.stretch(run, lag))).sum()
    }
}

/// The sums over `runs` of `left` at t - i times `right` at t - j, with i and j from 1, one i after the other.
pub(super) fn products(left: &Lagged, right: &Lagged, runs: &[Range<usize>]) -> Vec<f64> {
    let (n, m) = (left.n_lags, right.n_lags);
    let is_square = std::ptr::eq(left, right);
    let sum =
        |i: usize, j: usize| -> f64 { runs.iter().map(|run| dot(left.stretch(run, i), right.stretch(run, j))).sum() };
    let mut block = vec![0.0; n * m];
    if n == 0 || m == 0 {
        return block;
    }
    (0..m).for_each(|j| block[j] = sum(1, j + 1));
    (1..n).for_each(|i| block[i * m] = if is_square { block[i] } else { sum(i + 1, 1) });
    for i in 1..n {
        for j in 1..m {
            // From lags i and j to i + 1 and j + 1: a product comes in at the start of each run, and one goes at its
            // end.
            let change = |run: &Range<usize>| {
                left.at(run.start, i + 1) * right.at(run.start, j + 1)
                    - left.at(run.end, i + 1) * right.at(run.end, j + 1)
            };
            block[i * m + j] = block[(i - 1) * m + j - 1] + runs.iter().map(change).sum::<f64>();
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_lagged_rows() {
        let one: Vec<f64> = (0..30).map(|t| (f64::from(t) * 0.7).sin()).collect();
        let other: Vec<f64> = (0..30).map(|t| f64::from(t * 7 % 11) - 5.0).collect();
        let runs = [4..11, 13..14, 20..30];
        let (left, right) = (Lagged::new(&one, 4), Lagged::new(&other, 6));
        let value = |row: &[f64], t: usize, lag: usize| t.checked_sub(lag).map_or(0.0, |t| row[t]);
        for (left, right, one, other) in [(&left, &right, &one, &other), (&left, &left, &one, &one)] {
            let block = products(left, right, &runs);
            for i in 0..left.n_lags {
                for j in 0..right.n_lags {
                    let sum = |run: &Range<usize>| {
                        run.clone().map(|t| value(one, t, i + 1) * value(other, t, j + 1)).sum::<f64>()
                    };
                    let expected: f64 = runs.iter().map(sum).sum();
                    assert!((block[i * right.n_lags + j] - expected).abs() < 1e-12, "lags {} {}", i + 1, j + 1);
                }
            }
        }
    }
}
