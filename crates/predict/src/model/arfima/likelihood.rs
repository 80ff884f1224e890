//! The exact Gaussian log-likelihood of an ARFIMA, its mean and innovation variance at their best (Sowell 1992), and
//! its gradient.
//!
//! One Levinson recursion, of n^2 multiplications, gives the value and, by the formula of Gohberg and Semencul, all
//! slopes: the rest is of order n log n. What stands for the information matrix is that of the sum of squares.

use std::f64::consts::TAU;

use statistics::transform::{Transform, correlation};

use super::super::linear::dot;
use super::Solution;
use super::autocovariance::Autocovariances;
use super::coordinates::Point;
use super::css::Css;
use super::scoring::{Derivatives, Objective};
use super::toeplitz::Inverse;
use crate::effort::spend;

/// A row of samples without gaps, about any level.
pub(super) struct Likelihood<'r> {
    row: &'r [f64],
    transform: Transform,
    /// Conditional sum of squares, for the information matrix.
    css: &'r mut Css,
    latest: Option<Evaluation>,
}

/// Parts of the likelihood at one point.
struct Evaluation {
    point: Point,
    autocovariances: Autocovariances,
    inverse: Inverse,
    generalized: Generalized,
}

/// Generalized least squares with a matrix of autocovariances Gamma.
pub(super) struct Generalized {
    /// The mean that the samples are likeliest about.
    pub(super) mean: f64,
    /// 1' Gamma^-1 1: the innovation variance over that of the mean.
    pub(super) mean_weight: f64,
    /// Gamma^-1 (z - mean).
    weights: Vec<f64>,
    /// (z - mean)' Gamma^-1 (z - mean) over the number of samples.
    pub(super) innovation_variance: f64,
    pub(super) log_likelihood: f64,
}

impl<'r> Likelihood<'r> {
    pub(super) fn new(row: &'r [f64], css: &'r mut Css) -> Self {
        Self { row, transform: Transform::for_rows_of(row.len()), css, latest: None }
    }

    /// Returns the solution at a point, as a predictor needs it.
    pub(super) fn solution(&mut self, point: &Point) -> Option<Solution> {
        let Generalized { mean, innovation_variance, .. } = *self.at(point)?;
        Some(Solution { point: point.clone(), mean, innovation_variance })
    }

    /// The mean, the innovation variance and the log-likelihood at a point. Asked twice for the same point, it works
    /// once.
    pub(super) fn at(&mut self, point: &Point) -> Option<&Generalized> {
        if self.latest.as_ref().is_none_or(|latest| latest.point != *point) {
            let autocovariances = Autocovariances::new(point, self.row.len());
            let inverse = Inverse::new(autocovariances.values(), &mut self.transform)?;
            let generalized = self.generalized(&inverse)?;
            self.latest = Some(Evaluation { point: point.clone(), autocovariances, inverse, generalized });
        }
        self.latest.as_ref().map(|evaluation| &evaluation.generalized)
    }

    fn generalized(&mut self, inverse: &Inverse) -> Option<Generalized> {
        let n = self.row.len() as f64;
        let of_ones = inverse.times(&vec![1.0; self.row.len()], &mut self.transform);
        let mean_weight: f64 = of_ones.iter().sum();
        let mean = dot(&of_ones, self.row) / mean_weight;
        let deviations: Vec<f64> = self.row.iter().map(|sample| sample - mean).collect();
        let weights = inverse.times(&deviations, &mut self.transform);
        let innovation_variance = dot(&weights, &deviations) / n;
        let log_likelihood = -0.5 * (n * ((TAU * innovation_variance).ln() + 1.0) + inverse.log_determinant);
        let is_sound = mean_weight > 0.0 && log_likelihood.is_finite();
        is_sound.then_some(Generalized { mean, mean_weight, weights, innovation_variance, log_likelihood })
    }
}

impl Objective for Likelihood<'_> {
    fn value(&mut self, at: &Point) -> Option<f64> {
        // Levinson's recursion.
        spend(self.row.len() * (self.row.len() + 200)).then_some(())?;
        self.at(at).map(|generalized| generalized.log_likelihood)
    }

    /// d l = u' dGamma u / (2 s2) - tr(Gamma^-1 dGamma) / 2 with u = Gamma^-1 (z - mean): both are sums over diagonals.
    fn derivatives(&mut self, at: &Point) -> Derivatives {
        let Evaluation { autocovariances, inverse, generalized, .. } =
            self.latest.as_ref().expect("asked for after a value");
        let transform = &mut self.transform;
        let spectrum = transform.spectrum(&generalized.weights);
        let products = transform.row(correlation(&spectrum, &spectrum), self.row.len());
        let sums = inverse.diagonal_sums(transform);
        let mut weights: Vec<f64> =
            products.iter().zip(&sums).map(|(product, sum)| product / generalized.innovation_variance - sum).collect();
        // Each diagonal but the main one is there twice.
        weights[0] *= 0.5;
        let gradient = autocovariances.weighted_slopes(at, &weights);
        self.css.value(at);
        Derivatives { gradient, information: self.css.derivatives(at).information }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_the_slope_of_the_value() {
        let row: Vec<f64> = (0..60).map(|t| (f64::from(t) * 0.9).sin() + f64::from(t * 31 % 17) / 10.0).collect();
        let mut css = Css::new(&row, &[true; 60], 2);
        for d in [-0.4, -0.1, 0.3, 0.45] {
            let at = Point { phi: vec![0.4, -0.2], theta: vec![0.3, 0.25], d, mean: None };
            super::super::scoring::check_gradient(&mut Likelihood::new(&row, &mut css), &at, 1e-5);
        }
    }

    #[test]
    fn the_gradient_holds_close_to_the_circle() {
        let row: Vec<f64> = (0..600).map(|t| (f64::from(t) * 0.9).sin() + f64::from(t * 31 % 17) / 10.0).collect();
        let mut css = Css::new(&row, &[true; 600], 2);
        for d in [-0.36, 0.1] {
            // Roots of modulus 0.9995 a quarter turn from 1, and of 0.99 at 1.
            let at = Point { phi: vec![0.0, -0.999], theta: vec![-0.99], d, mean: None };
            super::super::scoring::check_gradient(&mut Likelihood::new(&row, &mut css), &at, 1e-3);
        }
    }
}
