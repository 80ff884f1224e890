//! NWS: many cheap predictors at once, and at each step the word of the one that was least wrong so far.
//!
//! The forecaster of the Network Weather Service (Wolski, Spring and Hayes 1999). Its forecast is the same for every
//! lead, so its errors are measured at each of them, as those of a window are.

mod member;
mod panel;
mod score;
mod sorted;

use serde::{Deserialize, Serialize};

use crate::error_growth::ErrorGrowth;
use crate::loss::Loss;
pub(crate) use panel::Panel;
use score::Score;

/// The members, how wrong each was, and who speaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Nws {
    panel: Panel,
    score: Score,
    speaker_idx: usize,
    loss: Loss,
    growth: ErrorGrowth,
    /// Mean of the samples of the fit.
    mean: f64,
}

/// `samples` holds at least two known ones. `recent` is how many steps the members are judged on, all if `None`.
pub(crate) fn fit(samples: &[f64], loss: Loss, recent: Option<usize>) -> Nws {
    let mut nws = Nws::new(loss, recent);
    let mut said = Vec::with_capacity(samples.len());
    let mut n_known = 0.0;
    for sample in samples {
        if sample.is_nan() {
            said.push(f64::NAN);
            continue;
        }
        nws.step(*sample);
        n_known += 1.0;
        nws.mean += (sample - nws.mean) / n_known;
        said.push(nws.prediction().unwrap_or(f64::NAN));
    }
    nws.growth = ErrorGrowth::measure(samples, &said);
    nws
}

impl Nws {
    fn new(loss: Loss, recent: Option<usize>) -> Self {
        let panel = Panel::new();
        let score = Score::new(panel.members().len(), recent);
        Self { panel, score, speaker_idx: 0, loss, growth: ErrorGrowth::measure(&[], &[]), mean: 0.0 }
    }

    /// Takes a finite sample: every member is judged by what it said of it, then takes it.
    pub(crate) fn step(&mut self, sample: f64) {
        if self.panel.is_empty() {
            self.panel.step(sample);
            return;
        }
        let errors = self.panel.predictions().iter().map(|prediction| sample - prediction);
        match self.loss {
            Loss::Squared => self.score.add(errors.map(|error| error * error)),
            Loss::Absolute => self.score.add(errors.map(f64::abs)),
        }
        self.speaker_idx = self.score.best();
        self.panel.step(sample);
    }

    /// Computes the errors of the member that forecasts at each step, members and scores beginning with the first
    /// sample.
    pub(crate) fn one_step_errors(&self, samples: &[f64]) -> Vec<f64> {
        let mut nws = Self::new(self.loss, self.score.window());
        let error = |sample: &f64| {
            let error = nws.prediction().map_or(f64::NAN, |said| sample - said);
            if !sample.is_nan() {
                nws.step(*sample);
            }
            error
        };
        samples.iter().map(error).collect()
    }

    /// The name of the member whose word the forecast is.
    pub(crate) fn speaker(&self) -> String {
        self.panel.members()[self.speaker_idx].to_string()
    }

    /// `None` before the first sample.
    fn prediction(&self) -> Option<f64> {
        (!self.panel.is_empty()).then(|| self.panel.predictions()[self.speaker_idx])
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    pub(crate) fn innovation_variance(&self) -> f64 {
        self.growth.one_step()
    }

    /// `n_missing` is how many samples are missing since the last known one.
    pub(crate) fn forecast_into(&self, n_missing: usize, means: &mut [f64], standard_errors: &mut [f64]) {
        means.fill(self.panel.predictions()[self.speaker_idx]);
        self.growth.standard_errors_into(n_missing, standard_errors);
    }

    /// Whether this is a fit by `loss` over `recent`, and its parts fit together.
    pub(crate) fn is_of(&self, loss: Loss, recent: Option<usize>) -> bool {
        self.loss == loss && self.score.is_sound(self.panel.members().len(), recent)
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.panel.is_sound()
            && self.speaker_idx < self.panel.members().len()
            && self.growth.is_sound()
            && self.mean.is_finite()
    }
}
