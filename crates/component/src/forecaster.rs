//! What forecasts one signal: a predictor, and LAST while no model could be fitted.

use predict::{Predictor, Spec};
use stream::Forecast;

/// Of a signal without a fitted model so many samples are kept, for LAST to begin with.
const N_YOUNG_MAX: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Forecaster {
    predictor: Option<Predictor>,
    /// The samples that came while there is none.
    young: Vec<f64>,
}

impl Forecaster {
    /// Goes on by this predictor.
    pub(crate) fn speak_by(&mut self, predictor: Predictor) {
        self.predictor = Some(predictor);
    }

    pub(crate) fn speaks(&self) -> bool {
        self.predictor.is_some()
    }

    /// Without a fitted model LAST speaks, once there are two samples by which it can tell how wrong it is.
    pub(crate) fn begin(&mut self, history: &[f64]) {
        self.young = history[history.len().saturating_sub(N_YOUNG_MAX)..].to_vec();
        self.predictor = predict::fit(&Spec::Last, &self.young).ok().map(|model| model.predictor());
    }

    /// Takes a sample, after so many that are missing.
    pub(crate) fn step(&mut self, n_missed: usize, value: f64) {
        let samples = std::iter::repeat_n(f64::NAN, n_missed).chain([value]);
        match &mut self.predictor {
            Some(predictor) => samples.for_each(|sample| predictor.step(sample)),
            None => {
                let mut young = std::mem::take(&mut self.young);
                young.extend(samples.map(|sample| if sample.is_finite() { sample } else { f64::NAN }));
                self.begin(&young);
            }
        }
    }

    /// Means and standard errors into a message, NaN while there is nothing to tell.
    pub(crate) fn forecast_into(&self, horizon: usize, scratch: &mut predict::Forecast, forecast: &mut Forecast) {
        let Forecast { means, standard_errors, .. } = forecast;
        means.clear();
        standard_errors.clear();
        match &self.predictor {
            Some(predictor) => {
                predictor.forecast_into(horizon, scratch);
                means.extend_from_slice(scratch.means());
                standard_errors.extend_from_slice(scratch.standard_errors());
            }
            None => {
                means.resize(horizon, f64::NAN);
                standard_errors.resize(horizon, f64::NAN);
            }
        }
    }
}
