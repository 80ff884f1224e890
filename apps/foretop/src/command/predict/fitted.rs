//! A model fitted to all samples, and intervals of the kind that was asked for.

use anyhow::{Context, ensure};
use predict::{Forecast, Inference, Intervals, Model, Predictor, Spec, fit};

/// Empirical intervals remember 256 errors at each lead; twice as many samples give those at long leads too.
const N_LEARNED_FROM_MAX: usize = 512;

/// A model as it was asked for, at the end of the samples.
#[derive(Debug)]
pub struct Fitted {
    /// The model as it was asked for.
    pub spec: Spec,
    pub predictor: Predictor,
}

impl Fitted {
    /// The model, and `intervals` if they are not to be its own.
    ///
    /// Intervals learn from errors that the model made with samples that it was not fitted to: it is fitted without
    /// the newer half of the samples, forecasts these one after the other, and is then fitted to all of them.
    pub fn new(spec: &Spec, samples: &[f64], intervals: Option<Intervals>) -> anyhow::Result<Self> {
        let spec = spec.clone();
        let own = if matches!(spec, Spec::Auto { .. }) { Intervals::Adaptive } else { Intervals::Gaussian };
        let intervals = intervals.unwrap_or(own);
        if intervals == own {
            let predictor = fit(&spec, samples)?.predictor();
            return Ok(Self { spec, predictor });
        }
        if intervals == Intervals::Gaussian {
            let predictor = fit(&spec, samples)?.predictor().with_intervals(intervals);
            return Ok(Self { spec, predictor });
        }
        let n_new = (samples.len() / 2).clamp(1, N_LEARNED_FROM_MAX);
        let (old, new) = samples.split_at(samples.len().saturating_sub(n_new));
        let lived = match &spec {
            Spec::Auto { .. } | Spec::Refit { .. } => spec.clone(),
            plain => plain.clone().refit(n_new, samples.len()),
        };
        let too_few = || format!("to learn intervals, the model is fitted to the older {} samples first", old.len());
        let mut predictor = fit(&lived, old).with_context(too_few)?.predictor().with_intervals(intervals);
        new.iter().for_each(|sample| predictor.step(*sample));
        Ok(Self { spec, predictor })
    }

    pub fn model(&self) -> &Model {
        self.predictor.model()
    }

    /// Adds to the standard errors what the coefficients' own make of them.
    ///
    /// # Errors
    /// When there is nothing to add, or it is in the intervals already.
    pub fn widen(&self, samples: &[f64], forecast: &mut Forecast) -> anyhow::Result<()> {
        ensure!(
            self.predictor.intervals() == Intervals::Gaussian,
            "intervals that are learned from errors include how unsure the coefficients are; widen normal ones, or none"
        );
        let inference = Inference::of(self.model(), samples).filter(|inference| !inference.covariances.is_empty());
        let Some(inference) = inference else {
            anyhow::bail!(
                "{} has no covariances of coefficients to widen its errors by; models such as AR(4), ARMA(1,1) and ARIMA(1,1,1) have",
                self.spec
            );
        };
        inference.widen(self.model(), samples, forecast);
        Ok(())
    }
}
