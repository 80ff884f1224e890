//! The greatest exact likelihood of an ARMA model.
//!
//! With the mean and the innovation variance put where they make it greatest, -2 log L is n log S plus the sum of log F(t), but for a
//! constant: the logarithm of the sum of squares of e(t) / sqrt(F(t)) times the n-th root of the product of all sqrt(F) (Ansley 1979).
//! So the search for it is the search for a least sum of squares, in the same box of reflection coefficients. The likelihood is level
//! across the unit circle in theta, so a walk to the wall of the box loses nothing.

use super::css::{Css, REFLECTION_MAX, phi_and_theta};
use super::innovations::expected_errors;
use super::levenberg_marquardt::{Problem, inverse, minimize};
use super::likelihood::{Likelihood, Mean, likelihood};
use super::process::Process;
use super::{Gaps, bridge, counts, difference};
use crate::fit::FitError;
use crate::model::linear::{Estimates, Linear};
use crate::model::sample::Centred;
use crate::spec::{Orders, Spec};

/// By then it shows which start leads to the greatest likelihood.
const N_STEPS_SHORT: usize = 8;

/// Most fits take 5 to 40.
const N_STEPS_MAX: usize = 300;

/// Of difference quotients by reflection coefficients: the cube root of rounding, where its error is least.
const STEP: f64 = 1e-5;

pub(super) fn fit(spec: &Spec, samples: &[f64], orders: Orders) -> Result<Linear, FitError> {
    let centred = Centred::of(spec, samples)?;
    let row = difference(&centred.deviations, orders.n_differences);
    let (have, need) =
        (row.iter().filter(|value| !value.is_nan()).count() + orders.n_differences, spec.n_samples_min());
    if have < need {
        return Err(FitError::TooShort { spec: spec.clone(), have, need });
    }
    Centred::of(spec, &row)?;
    let mean = if orders.n_differences == 0 { Mean::Free } else { Mean::Known(0.0) };
    let problem = Exact { row, n_phi: orders.n_phi, mean };
    let starts = starts(&centred.deviations, orders);
    let (phi, theta, best) = problem.solve(starts).ok_or_else(|| FitError::DidNotConverge { spec: spec.clone() })?;
    let errors = Process::new(&phi, &theta).map(|process| {
        let row: Vec<f64> = problem.row.iter().map(|value| value - best.mean).collect();
        let of_row = expected_errors(&process, &row);
        std::iter::repeat_n(0.0, orders.n_differences).chain(of_row).collect::<Vec<f64>>()
    });
    let estimates = Estimates {
        phi,
        theta,
        n_differences: orders.n_differences,
        mean: centred.mean + best.mean,
        innovation_variance: best.innovation_variance(),
        fraction: None,
    };
    match errors {
        Some(errors) if orders.n_theta > 0 => Ok(Linear::with_errors(estimates, samples, &errors)),
        _ => Ok(Linear::new(estimates, samples)),
    }
}

/// Where the conditional sum of squares is least, and where the search for that starts.
fn starts(deviations: &[f64], orders: Orders) -> Vec<Vec<f64>> {
    let bridged = difference(&bridge(deviations), orders.n_differences);
    let css = Css::new(bridged, counts(deviations, orders, Gaps::Bridged), orders, false);
    let least = css.solve().map(|least| css.parameters(&least.phi, &least.theta, 0.0));
    least.into_iter().chain(css.starts()).collect()
}

/// A row of samples, NaN in gaps, and the orders to fit to it.
struct Exact {
    row: Vec<f64>,
    n_phi: usize,
    mean: Mean,
}

impl Exact {
    /// phi, theta and what the samples say to them.
    fn solve(&self, starts: Vec<Vec<f64>>) -> Option<(Vec<f64>, Vec<f64>, Likelihood)> {
        let short = starts.into_iter().filter_map(|start| minimize(self, start, N_STEPS_SHORT));
        let best = short.min_by(|one, other| one.sum_of_squares.total_cmp(&other.sum_of_squares))?;
        let found = if best.has_converged { best } else { minimize(self, best.parameters, N_STEPS_MAX)? };
        if !found.has_converged {
            return None;
        }
        let (phi, theta) = phi_and_theta(&found.parameters, self.n_phi);
        let best = likelihood(&self.row, &phi, &theta, self.mean)?;
        Some((phi, theta, best))
    }
}

impl Problem for Exact {
    fn residuals(&self, parameters: &[f64], residuals: &mut Vec<f64>) -> bool {
        let (phi, theta) = phi_and_theta(parameters, self.n_phi);
        let Some(found) = likelihood(&self.row, &phi, &theta, self.mean) else {
            return false;
        };
        let root = (0.5 * found.log_variances / found.n() as f64).exp();
        let innovations = found.innovations.errors.iter().zip(&found.innovations.variances);
        residuals.clear();
        residuals.extend(innovations.map(|(error, variance)| error / variance.sqrt() * root));
        residuals.iter().all(|residual| residual.is_finite())
    }

    fn jacobian(&self, parameters: &[f64], residuals: &[f64], rows: &mut Vec<f64>) {
        let n = parameters.len();
        rows.clear();
        rows.resize(residuals.len() * n, 0.0);
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for idx in 0..n {
            // An autoregression does not exist beyond the box; a moving average does.
            let room = if idx < self.n_phi { 0.5 * (1.0 - parameters[idx].abs()) } else { STEP };
            let step = STEP.min(room);
            let mut aside = parameters.to_vec();
            aside[idx] = parameters[idx] + step;
            let is_above = self.residuals(&aside, &mut above);
            aside[idx] = parameters[idx] - step;
            if !is_above || !self.residuals(&aside, &mut below) {
                continue;
            }
            for (t, (above, below)) in above.iter().zip(&below).enumerate() {
                rows[t * n + idx] = (above - below) / (2.0 * step);
            }
        }
    }

    fn bound(&self, _idx: usize) -> f64 {
        REFLECTION_MAX
    }
}

/// The inverse of the curvature of -log L at the estimates, by phi, theta and the mean, as R's `arima`; `row` is about the mean.
/// `None` where the likelihood is level, as on the unit circle.
pub(super) fn covariances(estimates: &Estimates, row: &[f64]) -> Option<Vec<f64>> {
    let Estimates { phi, theta, n_differences, .. } = estimates;
    let mean_is_free = *n_differences == 0;
    let mut at: Vec<f64> = phi.iter().chain(theta).copied().collect();
    let mut steps = vec![1e-4; at.len()];
    if mean_is_free {
        let free = likelihood(row, phi, theta, Mean::Free)?;
        at.push(0.0);
        // A small part of the standard error, so that the step has the unit of the samples.
        steps.push(0.01 * (free.innovation_variance() / free.mean_weight).sqrt());
    }
    let n = at.len();
    let surprise = |at: &[f64]| -> Option<f64> {
        let (phi, rest) = at.split_at(phi.len());
        let (theta, mean) = rest.split_at(theta.len());
        let mean = mean.first().copied().unwrap_or(0.0);
        Some(-likelihood(row, phi, theta, Mean::Known(mean))?.logarithm())
    };
    let moved = |moves: &[(usize, f64)]| {
        let mut aside = at.clone();
        moves.iter().for_each(|(idx, times)| aside[*idx] += times * steps[*idx]);
        surprise(&aside)
    };
    let here = surprise(&at)?;
    let mut aside = Vec::with_capacity(n);
    for i in 0..n {
        aside.push(moved(&[(i, 1.0)])? + moved(&[(i, -1.0)])?);
    }
    let mut curvature = vec![0.0; n * n];
    for i in 0..n {
        curvature[i * n + i] = (aside[i] - 2.0 * here) / (steps[i] * steps[i]);
        for j in 0..i {
            let both = moved(&[(i, 1.0), (j, 1.0)])? + moved(&[(i, -1.0), (j, -1.0)])?;
            curvature[i * n + j] = (both - aside[i] - aside[j] + 2.0 * here) / (2.0 * steps[i] * steps[j]);
        }
    }
    inverse(curvature, n)
}
