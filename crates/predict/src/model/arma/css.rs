//! The conditional sum of squares of an ARMA model: errors before the first predictable sample are 0.

use super::hannan_rissanen;
use super::levenberg_marquardt::{Minimum, Problem, minimize};
use super::polynomial::{is_stable, stabilize};
use crate::spec::Orders;

/// By then it shows which start leads to the least sum.
const N_STEPS_SHORT: usize = 25;

/// Enough for orders of 40; most fits take 5 to 30.
const N_STEPS_MAX: usize = 500;

/// A row of samples and the orders to fit to it.
pub(super) struct Css {
    row: Vec<f64>,
    /// Whether the error of each sample counts; those in gaps do not.
    counts: Vec<bool>,
    n_phi: usize,
    n_theta: usize,
    mean_is_free: bool,
}

/// The least sum of squares that was found.
pub(super) struct Solution {
    pub(super) phi: Vec<f64>,
    pub(super) theta: Vec<f64>,
    /// Of the row; 0 unless it is free.
    pub(super) mean: f64,
    /// Sum of squares over the number of errors that count.
    pub(super) innovation_variance: f64,
}

impl Css {
    pub(super) fn new(row: Vec<f64>, counts: Vec<bool>, orders: Orders, mean_is_free: bool) -> Self {
        Self { row, counts, n_phi: orders.n_phi, n_theta: orders.n_theta, mean_is_free }
    }

    /// A short search from every start, and a long one from the best of their ends; `None` when that does not converge.
    pub(super) fn solve(&self) -> Option<Solution> {
        let short = self.starts().into_iter().filter_map(|start| minimize(self, start, N_STEPS_SHORT));
        let best = short.min_by(|one, other| one.sum_of_squares.total_cmp(&other.sum_of_squares))?;
        let found = if best.has_converged { best } else { minimize(self, best.parameters, N_STEPS_MAX)? };
        found.has_converged.then(|| self.solution(found))
    }

    /// Hannan and Rissanen's estimates with two lengths of the long autoregression, near which the least sum usually
    /// lies, and zeros, which are never far from some minimum.
    fn starts(&self) -> Vec<Vec<f64>> {
        let zeros = vec![0.0; self.n_parameters()];
        let long = self.n_phi.max(self.n_theta) + (10.0 * (self.row.len() as f64).log10()) as usize;
        let regressed = [long, 2 * long].into_iter().filter_map(|n_long| {
            let mut start = hannan_rissanen::estimate(&self.row, self.n_phi, self.n_theta, n_long)?;
            stabilize(&mut start[..self.n_phi]);
            let mut theta: Vec<f64> = start[self.n_phi..].iter().map(|coefficient| -coefficient).collect();
            stabilize(&mut theta);
            start[self.n_phi..].iter_mut().zip(theta).for_each(|(slot, coefficient)| *slot = -coefficient);
            start.resize(self.n_parameters(), 0.0);
            Some(start)
        });
        regressed.chain(std::iter::once(zeros)).collect()
    }

    fn n_parameters(&self) -> usize {
        self.n_phi + self.n_theta + usize::from(self.mean_is_free)
    }

    /// phi, theta, mean.
    fn parts<'p>(&self, parameters: &'p [f64]) -> (&'p [f64], &'p [f64], f64) {
        let (phi, rest) = parameters.split_at(self.n_phi);
        let (theta, mean) = rest.split_at(self.n_theta);
        (phi, theta, mean.first().copied().unwrap_or(0.0))
    }

    fn solution(&self, minimum: Minimum) -> Solution {
        let (phi, theta, mean) = self.parts(&minimum.parameters);
        let n_errors = self.counts[self.n_phi..].iter().filter(|counts| **counts).count();
        Solution {
            phi: phi.to_vec(),
            theta: theta.to_vec(),
            mean,
            innovation_variance: minimum.sum_of_squares / n_errors as f64,
        }
    }

    /// Runs 1/theta(B) over `row` from `n_phi` on, zeros before it and in gaps.
    fn divide_by_theta(&self, theta: &[f64], row: &mut [f64]) {
        for t in self.n_phi..row.len() {
            let n_known = theta.len().min(t - self.n_phi);
            let known: f64 = (0..n_known).map(|j| theta[j] * row[t - 1 - j]).sum();
            row[t] = if self.counts[t] { row[t] - known } else { 0.0 };
        }
    }
}

impl Problem for Css {
    fn residuals(&self, parameters: &[f64], residuals: &mut Vec<f64>) -> bool {
        let (phi, theta, mean) = self.parts(parameters);
        if !is_stable(phi.iter().copied()) || !is_stable(theta.iter().map(|coefficient| -coefficient)) {
            return false;
        }
        residuals.clear();
        residuals.resize(self.row.len(), 0.0);
        for t in self.n_phi..self.row.len() {
            let predicted: f64 = phi.iter().enumerate().map(|(i, phi)| phi * (self.row[t - 1 - i] - mean)).sum();
            residuals[t] = self.row[t] - mean - predicted;
        }
        self.divide_by_theta(theta, residuals);
        true
    }

    fn jacobian(&self, parameters: &[f64], residuals: &[f64], rows: &mut Vec<f64>) {
        let (phi, theta, mean) = self.parts(parameters);
        let (n, n_columns) = (self.row.len(), self.n_parameters());
        rows.clear();
        rows.resize(n * n_columns, 0.0);
        for t in (self.n_phi..n).filter(|t| self.counts[*t]) {
            let (earlier, row) = rows[..(t + 1) * n_columns].split_at_mut(t * n_columns);
            for lag in 1..=self.n_phi {
                row[lag - 1] = mean - self.row[t - lag];
            }
            for lag in 1..=self.n_theta.min(t) {
                row[self.n_phi + lag - 1] = -residuals[t - lag];
            }
            if self.mean_is_free {
                row[n_columns - 1] = phi.iter().sum::<f64>() - 1.0;
            }
            // 1/theta(B) runs over all derivatives side by side, which keeps the vector registers full.
            for (lag, coefficient) in theta.iter().enumerate().take(t - self.n_phi) {
                let known = &earlier[(t - 1 - lag) * n_columns..][..n_columns];
                row.iter_mut().zip(known).for_each(|(slope, known)| *slope -= coefficient * known);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jacobian_is_the_slope_of_the_residuals() {
        let row: Vec<f64> = (0..60).map(|t| (f64::from(t) * 0.9).sin() + f64::from(t * 31 % 17) / 10.0).collect();
        let orders = Orders { n_phi: 2, n_differences: 0, n_theta: 2, truncation: None };
        let counts = (0..60).map(|t| t != 23).collect();
        let css = Css::new(row, counts, orders, true);
        let at = [0.4, -0.2, 0.3, 0.25, 0.7];
        let (mut residuals, mut rows, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        assert!(css.residuals(&at, &mut residuals));
        css.jacobian(&at, &residuals, &mut rows);
        for idx in 0..at.len() {
            let mut aside = at;
            aside[idx] += 1e-7;
            assert!(css.residuals(&aside, &mut moved));
            for t in 0..60 {
                let slope = (moved[t] - residuals[t]) / 1e-7;
                // A difference quotient is good to the square root of rounding.
                assert!((rows[t * at.len() + idx] - slope).abs() < 1e-5, "parameter {idx}, residual {t}");
            }
        }
    }
}
