//! TAR(p): a threshold autoregression with two regimes, chosen between by the series itself (Tong 1990, chapter 3).
//!
//! z(t) = c + phi(1) z(t-1) + … + phi(p) z(t-p) + a(t), with one c, phi and variance of a while z(t-d) is at most the
//! threshold, and others while it is above. Fitted by least squares over all delays and thresholds (Hansen 1997), which
//! is the greatest Gaussian likelihood, conditional on the first p samples, if both variances are the same.
//!
//! A regime may be explosive where the other one brings the series back. A pair that does not is passed over for the
//! next best, and if there is none the fit is refused: no forecast runs away.
//! Beyond lead 1 the mean has no closed form, and putting the mean of one step into the next (the skeleton) is biased
//! wherever a threshold is near. So means and errors are those of 256 simulated paths with fixed normal shocks: tens
//! of times the cost of a linear forecast, the same on every run, and errors that depend on where the series is.

pub(crate) mod inference;
mod path;
mod shock;
mod stability;
mod threshold;

use serde::{Deserialize, Serialize};

use super::ring::Ring;
use super::sample::{Centred, bounded};
use crate::fit::FitError;
use crate::spec::Spec;
use path::{Paths, deviation_of, mean_of};
use threshold::Problem;

pub(crate) use threshold::n_rows_min;

/// Leads beyond this have the forecast of this one: by then paths have forgotten where they began, and the work stays
/// bounded.
const N_LEADS_MAX: usize = 256;

/// A fit, and the last p samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tar {
    regimes: Regimes,
    /// The mean of the fit's samples; everything else counts from it.
    mean: f64,
    /// The last p deviations up to the last known one, those in gaps filled by their forecasts.
    history: Ring,
    /// Gaps since, at most [`N_LEADS_MAX`].
    n_missing: usize,
}

/// The two autoregressions, and what decides between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Regimes {
    /// d, from 1 to p.
    delay: usize,
    threshold: f64,
    low: Regime,
    high: Regime,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Regime {
    intercept: f64,
    /// phi(1), …, phi(p).
    phi: Vec<f64>,
    /// Variance of the one-step errors, by dividing by their number.
    variance: f64,
    /// Number of samples that the fit predicts in this regime.
    n_rows: usize,
}

/// `delay` is chosen from 1 to `order` if `None`. Samples whose `order` predecessors are not all known are left out.
pub(crate) fn fit(spec: &Spec, samples: &[f64], order: usize, delay: Option<usize>) -> Result<Tar, FitError> {
    let Centred { mean, deviations, .. } = Centred::of(spec, samples)?;
    let delays = delay.map_or(1..=order, |delay| delay..=delay);
    let regimes = threshold::search(&deviations, order, delays).map_err(|problem| match problem {
        Problem::TooFewRows { have, need } => FitError::TooBroken { spec: spec.clone(), have, need },
        Problem::NoThreshold => FitError::NoThreshold { spec: spec.clone() },
        Problem::Explosive => FitError::Explosive { spec: spec.clone() },
    })?;
    let mut tar = Tar { regimes, mean, history: Ring::new(order), n_missing: 0 };
    samples.iter().for_each(|sample| tar.step(*sample));
    Ok(tar)
}

impl Tar {
    /// NaN is a gap. Forecasts go on from the last known sample; when the next one comes, they fill the places between.
    pub(crate) fn step(&mut self, sample: f64) {
        if sample.is_nan() {
            self.n_missing = (self.n_missing + 1).min(N_LEADS_MAX);
            return;
        }
        if self.n_missing > 0 {
            let (mut paths, mut means) = (self.paths(self.n_missing), Vec::with_capacity(self.n_missing));
            while let Some(path) = paths.next() {
                means.push(mean_of(path));
            }
            means.iter().for_each(|mean| self.history.push(*mean));
            self.n_missing = 0;
        }
        self.history.push(bounded(sample) - self.mean);
    }

    /// NaN for the first p.
    pub(crate) fn one_step_errors(&self, samples: &[f64]) -> Vec<f64> {
        let order = self.history.len();
        let mut tar = Self { history: Ring::new(order), n_missing: 0, ..self.clone() };
        let error = |(idx, sample): (usize, &f64)| {
            let mut said = [f64::NAN];
            if idx >= order && !sample.is_nan() {
                tar.forecast_into(&mut said, &mut [0.0]);
            }
            tar.step(*sample);
            sample - said[0]
        };
        samples.iter().enumerate().map(error).collect()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the innovation variance of both regimes together.
    pub(crate) fn innovation_variance(&self) -> f64 {
        let Regimes { low, high, .. } = &self.regimes;
        let n = (low.n_rows + high.n_rows) as f64;
        (low.variance * low.n_rows as f64 + high.variance * high.n_rows as f64) / n
    }

    /// `threshold` and `delay`, then of each regime the intercept, `phi1.0` and `phi2.0`, and the coefficients,
    /// `phi1.1`, …; the lower regime is the first. In the unit of the series.
    pub(crate) fn parameters(&self) -> Vec<(String, f64)> {
        let Regimes { delay, threshold, low, high } = &self.regimes;
        let mut parameters = vec![("threshold".to_owned(), self.mean + threshold), ("delay".to_owned(), *delay as f64)];
        for (number, regime) in [(1, low), (2, high)] {
            let intercept = regime.intercept + self.mean * (1.0 - regime.phi.iter().sum::<f64>());
            parameters.push((format!("phi{number}.0"), intercept));
            parameters.extend((1..).zip(&regime.phi).map(|(lag, value)| (format!("phi{number}.{lag}"), *value)));
        }
        parameters
    }

    pub(crate) fn forecast_into(&self, means: &mut [f64], standard_errors: &mut [f64]) {
        let mut paths = self.paths((self.n_missing + means.len()).min(N_LEADS_MAX));
        for _ in 0..self.n_missing.min(N_LEADS_MAX - 1) {
            paths.next();
        }
        let (mut last_mean, mut last_error) = (0.0, 0.0);
        for (mean, standard_error) in means.iter_mut().zip(standard_errors) {
            if let Some(path) = paths.next() {
                last_mean = mean_of(path);
                last_error = deviation_of(path, last_mean);
            }
            (*mean, *standard_error) = (self.mean + last_mean, last_error);
        }
    }

    /// Deviations along all paths, lead by lead from the last known sample.
    fn paths(&self, n_leads: usize) -> Paths<'_> {
        Paths::new(&self.regimes, self.history.recent(), n_leads)
    }

    /// Whether this is a fit of `order` and `delay` whose forecasts do not run away.
    pub(crate) fn is_of(&self, order: usize, delay: Option<usize>) -> bool {
        self.history.len() == order
            && delay.is_none_or(|delay| delay == self.regimes.delay)
            && self.is_sound()
            && self.regimes.is_stable()
    }

    pub(crate) fn is_sound(&self) -> bool {
        let order = self.history.len();
        let Regimes { delay, threshold, low, high } = &self.regimes;
        order > 0
            && (1..=order).contains(delay)
            && self.history.is_sound(order)
            && self.n_missing <= N_LEADS_MAX
            && [self.mean, *threshold].iter().all(|number| number.is_finite())
            && [low, high].iter().all(|regime| regime.is_sound(order))
    }
}

impl Regime {
    fn is_sound(&self, order: usize) -> bool {
        self.phi.len() == order
            && self.phi.iter().chain([&self.intercept, &self.variance]).all(|number| number.is_finite())
            && self.variance >= 0.0
            && self.n_rows > 0
    }
}
