//! Uncertainty of the coefficients of an ARFIMA, and the likelihood of the samples under the model.

use super::coordinates::Point;
use super::css::Css;
use super::likelihood::Likelihood;
use super::scoring::Objective;
use super::{N_EXACT_MAX, Scaled};
use crate::inference::{Inference, Parameter};
use crate::model::linear::Estimates;
use crate::optimize::positive_definite::inverse;
use crate::spec::Spec;

/// The likelihood is the exact one at the coefficients, with the mean and the innovation variance that make it
/// greatest, whichever method they were found by; samples in gaps are bridged as they were for the fit. `None` beyond
/// 20,000 samples.
///
/// Standard errors come from the derivatives of the one-step errors by phi, theta and d, which is the information
/// matrix of a long series (Beran 1995). The mean does not depend on the others; its error is that of generalized least
/// squares.
pub(crate) fn of(spec: &Spec, estimates: &Estimates, samples: &[f64]) -> Option<Inference> {
    let Scaled { row, is_known, scale, level } = Scaled::of(spec, samples).ok()?;
    if row.len() > N_EXACT_MAX {
        return None;
    }
    let mut css = Css::new(&row, &is_known, estimates.phi.len());
    let Estimates { phi, theta, fraction, .. } = estimates;
    let point = Point { phi: phi.clone(), theta: theta.clone(), d: (*fraction)?.d, mean: None };
    let covariances = covariances(&mut css, &point, (estimates.mean - level) / scale);
    let mut likelihood = Likelihood::new(&row, &mut css);
    let exact = likelihood.at(&point)?;
    let mean_variance = exact.innovation_variance / exact.mean_weight * scale * scale;
    let log_likelihood = exact.log_likelihood - row.len() as f64 * scale.ln();
    let covariances = covariances.map(|them| with_mean(&them, mean_variance)).unwrap_or_default();
    let parameters = parameters(estimates, &covariances)?;
    Some(Inference { parameters, covariances, log_likelihood: Some(log_likelihood), n_samples: row.len() })
}

/// Computes the covariances of phi, theta and d; `None` if the samples do not tell them apart.
fn covariances(css: &mut Css, point: &Point, mean: f64) -> Option<Vec<f64>> {
    let about_mean = Point { mean: Some(mean), ..point.clone() };
    css.value(&about_mean)?;
    let (n, information) = (point.n_parameters(), css.derivatives(&about_mean).information);
    let without_mean = information.chunks_exact(n + 1).take(n).flat_map(|row| row[..n].iter().copied()).collect();
    inverse(without_mean, n)
}

/// One more row and column, all zeros but for the variance.
fn with_mean(covariances: &[f64], variance: f64) -> Vec<f64> {
    let n = covariances.len().isqrt();
    let rows = covariances.chunks_exact(n).flat_map(|row| row.iter().copied().chain([0.0]));
    rows.chain(std::iter::repeat_n(0.0, n)).chain([variance]).collect()
}

pub(crate) fn parameters(estimates: &Estimates, covariances: &[f64]) -> Option<Vec<Parameter>> {
    let numbered = |letters: &'static str, values: &[f64]| -> Vec<(String, f64)> {
        values.iter().enumerate().map(|(idx, value)| (format!("{letters}{}", idx + 1), *value)).collect()
    };
    let mut named = [numbered("phi", &estimates.phi), numbered("theta", &estimates.theta)].concat();
    named.push(("d".to_owned(), estimates.fraction?.d));
    named.push(("mean".to_owned(), estimates.mean));
    let n = named.len();
    let standard_error = |idx: usize| covariances.get(idx * (n + 1)).map(|variance| variance.sqrt());
    let parameter = |(idx, (name, value))| Parameter { name, value, standard_error: standard_error(idx) };
    Some(named.into_iter().enumerate().map(parameter).collect())
}
