//! What a prediction server is told, and when it fits.

use std::time::Duration;

use predict::{Spec, SpecError};
use stream::{Configuration, Endpoint, Forecast};

use crate::core_process::CoreProgram;

/// More samples than this tell no model more.
const WINDOW_MAX: u32 = 1_000_000;

/// Values that are kept altogether: 1 GiB.
const N_VALUES_MAX: usize = 1 << 27;

/// Samples that may wait for a core, beside the window; fewer where a sample has many values.
const N_WAITING: usize = 65_536;

/// What a prediction server is told at its start.
#[derive(Clone, Debug)]
pub struct PredictionSettings {
    /// The model.
    pub model: Spec,
    /// How many of the last samples it is fitted to, 2 to a million.
    pub window: u32,
    /// How many steps ahead it forecasts, 1 to 65,000.
    pub horizon: u32,
    /// The measure buffer that has the samples from before, as `source:`.
    pub history: Option<Endpoint>,
    /// What its stream is called; as the one that comes in if `None`.
    pub stream: Option<String>,
    /// The program of its core.
    pub core: CoreProgram,
    /// How long the core may take for an answer, a fit included, before it is taken for hung; 10 ms at least.
    pub core_limit: Duration,
}

/// A setting that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PredictionSettingsError {
    /// The model's text says none.
    #[error(transparent)]
    Model(#[from] SpecError),
    /// The window is too short or too long.
    #[error("the window has to be 2 to {WINDOW_MAX} samples, not {given}")]
    Window {
        /// What was given.
        given: u32,
    },
    /// The horizon is none, or no frame holds it.
    #[error("the horizon has to be 1 to {} steps, not {given}", Forecast::N_LEADS_MAX)]
    Horizon {
        /// What was given.
        given: u32,
    },
    /// Every core would be taken for hung.
    #[error("a core needs at least 10ms for an answer, not {given:?}")]
    CoreLimit {
        /// What was given.
        given: Duration,
    },
}

impl PredictionSettings {
    pub(super) fn check(&self) -> Result<Configuration, PredictionSettingsError> {
        if self.core_limit < Duration::from_millis(10) {
            return Err(PredictionSettingsError::CoreLimit { given: self.core_limit });
        }
        let configuration = Configuration { model: self.model.to_string(), window: self.window, horizon: self.horizon };
        check(&configuration).map(|()| configuration)
    }

    /// How often it looks whether the core hangs.
    pub(super) fn look_every(&self) -> Duration {
        (self.core_limit / 8).clamp(Duration::from_millis(10), Duration::from_millis(250))
    }
}

pub(super) fn check(configuration: &Configuration) -> Result<(), PredictionSettingsError> {
    configuration.model.parse::<Spec>()?;
    let Configuration { window, horizon, .. } = *configuration;
    if !(2..=WINDOW_MAX).contains(&window) {
        return Err(PredictionSettingsError::Window { given: window });
    }
    if horizon == 0 || horizon as usize > Forecast::N_LEADS_MAX {
        return Err(PredictionSettingsError::Horizon { given: horizon });
    }
    Ok(())
}

/// How many samples are kept of so many signals.
pub(super) fn n_kept(configuration: &Configuration, n_signals: usize) -> usize {
    let n_waiting = (N_WAITING / n_signals.max(1)).max(64);
    (configuration.window as usize + n_waiting).min(N_VALUES_MAX / n_signals.max(1))
}

/// When a young series has grown so much that its model is fitted again: at the least number of samples that the model takes, whenever there are
/// twice as many as at the last fit, and when the window is full. What a fit on a full window cannot do is tried again after as many
/// samples as the model needs.
#[derive(Debug)]
pub(super) struct Growth {
    n_needed: usize,
    n_there: usize,
    next: Option<usize>,
}

impl Growth {
    pub(super) fn new(model: &Spec) -> Self {
        Self { n_needed: model.n_samples_min(), n_there: 0, next: None }
    }

    /// The core got one more.
    pub(super) fn took_one(&mut self) {
        self.n_there += 1;
    }

    /// There are so many, some of which came from a buffer.
    pub(super) fn has(&mut self, n_samples: usize) {
        self.n_there = self.n_there.max(n_samples);
    }

    pub(super) fn is_due(&self) -> bool {
        self.next.is_some_and(|next| self.n_there >= next)
    }

    /// A fit to so many samples was ordered.
    pub(super) fn fitted_to(&mut self, n_samples: usize, configuration: &Configuration) {
        if let Ok(model) = configuration.model.parse::<Spec>() {
            self.n_needed = model.n_samples_min();
        }
        let window = configuration.window as usize;
        self.n_there = n_samples;
        self.next = (n_samples < window).then(|| (2 * n_samples).max(self.n_needed).min(window));
    }

    /// It could not be done.
    pub(super) fn failed(&mut self) {
        self.next.get_or_insert(self.n_there + self.n_needed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_young_series_is_fitted_at_doublings_until_its_window_is_full() {
        let configuration = Configuration { model: "AR(16)".to_owned(), window: 600, horizon: 30 };
        let mut growth = Growth::new(&Spec::ar(16));
        growth.fitted_to(0, &configuration);
        let mut fits = Vec::new();
        for n_samples in 1..2000 {
            growth.took_one();
            if growth.is_due() {
                fits.push(n_samples);
                growth.fitted_to(n_samples.min(600), &configuration);
            }
        }
        assert_eq!(fits, [33, 66, 132, 264, 528, 600]);
        growth.failed();
        (0..32).for_each(|_| growth.took_one());
        assert!(!growth.is_due());
        growth.took_one();
        assert!(growth.is_due(), "a full window that yields no model is tried again");
    }
}
