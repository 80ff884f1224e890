//! ETS(A,N,N), ETS(A,A,N) and ETS(A,Ad,N): exponential smoothing of a level, of a level and a slope, and of a level and
//! a slope that dies out.
//!
//! In innovations form, z(t) = l(t-1) + phi b(t-1) + a(t), l(t) = l(t-1) + phi b(t-1) + alpha a(t) and
//! b(t) = phi b(t-1) + beta a(t) (Hyndman, Koehler, Ord and Snyder 2008, chapter 2); Holt's linear method is the one
//! with phi = 1. ETS(A,N,N) is ARIMA(0,1,1) with theta = alpha - 1.

pub(crate) mod inference;
mod search;

use serde::{Deserialize, Serialize};

use super::sample::{Centred, bounded};
use crate::fit::FitError;
use crate::spec::{Region, Spec, Trend};

/// Smoothing constants, by which the states follow the errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Smoothing {
    /// Part of an error that the level takes.
    pub(crate) alpha: f64,
    /// Part of an error that the slope takes; 0 without one. Holt's own smoothing constant is beta / alpha.
    pub(crate) beta: f64,
    /// Part of the slope that a step leaves: 1 undamped, 0 without a slope.
    pub(crate) phi: f64,
}

/// Estimated state of the series, in its unit: where it is and by how much it rises in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) level: f64,
    pub(crate) slope: f64,
}

/// A fit, and the state at the end of what was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ets {
    trend: Trend,
    smoothing: Smoothing,
    state: State,
    /// Variance of the one-step errors, by dividing by their number.
    innovation_variance: f64,
    /// Mean of the samples of the fit.
    mean: f64,
    n_errors: usize,
}

/// Least squares of the one-step errors over smoothing and first state: the greatest Gaussian likelihood that does not
/// count how likely the first state is.
pub(crate) fn fit(spec: &Spec, samples: &[f64], trend: Trend, region: Region) -> Result<Ets, FitError> {
    let Centred { mean, deviations, n_known, power } = Centred::of(spec, samples)?;
    let best = search::search(&deviations, power, trend, region)
        .ok_or_else(|| FitError::DidNotConverge { spec: spec.clone() })?;
    let mut state = best.start;
    let mut squares = 0.0;
    for deviation in &deviations {
        let error = state.step(best.smoothing, *deviation);
        squares += error * error;
    }
    state.level += mean;
    let innovation_variance = squares / n_known as f64;
    Ok(Ets { trend, smoothing: best.smoothing, state, innovation_variance, mean, n_errors: n_known })
}

impl State {
    /// Takes a sample, NaN for a gap, and gives its error, 0 for a gap.
    fn step(&mut self, Smoothing { alpha, beta, phi }: Smoothing, sample: f64) -> f64 {
        let slope = phi * self.slope;
        let said = self.level + slope;
        let error = if sample.is_nan() { 0.0 } else { sample - said };
        *self = Self { level: said + alpha * error, slope: slope + beta * error };
        error
    }
}

impl Ets {
    /// NaN is a gap: the forecast takes its place.
    pub(crate) fn step(&mut self, sample: f64) {
        self.state.step(self.smoothing, bounded(sample));
    }

    /// Computes the errors from the first state that makes their squares least, as in the fit.
    pub(crate) fn one_step_errors(&self, samples: &[f64]) -> Vec<f64> {
        let deviations: Vec<f64> = samples.iter().map(|sample| sample - self.mean).collect();
        let mut state = search::best_start(&deviations, self.smoothing);
        let error = |deviation: &f64| {
            let error = state.step(self.smoothing, *deviation);
            if deviation.is_nan() { f64::NAN } else { error }
        };
        deviations.iter().map(error).collect()
    }

    /// `alpha`, `beta` and `phi`, as far as the trend has them.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, f64)> {
        let Smoothing { alpha, beta, phi } = self.smoothing;
        [("alpha", alpha), ("beta", beta), ("phi", phi)][..self.trend.n_constants()].to_vec()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    pub(crate) fn innovation_variance(&self) -> f64 {
        self.innovation_variance
    }

    /// `n_missing` is how many samples are missing since the last known one; the states have moved on through them.
    ///
    /// The error of lead h has the variance s2 (1 + c(1)^2 + … + c(h-1)^2) with c(j) = alpha + beta (phi + … + phi^j)
    /// (Hyndman and others 2008, section 6.3, of whose sums table 6.2 has the closed forms).
    pub(crate) fn forecast_into(&self, n_missing: usize, means: &mut [f64], standard_errors: &mut [f64]) {
        let Smoothing { alpha, beta, phi } = self.smoothing;
        let (mut state, mut damping) = (self.state, phi);
        for mean in &mut *means {
            state.step(self.smoothing, f64::NAN);
            *mean = state.level;
        }
        let (mut sum, mut reach) = (1.0, 0.0);
        for lead_idx in 0..n_missing + standard_errors.len() {
            if let Some(idx) = lead_idx.checked_sub(n_missing) {
                standard_errors[idx] = (self.innovation_variance * sum).sqrt();
            }
            reach += damping;
            damping *= phi;
            let weight: f64 = alpha + beta * reach;
            sum += weight * weight;
        }
    }

    /// Whether this is a fit of `trend`.
    pub(crate) fn is_of(&self, trend: Trend) -> bool {
        let Smoothing { beta, phi, .. } = self.smoothing;
        self.trend == trend
            && match trend {
                Trend::None => (beta, phi) == (0.0, 0.0) && self.state.slope == 0.0,
                Trend::Additive => phi == 1.0,
                Trend::Damped => (0.0..1.0).contains(&phi),
            }
    }

    pub(crate) fn is_sound(&self) -> bool {
        let Smoothing { alpha, beta, phi } = self.smoothing;
        let numbers = [alpha, beta, phi, self.state.level, self.state.slope, self.innovation_variance, self.mean];
        numbers.iter().all(|number| number.is_finite())
            && self.smoothing.is_stable()
            && self.innovation_variance >= 0.0
            && self.n_errors > 0
    }
}

impl Smoothing {
    /// Whether old samples lose their weight, so that no forecast depends on the first state for ever (Hyndman and
    /// others 2008, section 10.2). A slope of 0 leaves the condition of the level.
    pub(crate) fn is_stable(&self) -> bool {
        let Self { alpha, beta, phi } = *self;
        if phi == 0.0 {
            return beta == 0.0 && (0.0..2.0).contains(&alpha);
        }
        (1.0 - 1.0 / phi..1.0 + 1.0 / phi).contains(&alpha)
            && (alpha * (phi - 1.0)..(1.0 + phi) * (2.0 - alpha)).contains(&beta)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Asserts that the errors, means and variances, with parameters and first state given, are those of statsmodels'
    /// `ETSModel` (`testdata/predict/ets/reference.py`).
    #[track_caller]
    fn check_fixed(letter: &str, case: &str, trend: Trend) {
        let table = include_str!("../../../../testdata/predict/ets/reference.csv");
        let prefix = format!("fixed,nile,{letter},{case},");
        let rows = table.lines().filter_map(|line| line.strip_prefix(&prefix)).map(|row| {
            let [quantity, idx, value] = row.split(',').collect::<Vec<_>>()[..] else { panic!("{row}") };
            ((quantity, idx.parse::<usize>().unwrap()), value.parse::<f64>().unwrap())
        });
        let theirs: HashMap<(&str, usize), f64> = rows.collect();
        let one = |quantity: &str| theirs.get(&(quantity, 1)).copied();
        let phi = one("phi").unwrap_or(if trend == Trend::None { 0.0 } else { 1.0 });
        let smoothing = Smoothing { alpha: one("alpha").unwrap(), beta: one("beta").unwrap_or(0.0), phi };
        let mut state = State { level: one("level").unwrap(), slope: one("slope").unwrap_or(0.0) };
        let nile = include_str!("../../../../testdata/predict/ar/nile.csv").lines().skip(1);
        let samples: Vec<f64> = nile.map(|line| line.parse().unwrap()).collect();
        let squares: f64 = samples.iter().map(|sample| state.step(smoothing, *sample).powi(2)).sum();
        let n_errors = samples.len();
        let innovation_variance = squares / n_errors as f64;
        let ets = Ets { trend, smoothing, state, innovation_variance, mean: 0.0, n_errors };
        let (mut means, mut standard_errors) = (vec![0.0; 30], vec![0.0; 30]);
        ets.forecast_into(0, &mut means, &mut standard_errors);
        // Rounding only: it is the same arithmetic.
        let close = |ours: f64, theirs: f64| (ours - theirs).abs() < 1e-10 * theirs.abs();
        assert!(close(squares, one("sse").unwrap()), "{squares}");
        for lead in 1..=30 {
            let (mean, variance) = (means[lead - 1], standard_errors[lead - 1].powi(2));
            assert!(close(mean, theirs[&("mean", lead)]), "lead {lead}: mean {mean}");
            assert!(close(variance, theirs[&("variance", lead)]), "lead {lead}: variance {variance}");
        }
    }

    #[test]
    fn a_level_is_smoothed_as_statsmodels_does() {
        check_fixed("N", "1", Trend::None);
        check_fixed("N", "2", Trend::None);
    }

    #[test]
    fn a_slope_is_smoothed_as_statsmodels_does() {
        check_fixed("A", "1", Trend::Additive);
        check_fixed("A", "2", Trend::Additive);
    }

    #[test]
    fn a_damped_slope_is_smoothed_as_statsmodels_does() {
        check_fixed("Ad", "1", Trend::Damped);
        check_fixed("Ad", "2", Trend::Damped);
    }

    #[test]
    fn smoothing_that_never_forgets_is_not_stable() {
        for (alpha, beta, phi) in
            [(2.0, 0.0, 0.0), (-0.1, 0.0, 0.0), (1.0, 2.5, 1.0), (0.5, -0.1, 1.0), (3.0, 0.1, 0.9)]
        {
            assert!(!Smoothing { alpha, beta, phi }.is_stable(), "{alpha} {beta} {phi}");
        }
    }
}
