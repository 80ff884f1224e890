//! MA, ARMA and ARIMA: coefficients that make the sum of squared one-step errors least, or the exact likelihood
//! greatest.
//!
//! Least squares is RPS's choice (section 5.2.2): no distribution of the errors is assumed. Where RPS searches with
//! Powell's method, the gradient here is analytic and the search is Levenberg and Marquardt's. The likelihood of an
//! ARIMA is that of the series differenced, as in statsmodels with `simple_differencing`; without gaps R's diffuse
//! start says the same.

mod css;
pub(super) mod hannan_rissanen;
pub(crate) mod inference;
mod innovations;
mod lagged;
mod likelihood;
mod maximum_likelihood;
pub(super) mod polynomial;
mod process;
pub(super) mod reflection;

use super::linear::{Estimates, Linear};
use super::sample::{Centred, power_of_differences};
use crate::fit::FitError;
use crate::spec::{Method, Orders, Spec};
use css::{Css, Solution};

/// Fits a model of these orders; the mean is estimated too unless the series is differenced.
pub(crate) fn fit(spec: &Spec, samples: &[f64], orders: Orders, method: Method) -> Result<Linear, FitError> {
    match method {
        Method::LeastSquares => least_squares(spec, samples, orders, Gaps::Bridged),
        Method::MaximumLikelihood => maximum_likelihood::fit(spec, samples, orders),
    }
}

/// The farthest that an autoregression may lead beyond the samples, in ranges of them, over as many steps as there are
/// samples.
const RANGES_MAX: f64 = 10.0;

/// An autoregression by least squares, mean and all. Every error counts that no gap has a part in.
pub(crate) fn fit_autoregression(spec: &Spec, samples: &[f64], order: usize) -> Result<Linear, FitError> {
    let orders = Orders { n_phi: order, n_differences: 0, n_theta: 0, truncation: None };
    let model = least_squares(spec, samples, orders, Gaps::LeftOut)?;
    let means = model.estimates().clone().means_after(samples, samples.len());
    let known = samples.iter().filter(|sample| !sample.is_nan());
    let (least, largest) = known
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, largest), sample| (sample.min(least), sample.max(largest)));
    let most = RANGES_MAX * (largest - least);
    if means.iter().all(|mean| (least - most..=largest + most).contains(mean)) {
        Ok(model)
    } else {
        Err(FitError::Explosive { spec: spec.clone() })
    }
}

/// Treatment of a gap by conditional least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gaps {
    /// Its samples lie on a straight line between those beside it, and their errors do not count: where there are
    /// moving averages, no sample is independent of a gap before it.
    Bridged,
    /// No error counts whose prediction a gap has a part in.
    LeftOut,
}

fn least_squares(spec: &Spec, samples: &[f64], orders: Orders, gaps: Gaps) -> Result<Linear, FitError> {
    let centred = Centred::of(spec, samples)?;
    let differenced = difference(&bridge(&centred.deviations), orders.n_differences);
    let unit = unit(power_of_differences(spec, &differenced, orders.n_differences)?);
    let row = differenced.iter().map(|value| value / unit).collect();
    let problem = Css::new(row, counts(samples, orders, gaps), orders, orders.n_differences == 0);
    let (have, need) = (problem.n_errors(), problem.n_parameters() + 1);
    if have < need {
        return Err(FitError::TooBroken { spec: spec.clone(), have, need });
    }
    let best = problem.solve().ok_or_else(|| FitError::DidNotConverge { spec: spec.clone() })?;
    Ok(Linear::new(estimates(orders, centred.mean, unit, best), samples))
}

/// Returns whether each error of the differenced row counts.
fn counts(samples: &[f64], orders: Orders, gaps: Gaps) -> Vec<bool> {
    let is_known: Vec<bool> = samples[orders.n_differences..].iter().map(|sample| !sample.is_nan()).collect();
    match gaps {
        Gaps::Bridged => is_known,
        Gaps::LeftOut => {
            let touched = |t: usize| is_known[t.saturating_sub(orders.n_phi)..=t].iter().all(|is_known| *is_known);
            (0..is_known.len()).map(touched).collect()
        }
    }
}

/// The power of two next to the size of a row of this mean square. A search among rows of about 1 does not care in
/// which unit the samples came, though squares of squares be beyond what a number can hold.
fn unit(power: f64) -> f64 {
    power.sqrt().log2().round().exp2()
}

/// `solution` is about `level`, of the row in this unit.
fn estimates(orders: Orders, level: f64, unit: f64, solution: Solution) -> Estimates {
    Estimates {
        phi: solution.phi,
        theta: solution.theta,
        n_differences: orders.n_differences,
        mean: level + unit * solution.mean,
        innovation_variance: unit * unit * solution.innovation_variance,
        fraction: None,
    }
}

fn difference(samples: &[f64], n_differences: usize) -> Vec<f64> {
    let mut row = samples.to_vec();
    for _ in 0..n_differences {
        row = row.windows(2).map(|pair| pair[1] - pair[0]).collect();
    }
    row
}

/// Gaps filled along straight lines between the known samples beside them, and held level at the ends.
pub(super) fn bridge(samples: &[f64]) -> Vec<f64> {
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
