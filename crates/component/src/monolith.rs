//! A prediction system in one process: a sensor, a predictor, and whoever reads the forecasts (Dinda and O'Hallaron
//! 1999, section 8.3.3).

use std::time::Duration;

use clock::now;
use predict::{Live, Policy, Spec};
use stream::{Carries, Description, Forecast, Handler, InputId, Message, Outputs};

use crate::core::forecast_into;
use crate::meter::Meter;
use crate::schedule::Schedule;

/// While this much waits for the slowest reader, nothing more is made.
const MADE_AHEAD_BYTES: usize = 256 << 10;

/// Measures, steps and forecasts in one go. [`Monolith::step`] is for readers in the process; as a handler it does so
/// at each tick of its mirror, for readers by Unix sockets and TCP. Of a meter with several signals the first is
/// forecast.
pub struct Monolith<M> {
    description: Description,
    meter: M,
    model: Spec,
    horizon: usize,
    live: Live,
    scratch: predict::Forecast,
    values: Vec<f64>,
    forecast: Forecast,
    step: Duration,
    schedule: Schedule,
    is_described: bool,
}

impl<M: Meter> Monolith<M> {
    /// A system that is fitted to up to `window` samples and forecasts `horizon` steps ahead, as [`Live`] does.
    #[must_use]
    pub fn new(
        stream: impl Into<String>,
        host: impl Into<String>,
        meter: M,
        model: Spec,
        window: usize,
        horizon: usize,
    ) -> Self {
        let (time, schedule) = (now(), Schedule::new(meter.misses_deadlines()));
        let description = Description {
            stream: stream.into(),
            host: host.into(),
            carries: Carries::Forecast,
            step_ns: 0,
            signals: Vec::new(),
            model: Some(model.to_string()),
            horizon: Some(u32::try_from(horizon).unwrap_or(u32::MAX)),
        };
        let (means, standard_errors) = (Vec::new(), Vec::new());
        Self {
            description,
            meter,
            live: Live::new(Policy::with_window(&model, window)),
            model,
            horizon,
            scratch: predict::Forecast::default(),
            values: Vec::new(),
            forecast: Forecast { number: 0, time, completed: time, signal: 0, means, standard_errors },
            step: Duration::ZERO,
            schedule,
            is_described: false,
        }
    }

    /// Sets the step that its description states.
    #[must_use]
    pub fn with_step(mut self, step: Duration) -> Self {
        self.step = step;
        self.description.step_ns = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX);
        self
    }

    /// Measures, and returns the forecast; a step that was measured already has no forecast.
    pub fn step(&mut self) -> Option<&Forecast> {
        let (number, n_missed) = self.schedule.due(self.step)?;
        self.meter.read(self.schedule.elapsed(), &mut self.values);
        let time = now();
        let value = self.values.first().copied().unwrap_or(f64::NAN);
        self.live.skip(n_missed);
        self.live.step(value);
        forecast_into(&mut self.live, self.horizon, &mut self.scratch, &mut self.forecast);
        (self.forecast.number, self.forecast.time, self.forecast.completed) = (number, time, now());
        Some(&self.forecast)
    }
}

impl<M: Meter> Handler for Monolith<M> {
    fn message(&mut self, _: InputId, _: Message, _: &mut Outputs) {}

    fn tick(&mut self, outputs: &mut Outputs) {
        if self.description.step_ns == 0 && outputs.backlog_bytes() > MADE_AHEAD_BYTES {
            return;
        }
        if self.step().is_none() {
            return;
        }
        if !self.is_described {
            self.is_described = true;
            self.description.signals = self.meter.signals().iter().take(1).cloned().collect();
            outputs.describe(&self.description);
        }
        outputs.send(&self.forecast);
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("model".to_owned(), self.model.to_string()), ("steps".to_owned(), self.schedule.n_begun().to_string())]
    }
}
