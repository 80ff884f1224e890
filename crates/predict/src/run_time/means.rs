//! Distribution of the mean over the next samples.

use super::RunTimeError;
use super::model::ModelErrors;
use super::windows::{Spread, WindowErrors};
use crate::forecast::Forecast;

/// The distribution of means over the samples that come next, of a quantity between 0 and a most.
#[derive(Clone, Debug)]
pub struct Means {
    /// Mean of each sample, cut to what there can be.
    pub(super) means: Vec<f64>,
    /// Distribution of the errors of means over windows, by the length of the window.
    pub(super) spread: Spread,
    pub(super) most: f64,
}

impl Means {
    /// Builds the means from a `forecast` made with the last sample known, and what `errors` have learned of such
    /// forecasts. Means and standard errors beyond `most` are cut.
    ///
    /// # Errors
    /// [`RunTimeError`]: a forecast that ends before the first window or is no number.
    pub fn new(forecast: &Forecast, errors: &WindowErrors, most: f64) -> Result<Self, RunTimeError> {
        let (have, need) = (forecast.n_leads(), errors.lag() + 1);
        if have < need {
            return Err(RunTimeError::ForecastTooShort { have, need });
        }
        if let Some(idx) = forecast.means().iter().position(|mean| mean.is_nan()) {
            return Err(RunTimeError::NoMean { lead: idx + 1, mean: forecast.means()[idx] });
        }
        let means: Vec<f64> = forecast.means()[errors.lag()..].iter().map(|mean| mean.clamp(0.0, most)).collect();
        let model = ModelErrors::of(forecast.standard_errors(), errors.lag(), most);
        let spread = errors.spread(model, |length| mean_of(&means, length));
        Ok(Self { means, spread, most })
    }

    /// Returns the number of steps ahead that are forecast.
    #[must_use]
    pub fn n_steps(&self) -> usize {
        self.means.len()
    }

    /// The mean that is expected over the next `length` samples, of as many as were forecast.
    #[must_use]
    pub fn expected(&self, length: usize) -> f64 {
        mean_of(&self.means, length)
    }

    /// Returns the values that the means over the next samples lie below with probability `p`, for each of these
    /// lengths.
    ///
    /// # Panics
    /// When `p` is not strictly between 0 and 1.
    #[must_use]
    pub fn quantiles(&self, p: f64, lengths: &[usize]) -> Vec<f64> {
        assert!(p > 0.0 && p < 1.0, "{p} is not strictly between 0 and 1");
        let (ends, scale) = (self.spread.quantiles(p), self.spread.scale);
        let of = |length: &usize| {
            let error = ends.at(*length as f64, *length as f64, 0.0);
            scale.value(scale.of(self.expected(*length)) + error).clamp(0.0, self.most)
        };
        lengths.iter().map(of).collect()
    }
}

fn mean_of(means: &[f64], length: usize) -> f64 {
    let window = &means[..length.clamp(1, means.len())];
    window.iter().sum::<f64>() / window.len() as f64
}
