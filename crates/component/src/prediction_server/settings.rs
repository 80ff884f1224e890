//! Settings of a prediction server.

use std::time::Duration;

use predict::{Policy, Spec, SpecError};
use stream::{Configuration, Endpoint, Forecast};

use crate::core_process::CoreProgram;

/// Limit of the window: more samples do not improve a model.
const WINDOW_MAX: u32 = 1_000_000;

/// Values that are kept altogether: 1 GiB.
const N_VALUES_MAX: usize = 1 << 27;

/// Samples that may wait for a core, beside the window; fewer where a sample has many values.
const N_WAITING: usize = 65_536;

/// Settings of a prediction server at its start.
#[derive(Clone, Debug)]
pub struct PredictionSettings {
    /// The model.
    pub model: Spec,
    /// Number of the last samples that it is fitted to, 2 to a million.
    pub window: u32,
    /// Number of steps ahead that it forecasts, 1 to 65,000.
    pub horizon: u32,
    /// The measure buffer that has the samples from before, as `source:`.
    pub history: Option<Endpoint>,
    /// Name of its stream; that of the stream that comes in if `None`.
    pub stream: Option<String>,
    /// The program of its core.
    pub core: CoreProgram,
    /// Time that the core may take for an answer, a fit included, before it is taken for hung; 10 ms at least.
    pub core_limit: Duration,
}

/// A setting that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PredictionSettingsError {
    /// The model's text is no model specification.
    #[error(transparent)]
    Model(#[from] SpecError),
    /// The window is too short or too long.
    #[error("the window must be 2 to {WINDOW_MAX} samples, not {given}")]
    Window {
        /// The window that was given.
        given: u32,
    },
    /// The horizon is none, or no frame holds it.
    #[error("the horizon must be 1 to {} steps, not {given}", Forecast::N_LEADS_MAX)]
    Horizon {
        /// The horizon that was given.
        given: u32,
    },
    /// Every core would be taken for hung.
    #[error("a core needs at least 10ms for an answer, not {given:?}")]
    CoreLimit {
        /// The limit that was given.
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

    /// Returns the interval at which it checks whether the core hangs.
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

/// Returns the policy of the signals of a stream.
pub(super) fn policy(configuration: &Configuration) -> Policy {
    // What is no model was refused when it was configured.
    let model = configuration.model.parse().unwrap_or(Spec::Last);
    Policy::with_window(&model, configuration.window as usize)
}

/// Returns the number of samples that are kept of so many signals.
pub(super) fn n_kept(configuration: &Configuration, n_signals: usize) -> usize {
    let n_waiting = (N_WAITING / n_signals.max(1)).max(64);
    (policy(configuration).n_replayed() + n_waiting).min(N_VALUES_MAX / n_signals.max(1))
}
