//! AR(p): coefficients by Yule-Walker or Burg.
//!
//! z(t) - mu = phi(1) (z(t-1) - mu) + … + phi(p) (z(t-p) - mu) + a(t), with a(t) white of variance s2
//! (Box, Jenkins and Reinsel 1994, chapters 3 and 5; RPS section 5.2.1).

mod burg;
mod yule_walker;

use super::linear::{Estimates, Linear, dot};
use super::sample::Centred;
use crate::fit::FitError;
use crate::spec::{ArMethod, Spec};

pub(crate) fn fit(spec: &Spec, samples: &[f64], order: usize, method: ArMethod) -> Result<Linear, FitError> {
    let centred = Centred::of(spec, samples)?;
    let (phi, innovation_variance) = match method {
        ArMethod::YuleWalker => yule_walker::estimate(&centred.deviations, centred.n_known, order),
        ArMethod::LeastSquares | ArMethod::MaximumLikelihood => todo!(),
        ArMethod::Burg => burg::estimate(&centred.deviations, centred.power, order),
    };
    let estimates = Estimates { phi, mean: centred.mean, innovation_variance, ..Estimates::default() };
    Ok(Linear::new(estimates, samples))
}

/// phi(1), …, phi(p) by Burg, of a row without gaps about 0.
pub(crate) fn burg_coefficients(row: &[f64], order: usize) -> Vec<f64> {
    let power = row.iter().map(|value| value * value).sum::<f64>() / row.len() as f64;
    burg::estimate(row, power, order).0
}
