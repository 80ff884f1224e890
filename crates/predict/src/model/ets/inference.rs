//! Uncertainty of the constants of exponential smoothing, and the likelihood of the samples under them.

use std::f64::consts::TAU;

use super::search::best_start;
use super::{Ets, Smoothing, State};
use crate::inference::{Inference, Parameter};
use crate::optimize::positive_definite::inverse;

/// alpha, beta, phi, first level and first slope.
const N: usize = 5;

/// The sum of squares of a search that ended inside its bounds slopes by no more than this, as a cosine between errors
/// and derivatives. At a bound it slopes, and its curvature says nothing of how sure the constant is.
const COSINE_MAX: f64 = 1e-3;

/// The likelihood is conditional on the state before the first sample, which counts among the parameters. `None` when
/// it is not a number.
pub(crate) fn of(ets: &Ets, samples: &[f64]) -> Option<Inference> {
    let deviations: Vec<f64> = samples.iter().map(|sample| sample - ets.mean).collect();
    let start = best_start(&deviations, ets.smoothing);
    let n_samples = samples.iter().filter(|sample| !sample.is_nan()).count();
    let slopes = Slopes::of(&deviations, ets.smoothing, start);
    let n = n_samples as f64;
    let log_likelihood = -0.5 * n * ((TAU * slopes.squares / n).ln() + 1.0);
    let covariances = slopes.covariances(&free(ets), slopes.squares / n).unwrap_or_default();
    let mut named: Vec<(&str, f64)> = ets.parameters();
    named.push(("level", ets.mean + start.level));
    named.extend((ets.smoothing.phi > 0.0).then_some(("slope", start.slope)));
    let n_parameters = named.len();
    let parameter = |(idx, (name, value)): (usize, (&str, f64))| Parameter {
        name: name.to_owned(),
        value,
        standard_error: covariances.get(idx * (n_parameters + 1)).map(|variance| variance.sqrt()),
    };
    let parameters = named.into_iter().enumerate().map(parameter).collect();
    let inference = Inference { parameters, covariances, log_likelihood: Some(log_likelihood), n_samples };
    log_likelihood.is_finite().then_some(inference)
}

/// Returns the indices, among the [`N`], of those that the fit estimated.
fn free(ets: &Ets) -> Vec<usize> {
    match ets.parameters().len() {
        1 => vec![0, 3],
        2 => vec![0, 1, 3, 4],
        _ => (0..N).collect(),
    }
}

/// Products of the derivatives of the errors with each other and with the errors, and the sum of squares.
struct Slopes {
    products: [[f64; N]; N],
    gradient: [f64; N],
    squares: f64,
}

impl Slopes {
    fn of(deviations: &[f64], smoothing: Smoothing, mut state: State) -> Self {
        let Smoothing { alpha, beta, phi } = smoothing;
        let mut slopes = Self { products: [[0.0; N]; N], gradient: [0.0; N], squares: 0.0 };
        // Derivatives of level and slope, at first those by themselves.
        let (mut of_level, mut of_slope) = ([0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]);
        for deviation in deviations {
            let slope_before = state.slope;
            let error = state.step(smoothing, *deviation);
            let mut of_error = [0.0; N];
            for k in 0..N {
                // By phi itself a step depends on the slope, by alpha and beta on the error.
                let damped = phi * of_slope[k] + if k == 2 { slope_before } else { 0.0 };
                let said = of_level[k] + damped;
                of_error[k] = if deviation.is_nan() { 0.0 } else { -said };
                of_level[k] = said + alpha * of_error[k] + if k == 0 { error } else { 0.0 };
                of_slope[k] = damped + beta * of_error[k] + if k == 1 { error } else { 0.0 };
            }
            slopes.add(&of_error, error);
        }
        slopes
    }

    fn add(&mut self, of_error: &[f64; N], error: f64) {
        self.squares += error * error;
        for i in 0..N {
            self.gradient[i] += of_error[i] * error;
            for j in 0..N {
                self.products[i][j] += of_error[i] * of_error[j];
            }
        }
    }

    /// s2 (J'J)^-1 of the parameters that are `free`; `None` at a bound, or where samples do not tell them apart.
    fn covariances(&self, free: &[usize], variance: f64) -> Option<Vec<f64>> {
        let slopes_at =
            |k: &usize| self.gradient[*k].abs() > COSINE_MAX * (self.products[*k][*k] * self.squares).sqrt();
        if free.iter().any(slopes_at) {
            return None;
        }
        let products: Vec<f64> = free.iter().flat_map(|i| free.iter().map(|j| self.products[*i][*j])).collect();
        let inverse = inverse(products, free.len())?;
        Some(inverse.into_iter().map(|element| variance * element).collect())
    }
}
