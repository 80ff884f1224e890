//! Uncertainty of the coefficients of a threshold autoregression, and the likelihood of the samples under the model.

use std::f64::consts::TAU;

use super::threshold::{known_rows, regressors};
use super::{Regime, Regimes, Tar};
use crate::inference::{Inference, Parameter};
use crate::optimize::triangle::Triangle;

/// The likelihood is conditional on the first p samples, and on those before each that follows a gap. Standard errors
/// are those of two regressions, as if the threshold were known: it is found so much faster than the coefficients that
/// for them it is (Chan 1993). It has none itself. `None` when the likelihood is not a number.
pub(crate) fn of(tar: &Tar, samples: &[f64]) -> Option<Inference> {
    let Regimes { delay, threshold, low, high } = &tar.regimes;
    let order = low.phi.len();
    let deviations: Vec<f64> = samples.iter().map(|sample| sample - tar.mean).collect();
    let mut triangles = [Triangle::new(order + 1), Triangle::new(order + 1)];
    for row in known_rows(&deviations, order) {
        let side = usize::from(deviations[row - delay] > *threshold);
        triangles[side].add(regressors(&deviations, order, row), deviations[row]);
    }
    let log_likelihood: f64 = [low, high].iter().map(|regime| regime.log_likelihood()).sum();
    let [of_low, of_high] = triangles.map(|triangle| triangle.inverse_products());
    let errors = [None, None]
        .into_iter()
        .chain(low.standard_errors(of_low, tar.mean))
        .chain(high.standard_errors(of_high, tar.mean));
    let parameter =
        |((name, value), standard_error): ((String, f64), Option<f64>)| Parameter { name, value, standard_error };
    let parameters = tar.parameters().into_iter().zip(errors).map(parameter).collect();
    log_likelihood.is_finite().then(|| Inference {
        parameters,
        covariances: Vec::new(),
        log_likelihood: Some(log_likelihood),
        n_samples: low.n_rows + high.n_rows,
    })
}

impl Regime {
    fn log_likelihood(&self) -> f64 {
        -0.5 * self.n_rows as f64 * ((TAU * self.variance).ln() + 1.0)
    }

    /// Computes the standard errors of the intercept, in the unit of the series, and of the coefficients. `inverse` is
    /// (X'X)^-1 of regressors that count from `mean`, which moves the intercept alone.
    fn standard_errors(&self, inverse: Option<Vec<f64>>, mean: f64) -> Vec<Option<f64>> {
        let width = self.phi.len() + 1;
        let Some(inverse) = inverse else { return vec![None; width] };
        let weight = |idx: usize| if idx == 0 { 1.0 } else { -mean };
        let of_intercept: f64 =
            (0..width * width).map(|idx| weight(idx / width) * weight(idx % width) * inverse[idx]).sum();
        let of_phi = (1..width).map(|idx| inverse[idx * (width + 1)]);
        // What the regime has fewer of than samples, its coefficients used up.
        let n_left = self.n_rows.saturating_sub(width).max(1) as f64;
        let variance = self.variance * self.n_rows as f64 / n_left;
        std::iter::once(of_intercept).chain(of_phi).map(|element| Some((variance * element).sqrt())).collect()
    }
}
