//! A prediction system in one process: a sensor, a predictor, and whoever reads the forecasts (Dinda and O'Hallaron 1999, section 8.3.3).

use std::collections::VecDeque;
use std::time::Duration;

use clock::now;
use predict::Spec;
use stream::{Carries, Description, Forecast, Handler, InputId, Message, Outputs};

use crate::forecaster::Forecaster;
use crate::growth::Growth;
use crate::meter::Meter;
use crate::schedule::Schedule;
use crate::steps::N_MISSED_MAX;

/// While this much waits for the slowest reader, nothing more is made.
const MADE_AHEAD_BYTES: usize = 256 << 10;

/// Measures, steps and forecasts in one go. [`Monolith::step`] is for readers in the process; as a handler it does so at each tick of its mirror, for
/// readers by Unix sockets and TCP. Of a meter with several signals the first is forecast.
pub struct Monolith<M> {
    description: Description,
    meter: M,
    model: Spec,
    window: usize,
    horizon: usize,
    /// The last samples, until the window is full and the model was fitted to it.
    history: VecDeque<f64>,
    growth: Growth,
    forecaster: Forecaster,
    scratch: predict::Forecast,
    values: Vec<f64>,
    forecast: Forecast,
    step: Duration,
    schedule: Schedule,
    is_described: bool,
}

impl<M: Meter> Monolith<M> {
    /// A system that is fitted to up to `window` samples and forecasts `horizon` steps ahead. Until there are enough of them it says what LAST says.
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
            growth: Growth::new(model.n_samples_min(), window, 0),
            model,
            window,
            horizon,
            history: VecDeque::new(),
            forecaster: Forecaster::default(),
            scratch: predict::Forecast::default(),
            values: Vec::new(),
            forecast: Forecast { number: 0, time, completed: time, signal: 0, means, standard_errors },
            step: Duration::ZERO,
            schedule,
            is_described: false,
        }
    }

    /// Says how far its steps are apart.
    #[must_use]
    pub fn with_step(mut self, step: Duration) -> Self {
        self.step = step;
        self.description.step_ns = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX);
        self
    }

    /// Measures, and says what comes next; a step that was measured already has no forecast.
    pub fn step(&mut self) -> Option<&Forecast> {
        let (number, n_missed) = self.schedule.due(self.step)?;
        self.meter.read(self.schedule.elapsed(), &mut self.values);
        let time = now();
        let value = self.values.first().copied().unwrap_or(f64::NAN);
        let n_missed = usize::try_from(n_missed.min(N_MISSED_MAX)).expect("the limit fits");
        self.forecaster.step(n_missed, value);
        if !self.growth.is_over() {
            (0..n_missed).for_each(|_| self.grow(f64::NAN));
            self.grow(value);
        }
        self.forecaster.forecast_into(self.horizon, &mut self.scratch, &mut self.forecast);
        (self.forecast.number, self.forecast.time, self.forecast.completed) = (number, time, now());
        Some(&self.forecast)
    }

    fn grow(&mut self, value: f64) {
        if self.history.len() == self.window {
            self.history.pop_front();
        }
        self.history.push_back(if value.is_finite() { value } else { f64::NAN });
        self.growth.took_one();
        if self.growth.is_due() {
            let history: Vec<f64> = self.history.iter().copied().collect();
            self.growth = Growth::new(self.model.n_samples_min(), self.window, history.len());
            match predict::fit(&self.model, &history) {
                Ok(model) => self.forecaster.speak_by(model.predictor()),
                Err(_) => self.growth.failed(),
            }
        }
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
