//! MA, ARMA and ARIMA: coefficients that make the sum of squared one-step errors least.
//!
//! RPS's choice (section 5.2.2): no distribution of the errors is assumed. Where RPS searches with Powell's
//! method, the gradient here is analytic and the search is Levenberg and Marquardt's.

mod css;
mod hannan_rissanen;
mod levenberg_marquardt;
mod polynomial;

use super::linear::{Estimates, Linear};
use super::sample::Centred;
use crate::fit::FitError;
use crate::spec::{Method, Orders, Spec};
use css::Css;

/// Fits by conditional least squares. Samples in gaps are bridged by straight lines, and their errors do not count.
pub(crate) fn fit(spec: &Spec, samples: &[f64], orders: Orders, method: Method) -> Result<Linear, FitError> {
    if method == Method::MaximumLikelihood {
        todo!()
    }
    let level = Centred::of(spec, samples)?.mean;
    let bridged = bridge(samples);
    let differenced = difference(&bridged, orders.n_differences);
    // A series that its differences make constant has nothing left to estimate from.
    let centred = Centred::of(spec, &differenced)?;
    let mean_is_free = orders.n_differences == 0;
    let row = if mean_is_free { centred.deviations } else { differenced };
    let counts = samples[orders.n_differences..].iter().map(|sample| !sample.is_nan()).collect();
    let problem = Css::new(row, counts, orders, mean_is_free);
    let best = problem.solve().ok_or_else(|| FitError::DidNotConverge { spec: spec.clone() })?;
    let mean = if mean_is_free { level + best.mean } else { level };
    let estimates = Estimates {
        phi: best.phi,
        theta: best.theta,
        n_differences: orders.n_differences,
        mean,
        innovation_variance: best.innovation_variance,
        fraction: None,
    };
    Ok(Linear::new(estimates, samples))
}

fn difference(samples: &[f64], n_differences: usize) -> Vec<f64> {
    let mut row = samples.to_vec();
    for _ in 0..n_differences {
        row = row.windows(2).map(|pair| pair[1] - pair[0]).collect();
    }
    row
}

/// Gaps filled along straight lines between the known samples beside them, and held level at the ends.
fn bridge(samples: &[f64]) -> Vec<f64> {
    let known: Vec<usize> = (0..samples.len()).filter(|idx| !samples[*idx].is_nan()).collect();
    let mut bridged = samples.to_vec();
    if let (Some(first), Some(last)) = (known.first(), known.last()) {
        bridged[..*first].fill(samples[*first]);
        bridged[*last..].fill(samples[*last]);
    }
    for pair in known.windows(2) {
        let (left, right) = (pair[0], pair[1]);
        let slope = (samples[right] - samples[left]) / (right - left) as f64;
        for idx in left + 1..right {
            bridged[idx] = samples[left] + slope * (idx - left) as f64;
        }
    }
    bridged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_bridged_by_straight_lines() {
        let gap = f64::NAN;
        assert_eq!(bridge(&[gap, 1.0, gap, gap, 4.0, gap]), [1.0, 1.0, 2.0, 3.0, 4.0, 4.0]);
    }

    #[test]
    fn differences_are_taken_one_after_the_other() {
        assert_eq!(difference(&[1.0, 4.0, 9.0, 16.0], 2), [2.0, 2.0]);
    }
}
