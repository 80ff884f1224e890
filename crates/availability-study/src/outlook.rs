//! A series as it is forecast while it goes on: by the last value until a model can be fitted, then by the model.

use predict::{Forecast, Predictor, Spec, fit};

/// Steps between two tries to fit a model to samples that would not have it, because they do not vary.
const RETRY_EVERY: usize = 4;

/// One series and its model.
#[derive(Debug)]
pub(crate) struct Outlook {
    spec: Spec,
    samples: Vec<f64>,
    last: Option<f64>,
    n_known: usize,
    model: Option<Predictor>,
    retry_in: usize,
    /// The greatest value that the quantity can have.
    most: f64,
    room: Forecast,
}

impl Outlook {
    pub(crate) fn new(spec: Spec, most: f64) -> Outlook {
        Outlook {
            spec,
            samples: Vec::new(),
            last: None,
            n_known: 0,
            model: None,
            retry_in: 0,
            most,
            room: Forecast::default(),
        }
    }

    /// Takes the next sample, NaN for a gap.
    pub(crate) fn step(&mut self, sample: f64) {
        if sample.is_finite() {
            self.last = Some(sample);
            self.n_known += 1;
        }
        if let Some(model) = &mut self.model {
            return model.step(sample);
        }
        // Gaps ahead of the first sample are nothing.
        if self.n_known > 0 {
            self.samples.push(sample);
        }
        if self.n_known < self.spec.n_samples_min() || self.retry_in > 0 {
            self.retry_in = self.retry_in.saturating_sub(1);
            return;
        }
        match fit(&self.spec, &self.samples) {
            Ok(model) => {
                self.model = Some(model.predictor());
                self.samples = Vec::new();
            }
            Err(_) => self.retry_in = RETRY_EVERY - 1,
        }
    }

    /// The forecast for the next `n_leads` samples; none before there is a model.
    pub(crate) fn forecast(&mut self, n_leads: usize) -> Option<&Forecast> {
        let model = self.model.as_ref()?;
        model.forecast_into(n_leads, &mut self.room);
        self.room.cut(0.0, self.most);
        Some(&self.room)
    }

    /// The mean of the forecasts for the next `n_leads` samples; none before the first sample.
    pub(crate) fn mean_ahead(&mut self, n_leads: usize) -> Option<f64> {
        let last = self.last;
        let mean = self.forecast(n_leads).map(|forecast| forecast.means().iter().sum::<f64>() / n_leads as f64);
        mean.or(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_speaks_until_there_is_a_model() {
        let mut outlook = Outlook::new("AR(2)".parse().unwrap(), 1.0);
        assert_eq!(outlook.mean_ahead(10), None);
        outlook.step(f64::NAN);
        outlook.step(0.25);
        assert_eq!(outlook.mean_ahead(10), Some(0.25));
        (0..20).for_each(|t| outlook.step(if t % 2 == 0 { 0.75 } else { 0.25 }));
        assert!(outlook.mean_ahead(2).is_some_and(|mean| (mean - 0.5).abs() < 0.1), "{outlook:?}");
    }

    #[test]
    fn no_forecast_is_beyond_what_can_be() {
        let mut outlook = Outlook::new(Spec::Last, 1.0);
        (0..10).for_each(|t| outlook.step(if t == 9 { 1.5 } else { f64::from(t) / 10.0 }));
        assert_eq!(outlook.mean_ahead(5), Some(1.0));
    }
}
