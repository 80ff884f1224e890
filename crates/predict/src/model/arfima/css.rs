//! The conditional sum of squares of an ARFIMA, as a log-likelihood (Beran 1995): every sample before the first is the
//! mean.
//!
//! The one-step errors are a = theta(B)^-1 phi(B) (1 - B)^d (z - mu). The fractional difference goes through a Fourier
//! transform (Jensen and Nielsen 2014). Nothing singular happens at d = 0.5, so that a search can look beyond.

use statistics::transform::{Spectrum, Transform, product};

use super::super::linear::{dot, fractional_difference};
use super::Solution;
use super::coordinates::Point;
use super::scoring::{Derivatives, Objective};
use crate::effort::spend;

/// A row of samples, and its errors at the latest point.
pub(super) struct Css {
    transform: Transform,
    spectrum: Spectrum,
    /// Whether the error of each sample counts; those in gaps do not, nor those before phi(B) has all it reaches back
    /// to.
    counts: Vec<bool>,
    n_counting: f64,
    latest: Latest,
}

#[derive(Default)]
struct Latest {
    /// (1 - B)^d (z - mu).
    differenced: Vec<f64>,
    errors: Vec<f64>,
    sum_of_squares: f64,
}

impl Css {
    /// `row` has no gaps; where they were bridged, `is_known` is false.
    pub(super) fn new(row: &[f64], is_known: &[bool], n_phi: usize) -> Self {
        let mut transform = Transform::for_rows_of(row.len());
        let spectrum = transform.spectrum(row);
        let counts: Vec<bool> = is_known.iter().enumerate().map(|(t, is_known)| *is_known && t >= n_phi).collect();
        let n_counting = counts.iter().filter(|counts| **counts).count() as f64;
        Self { transform, spectrum, counts, n_counting, latest: Latest::default() }
    }

    /// Returns the solution at a point, as a predictor needs it.
    pub(super) fn solution(&mut self, point: &Point) -> Solution {
        self.value(point);
        let (mean, innovation_variance) = (point.mean.unwrap_or(0.0), self.innovation_variance());
        Solution { point: point.clone(), mean, innovation_variance }
    }

    /// The mean square of the errors that count, at the latest point.
    fn innovation_variance(&self) -> f64 {
        self.latest.sum_of_squares / self.n_counting
    }

    /// (1 - B)^d z, each sample before the first being 0.
    pub(super) fn differenced(&mut self, d: f64) -> Vec<f64> {
        self.filtered(&fractional_difference(d, self.counts.len() - 1))
    }

    fn filtered(&mut self, weights: &[f64]) -> Vec<f64> {
        let spectrum = product(&self.transform.spectrum(weights), &self.spectrum);
        self.transform.row(spectrum, self.counts.len())
    }

    /// The row behind a filter less what the mean contributes to it.
    fn filtered_about(&mut self, weights: &[f64], mean: f64) -> Vec<f64> {
        let mut row = self.filtered(weights);
        row.iter_mut().zip(sums(weights)).for_each(|(value, weight)| *value -= mean * weight);
        row
    }

    /// The column with zeros for errors that do not count.
    fn masked(&self, mut column: Vec<f64>) -> Vec<f64> {
        column.iter_mut().zip(&self.counts).filter(|(_, counts)| !**counts).for_each(|(value, _)| *value = 0.0);
        column
    }
}

impl Objective for Css {
    fn value(&mut self, at: &Point) -> Option<f64> {
        spend(self.counts.len() * (100 + 10 * at.n_parameters())).then_some(())?;
        let weights = fractional_difference(at.d, self.counts.len() - 1);
        let differenced = self.filtered_about(&weights, at.mean.unwrap_or(0.0));
        let errors = divide(multiply(&differenced, &at.phi), &at.theta);
        let counting = self.masked(errors.clone());
        let sum_of_squares = dot(&counting, &counting);
        self.latest = Latest { differenced, errors, sum_of_squares };
        Some(-0.5 * self.n_counting * self.innovation_variance().ln()).filter(|value| value.is_finite())
    }

    fn derivatives(&mut self, at: &Point) -> Derivatives {
        let n = self.counts.len();
        let weights = fractional_difference(at.d, n - 1);
        let by_d = self.filtered_about(&fractional_slope(at.d, &weights), at.mean.unwrap_or(0.0));
        let by_phi = divide(self.latest.differenced.clone(), &at.theta);
        let by_theta = divide(self.latest.errors.clone(), &at.theta);
        // Errors fall where these rise: all columns are the slopes of the errors with their sign turned.
        let mut columns: Vec<Vec<f64>> = (1..=at.phi.len()).map(|lag| lagged(&by_phi, lag)).collect();
        columns.extend((1..=at.theta.len()).map(|lag| lagged(&by_theta, lag)));
        columns.push(divide(multiply(&by_d, &at.phi), &at.theta).iter().map(|slope| -slope).collect());
        columns.extend(at.mean.map(|_| divide(multiply(&sums(&weights), &at.phi), &at.theta)));
        let columns: Vec<Vec<f64>> = columns.into_iter().map(|column| self.masked(column)).collect();
        let scale = 1.0 / self.innovation_variance();
        let gradient = columns.iter().map(|column| scale * dot(column, &self.latest.errors)).collect();
        let information =
            columns.iter().flat_map(|one| columns.iter().map(move |other| scale * dot(one, other))).collect();
        Derivatives { gradient, information }
    }
}

/// phi(B) over a row, zeros before it.
fn multiply(row: &[f64], phi: &[f64]) -> Vec<f64> {
    let mut product = row.to_vec();
    for (idx, coefficient) in phi.iter().enumerate() {
        let lag = idx + 1;
        product.iter_mut().skip(lag).zip(row).for_each(|(value, past)| *value -= coefficient * past);
    }
    product
}

/// 1/theta(B) over a row, zeros before it.
fn divide(mut row: Vec<f64>, theta: &[f64]) -> Vec<f64> {
    let reversed: Vec<f64> = theta.iter().rev().copied().collect();
    let n_start = theta.len().min(row.len());
    for t in 0..row.len() {
        let known = if t < n_start {
            dot(&reversed[theta.len() - t..], &row[..t])
        } else {
            dot(&reversed, &row[t - theta.len()..])
        };
        row[t] -= known;
    }
    row
}

fn lagged(row: &[f64], lag: usize) -> Vec<f64> {
    let lag = lag.min(row.len());
    let mut shifted = vec![0.0; row.len()];
    shifted[lag..].copy_from_slice(&row[..row.len() - lag]);
    shifted
}

/// Returns the output of a filter for a row of ones.
fn sums(weights: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let next = |weight: &f64| {
        sum += weight;
        sum
    };
    weights.iter().map(next).collect()
}

/// The derivatives by d of pi(0), pi(1), … of (1 - B)^d, from the weights themselves.
fn fractional_slope(d: f64, weights: &[f64]) -> Vec<f64> {
    let mut slopes = vec![0.0; weights.len()];
    for lag in 1..weights.len() {
        slopes[lag] = (slopes[lag - 1] * (lag as f64 - 1.0 - d) - weights[lag - 1]) / lag as f64;
    }
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u32) -> Vec<f64> {
        (0..n).map(|t| (f64::from(t) * 0.9).sin() + f64::from(t * 31 % 17) / 10.0).collect()
    }

    fn point() -> Point {
        Point { phi: vec![0.4, -0.2], theta: vec![0.3, 0.25], d: 0.3, mean: Some(0.7) }
    }

    #[test]
    fn errors_are_those_of_the_sums() {
        let (row, at) = (row(40), point());
        let mut css = Css::new(&row, &[true; 40], 2);
        css.value(&at).unwrap();
        let weights = fractional_difference(at.d, 39);
        let differenced: Vec<f64> = (0..40).map(|t| (0..=t).map(|k| weights[k] * (row[t - k] - 0.7)).sum()).collect();
        let mut errors = vec![0.0; 40];
        for t in 2..40 {
            errors[0] = differenced[0];
            errors[1] = differenced[1] - 0.4 * differenced[0] - 0.3 * errors[0];
            errors[t] = differenced[t] - 0.4 * differenced[t - 1] + 0.2 * differenced[t - 2]
                - 0.3 * errors[t - 1]
                - 0.25 * errors[t - 2];
        }
        // Forty terms of order 1, rounded.
        assert!(errors.iter().zip(&css.latest.errors).all(|(sum, ours)| (sum - ours).abs() < 1e-13));
    }

    #[test]
    fn differences_are_those_of_fracdiff() {
        // fracdiff::diffseries(1:10, 0.4), which takes the mean out first; printed to ten digits.
        let expected =
            [-4.5, -1.7, -0.56, 0.208, 0.8112, 1.320_384, 1.768_166_4, 2.172_318_72, 2.543_633_664, 2.889_183_897_6];
        let row: Vec<f64> = (1..=10).map(|t| f64::from(t) - 5.5).collect();
        let ours = Css::new(&row, &[true; 10], 0).differenced(0.4);
        assert!(ours.iter().zip(expected).all(|(ours, theirs)| (ours - theirs).abs() < 1e-10), "{ours:?}");
    }

    #[test]
    fn a_whole_difference_is_the_plain_one() {
        let row: Vec<f64> = (1..=20).map(|t| f64::from(t) - 10.5).collect();
        let ours = Css::new(&row, &[true; 20], 0).differenced(1.0);
        // fracdiff's own test of its transform asks for this many digits.
        assert!((ours[0] + 9.5).abs() < 1e-13 && ours[1..].iter().all(|value| (value - 1.0).abs() < 1e-13), "{ours:?}");
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_value() {
        let is_known: Vec<bool> = (0..60).map(|t| t != 23).collect();
        let mut css = Css::new(&row(60), &is_known, 2);
        super::super::scoring::check_gradient(&mut css, &point(), 1e-5);
    }
}
