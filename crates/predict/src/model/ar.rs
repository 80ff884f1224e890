//! AR(p): coefficients by Yule-Walker or Burg, or as an ARMA(p,0) by least squares or exact likelihood.
//!
//! z(t) - mu = phi(1) (z(t-1) - mu) + … + phi(p) (z(t-p) - mu) + a(t), with a(t) white of variance s2
//! (Box, Jenkins and Reinsel 1994, chapters 3 and 5; RPS section 5.2.1).

mod burg;
mod yule_walker;

use super::arma;
use super::linear::{Estimates, Linear, dot};
use super::sample::Centred;
use crate::fit::FitError;
use crate::spec::{ArMethod, Method, Orders, Spec};

pub(crate) fn fit(spec: &Spec, samples: &[f64], order: usize, method: ArMethod) -> Result<Linear, FitError> {
    type Estimate = fn(&Centred, usize) -> (Vec<f64>, f64);
    let estimate: Estimate = match method {
        ArMethod::YuleWalker => |centred, order| yule_walker::estimate(&centred.deviations, centred.n_known, order),
        ArMethod::Burg => |centred, order| burg::estimate(&centred.deviations, centred.power, order),
        ArMethod::LeastSquares => return arma::fit_autoregression(spec, samples, order),
        ArMethod::MaximumLikelihood => {
            let orders = Orders { n_phi: order, n_differences: 0, n_theta: 0, truncation: None };
            return arma::fit(spec, samples, orders, Method::MaximumLikelihood);
        }
    };
    let centred = Centred::of(spec, samples)?;
    let (phi, innovation_variance) = estimate(&centred, order);
    let estimates = Estimates { phi, mean: centred.mean, innovation_variance, ..Estimates::default() };
    Ok(Linear::new(estimates, samples))
}

/// phi(1), …, phi(p) by Burg, of a row without gaps about 0.
pub(crate) fn burg_coefficients(row: &[f64], order: usize) -> Vec<f64> {
    let power = row.iter().map(|value| value * value).sum::<f64>() / row.len() as f64;
    burg::estimate(row, power, order).0
}
