//! The exact likelihood of a Gaussian ARMA process.
//!
//! log L = -1/2 (n log(2 pi s2) + sum of log F(t) + sum of e(t)^2 / (s2 F(t))), with e(t) the one-step errors and s2
//! F(t) their variances (Brockwell and Davis 1991, section 8.7). The innovation variance s2 is the one that makes it
//! greatest, the mean of e(t)^2 / F(t); so is the mean mu when it is free: e(t) is linear in it, which leaves a
//! weighted regression on a constant.

use std::f64::consts::TAU;

use super::innovations::{Innovations, innovations};
use super::process::Process;

/// Likelihood of coefficients, given a row of samples.
pub(super) struct Likelihood {
    pub(super) innovations: Innovations,
    pub(super) mean: f64,
    /// The weight of the mean in the sum of squares: its standard error is sqrt(s2 / weight). 0 when it is not free.
    pub(super) mean_weight: f64,
    /// Sum of e(t)^2 / F(t), at the mean.
    pub(super) sum_of_squares: f64,
    /// Sum of log F(t).
    pub(super) log_variances: f64,
}

/// The mean, free or known.
#[derive(Clone, Copy)]
pub(super) enum Mean {
    Free,
    Known(f64),
}

/// Computes the likelihood of `row`, NaN in gaps; `None` if phi is not stationary.
pub(super) fn likelihood(row: &[f64], phi: &[f64], theta: &[f64], mean: Mean) -> Option<Likelihood> {
    let process = Process::new(phi, theta)?;
    let mut innovations = innovations(&process, row, !matches!(mean, Mean::Known(0.0)));
    let Innovations { errors, of_ones, variances } = &mut innovations;
    let weighted = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).zip(&*variances).map(|((one, other), variance)| one * other / variance).sum()
    };
    let (mean, mean_weight) = match mean {
        Mean::Known(mean) => (mean, 0.0),
        Mean::Free => {
            let weight = weighted(of_ones, of_ones);
            (weighted(of_ones, errors) / weight, weight)
        }
    };
    errors.iter_mut().zip(&*of_ones).for_each(|(error, one)| *error -= mean * one);
    let sum_of_squares = errors.iter().zip(&*variances).map(|(error, variance)| error * error / variance).sum();
    let log_variances = variances.iter().map(|variance| variance.ln()).sum();
    Some(Likelihood { innovations, mean, mean_weight, sum_of_squares, log_variances })
}

impl Likelihood {
    pub(super) fn innovation_variance(&self) -> f64 {
        self.sum_of_squares / self.n() as f64
    }

    pub(super) fn logarithm(&self) -> f64 {
        let n = self.n() as f64;
        -0.5 * (n * ((TAU * self.innovation_variance()).ln() + 1.0) + self.log_variances)
    }

    /// Known samples.
    pub(super) fn n(&self) -> usize {
        self.innovations.errors.len()
    }
}
