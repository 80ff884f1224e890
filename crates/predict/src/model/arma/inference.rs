//! Uncertainty of the coefficients of an ARMA or ARIMA model, and the likelihood of the samples under the model.

use super::css::Css;
use super::likelihood::{Mean, likelihood};
use super::{Gaps, bridge, counts, difference, maximum_likelihood, unit};
use crate::inference::{Inference, Parameter};
use crate::model::linear::Estimates;
use crate::spec::{ArMethod, Method, Orders, Spec};

/// `None` when the samples are fewer than the orders need, or all alike.
pub(crate) fn of(spec: &Spec, estimates: &Estimates, samples: &[f64]) -> Option<Inference> {
    let orders = spec.orders()?;
    let deviations: Vec<f64> = samples.iter().map(|sample| sample - estimates.mean).collect();
    let differenced = difference(&deviations, orders.n_differences);
    let n_known = differenced.iter().filter(|value| !value.is_nan()).count();
    let squares: f64 = differenced.iter().filter(|value| !value.is_nan()).map(|value| value * value).sum();
    let unit = unit(squares / n_known as f64);
    let in_unit = |row: &[f64]| -> Vec<f64> { row.iter().map(|value| value / unit).collect() };
    let (row, deviations) = (in_unit(&differenced), in_unit(&deviations));
    let scaled = Estimates { innovation_variance: estimates.innovation_variance / unit / unit, ..estimates.clone() };
    if row.len() <= orders.n_phi || !is_affordable(&row, orders) {
        return None;
    }
    let likelihood = likelihood(&row, &estimates.phi, &estimates.theta, Mean::Known(0.0))?;
    let log_likelihood = likelihood.logarithm() - n_known as f64 * unit.ln();
    if !log_likelihood.is_finite() {
        return None;
    }
    let mut covariances = match method(spec)? {
        Estimation::Asymptotic => asymptotic(&scaled, n_known),
        Estimation::LeastSquares(gaps) => least_squares(&scaled, orders, &deviations, gaps).unwrap_or_default(),
        Estimation::Likelihood => maximum_likelihood::covariances(&scaled, &row).unwrap_or_default(),
    };
    if !covariances.iter().all(|covariance| covariance.is_finite()) {
        covariances.clear();
    }
    if orders.n_differences == 0 {
        let width = orders.n_phi + orders.n_theta + 1;
        // The mean is the last of each row, and has the last row to itself.
        covariances.iter_mut().skip(width - 1).step_by(width).for_each(|covariance| *covariance *= unit);
        covariances.iter_mut().skip(width * (width - 1)).for_each(|covariance| *covariance *= unit);
    }
    let parameters = parameters(estimates, &covariances);
    Some(Inference { parameters, covariances, log_likelihood: Some(log_likelihood), n_samples: n_known })
}

/// Through gaps a filter carries a matrix of as many rows as the order: an AR(512) of 2,000 samples would take a
/// second.
fn is_affordable(row: &[f64], orders: Orders) -> bool {
    const N_OPERATIONS_MAX: usize = 2_000_000_000;
    let n_state = orders.n_phi.max(orders.n_theta + 1);
    let has_gaps = row.iter().any(|value| value.is_nan());
    !has_gaps || row.len().saturating_mul(n_state * n_state) <= N_OPERATIONS_MAX
}

/// Source of the standard errors.
enum Estimation {
    Asymptotic,
    LeastSquares(Gaps),
    Likelihood,
}

fn method(spec: &Spec) -> Option<Estimation> {
    match spec {
        Spec::Ar { method: ArMethod::YuleWalker | ArMethod::Burg, .. } => Some(Estimation::Asymptotic),
        Spec::Ar { method: ArMethod::LeastSquares, .. } => Some(Estimation::LeastSquares(Gaps::LeftOut)),
        Spec::Ar { method: ArMethod::MaximumLikelihood, .. } => Some(Estimation::Likelihood),
        Spec::Ma { method, .. } | Spec::Arma { method, .. } | Spec::Arima { method, .. } => match method {
            Method::LeastSquares => Some(Estimation::LeastSquares(Gaps::Bridged)),
            Method::MaximumLikelihood => Some(Estimation::Likelihood),
        },
        _ => None,
    }
}

pub(crate) fn parameters(estimates: &Estimates, covariances: &[f64]) -> Vec<Parameter> {
    let numbered = |letters: &'static str, values: &[f64]| -> Vec<(String, f64)> {
        values.iter().enumerate().map(|(idx, value)| (format!("{letters}{}", idx + 1), *value)).collect()
    };
    let mut named = numbered("phi", &estimates.phi);
    named.extend(numbered("theta", &estimates.theta));
    named.extend((estimates.n_differences == 0).then(|| ("mean".to_owned(), estimates.mean)));
    let n = named.len();
    let standard_error = |idx: usize| covariances.get(idx * (n + 1)).map(|variance| variance.sqrt());
    let parameter = |(idx, (name, value))| Parameter { name, value, standard_error: standard_error(idx) };
    named.into_iter().enumerate().map(parameter).collect()
}

/// Computes the covariances of phi and the mean of an autoregression, when the series is long: s2 / n times the inverse
/// of the autocovariances that phi implies, which is a sum of products of phi (Siddiqui 1958), and s2 / (n phi(1)^2).
/// The two do not depend on each other.
fn asymptotic(estimates: &Estimates, n_samples: usize) -> Vec<f64> {
    let Estimates { phi, innovation_variance, .. } = estimates;
    let (p, n) = (phi.len(), n_samples as f64);
    let weight = |i: usize| if i == 0 { 1.0 } else { -phi[i - 1] };
    let width = p + 1;
    let mut matrix = vec![0.0; width * width];
    for i in 0..p {
        for j in 0..p {
            let before = if i > 0 && j > 0 { matrix[(i - 1) * width + j - 1] } else { 0.0 };
            matrix[i * width + j] = before + (weight(i) * weight(j) - weight(p - i) * weight(p - j)) / n;
        }
    }
    matrix[width * width - 1] = innovation_variance / (1.0 - phi.iter().sum::<f64>()).powi(2) / n;
    matrix
}

/// s2 (J'J)^-1 of the conditional errors.
fn least_squares(estimates: &Estimates, orders: Orders, deviations: &[f64], gaps: Gaps) -> Option<Vec<f64>> {
    let row = difference(&bridge(deviations), orders.n_differences);
    let problem = Css::new(row, counts(deviations, orders, gaps), orders, orders.n_differences == 0);
    let mut inverse = problem.inverse_products(&estimates.phi, &estimates.theta)?;
    inverse.iter_mut().for_each(|element| *element *= estimates.innovation_variance);
    Some(inverse)
}
