//! The filter that turns a stream of samples into forecasts.

use serde::{Deserialize, Serialize};

use crate::auto::Standing;
use crate::forecast::Forecast;
use crate::intervals::{Calibration, Intervals, widening};
use crate::model::linear::Linear;
use crate::model::{Fitted, Model};
use crate::refit::Schedule;
use crate::spec::Spec;
use crate::task::{Done, Task, Ticket};

/// Gaps longer than this no longer widen the errors. By then a stationary model has returned to its mean and its
/// whole variance, and the work of a forecast after a gap stays bounded.
pub(crate) const N_MISSING_MAX: usize = 4096;

/// A model in motion: takes one sample at a time, and forecasts any number of steps from where it stands.
///
/// ```
/// use predict::{Spec, fit};
/// let samples: Vec<f64> = (0..200).map(|t| (f64::from(t) * 0.3).sin() + f64::from(t * 7919 % 13) / 50.0).collect();
/// let mut predictor = fit(&"AR(4)".parse()?, &samples)?.predictor();
/// predictor.step(0.5);
/// let forecast = predictor.forecast(30);
/// assert_eq!(forecast.n_leads(), 30);
/// assert!(forecast.standard_errors()[29] >= forecast.standard_errors()[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predictor {
    model: Model,
    n_missing: usize,
    schedule: Option<Schedule>,
    intervals: Intervals,
    /// `None` if the model or the normal distribution has the ends of intervals.
    calibration: Option<Calibration>,
    fits: Fits,
    /// Whether a task is out. Not saved: nobody will bring the task back to a restored predictor.
    #[serde(skip)]
    is_task_out: bool,
}

/// The place where fits are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Fits {
    Here,
    Elsewhere,
}

impl Predictor {
    pub(crate) fn new(mut model: Model) -> Self {
        let schedule = match model.spec {
            Spec::Refit { every, window, .. } => Some(Schedule::new(every, window, std::mem::take(&mut model.recent))),
            _ => None,
        };
        let n_missing = model.n_missing.min(N_MISSING_MAX);
        let intervals = if matches!(model.fitted, Fitted::Auto(_)) { Intervals::Adaptive } else { Intervals::Gaussian };
        Self { n_missing, model, schedule, intervals, calibration: None, fits: Fits::Here, is_task_out: false }
    }

    /// The same with intervals of another kind, which begin to learn here.
    #[must_use]
    pub fn with_intervals(mut self, intervals: Intervals) -> Self {
        self.intervals = intervals;
        self.calibration = if self.has_own_ends() { None } else { Calibration::new(intervals, self.model.n_samples) };
        self.note();
        self
    }

    /// Returns the source of the ends of intervals.
    #[must_use]
    pub fn intervals(&self) -> Intervals {
        self.intervals
    }

    /// Whether the model learns the ends of intervals itself.
    fn has_own_ends(&self) -> bool {
        self.intervals == Intervals::Adaptive && matches!(self.model.fitted, Fitted::Auto(_))
    }

    /// The same with fits made elsewhere: [`Predictor::step`] makes none, and [`Predictor::take_task`] hands out those
    /// that are due.
    #[must_use]
    pub fn with_deferred_fits(mut self) -> Self {
        self.fits = Fits::Elsewhere;
        self
    }

    /// Takes the next sample. One that is not finite is a gap (see the crate's documentation).
    ///
    /// A fit that is due happens in here, unless fits are deferred. When it fails, the model in use stays, and
    /// [`Predictor::n_failed_refits`] counts it.
    pub fn step(&mut self, sample: f64) {
        let sample = if sample.is_finite() { sample } else { f64::NAN };
        self.advance(sample);
        if let Some(schedule) = &mut self.schedule {
            schedule.step(sample);
        }
        if let Fitted::Auto(auto) = &mut self.model.fitted {
            auto.note();
        }
        if let Some(calibration) = &mut self.calibration {
            calibration.score(sample);
        }
        self.note();
        // Last, as where it is made elsewhere and installed before the next step.
        if self.fits == Fits::Here
            && let Some(task) = self.due_task()
        {
            self.install(task.run());
        }
    }

    /// The fit that is due, of a predictor with deferred fits. Until [`Predictor::install`] is called, there is no
    /// other.
    ///
    /// Whoever asks after each step, and installs what was done before the next, gets the same predictor every time.
    pub fn take_task(&mut self) -> Option<Task> {
        if self.fits == Fits::Here || self.is_task_out {
            return None;
        }
        let task = self.due_task();
        self.is_task_out = task.is_some();
        task
    }

    /// Says that the task that is out will not come back, so that it is handed out again.
    pub fn give_up_task(&mut self) {
        self.is_task_out = false;
    }

    pub(crate) fn due_task(&self) -> Option<Task> {
        if let Fitted::Auto(auto) = &self.model.fitted {
            return auto.task();
        }
        let schedule = self.schedule.as_ref().filter(|schedule| schedule.is_due)?;
        let ticket = Ticket { model_idx: 0, clock: schedule.history.clock() };
        Some(Task {
            spec: self.model.spec.inner().clone(),
            samples: schedule.history.to_vec(),
            ticket,
            range: self.model.range(),
            limit: u64::MAX,
        })
    }

    /// Takes what a task of this predictor came to. The model is run over the samples that came since the task was
    /// taken. What another predictor's task came to is left aside.
    pub fn install(&mut self, done: Done) {
        self.is_task_out = false;
        if let Fitted::Auto(auto) = &mut self.model.fitted {
            return auto.install(done);
        }
        let is_ours = |schedule: &&mut Schedule| {
            done.spec == *self.model.spec.inner() && done.ticket.clock <= schedule.history.clock()
        };
        let Some(schedule) = self.schedule.as_mut().filter(is_ours) else {
            return;
        };
        schedule.is_due = false;
        match done.result {
            Ok(fitted) => {
                schedule.n_refits += 1;
                (self.model.fitted, self.model.n_samples) = (fitted.fitted, fitted.n_samples);
                schedule.history.since(done.ticket.clock).for_each(|sample| self.model.fitted.step(sample));
            }
            Err(_) => schedule.n_failures += 1,
        }
    }

    /// Says that the fit of a candidate will not be made at this time.
    pub(crate) fn skip(&mut self, ticket: Ticket) {
        if let Fitted::Auto(auto) = &mut self.model.fitted {
            auto.give_up(ticket);
        }
    }

    fn note(&mut self) {
        if let Some(mut calibration) = self.calibration.take() {
            let mut forecast = Forecast::default();
            self.forecast_into(calibration.n_leads_due(), &mut forecast);
            calibration.note(&forecast);
            self.calibration = Some(calibration);
        }
    }

    fn advance(&mut self, sample: f64) {
        self.n_missing = if sample.is_nan() { (self.n_missing + 1).min(N_MISSING_MAX) } else { 0 };
        self.model.fitted.step(sample);
    }

    /// Means and standard errors for leads 1 to `n_leads`; empty for 0.
    #[must_use]
    pub fn forecast(&self, n_leads: usize) -> Forecast {
        let mut forecast = Forecast::default();
        self.forecast_into(n_leads, &mut forecast);
        forecast
    }

    /// Writes the forecast of [`Predictor::forecast`] into memory that is already there.
    pub fn forecast_into(&self, n_leads: usize, forecast: &mut Forecast) {
        forecast.range = None;
        let Forecast { means, standard_errors, reaches, .. } = forecast;
        match &self.calibration {
            Some(calibration) => calibration.reaches_into(reaches),
            None => reaches.clear(),
        }
        standard_errors.resize(n_leads, 0.0);
        if !matches!(self.model.fitted, Fitted::Linear(_)) {
            means.resize(n_leads, 0.0);
        }
        match &self.model.fitted {
            Fitted::Mean(mean) => mean.forecast_into(means, standard_errors),
            Fitted::Window(window) => window.forecast_into(self.n_missing, means, standard_errors),
            Fitted::Linear(linear) => linear.forecast_into(self.n_missing, means, standard_errors),
            Fitted::Auto(auto) => {
                let own = self.has_own_ends().then_some(&mut *reaches);
                auto.forecast_into(means, standard_errors, own);
            }
            Fitted::Ets(ets) => ets.forecast_into(self.n_missing, means, standard_errors),
            Fitted::Tar(tar) => tar.forecast_into(means, standard_errors),
            Fitted::Seasonal(seasonal) => seasonal.forecast_into(means, standard_errors),
            Fitted::Nws(nws) => nws.forecast_into(self.n_missing, means, standard_errors),
        }
        if !self.has_own_ends() {
            widening(reaches, standard_errors);
        }
    }

    /// Writes the means of [`Predictor::forecast`] alone, which takes half the time. Not of an `AUTO`.
    pub(crate) fn means_into(&self, n_leads: usize, means: &mut Vec<f64>) {
        let none: &mut [f64] = &mut [];
        means.resize(n_leads, 0.0);
        match &self.model.fitted {
            Fitted::Mean(mean) => mean.forecast_into(means, none),
            Fitted::Window(window) => window.forecast_into(self.n_missing, means, none),
            Fitted::Linear(linear) => linear.means_into(n_leads, means),
            Fitted::Ets(ets) => ets.forecast_into(self.n_missing, means, none),
            Fitted::Tar(tar) => tar.forecast_into(means, &mut vec![0.0; n_leads]),
            Fitted::Seasonal(seasonal) => seasonal.forecast_into(means, &mut vec![0.0; n_leads]),
            Fitted::Nws(nws) => nws.forecast_into(self.n_missing, means, none),
            Fitted::Auto(_) => unreachable!("an AUTO is no member of an ensemble"),
        }
    }

    /// The model in use: with `REFIT`, the one fitted last.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the member that gives the forecast, for a model that chooses among several; `None` for any other.
    #[must_use]
    pub fn speaking(&self) -> Option<String> {
        self.model.speaking()
    }

    /// Returns the number of times that a `REFIT` has replaced the model, or an `AUTO` one of its candidates.
    #[must_use]
    pub fn n_refits(&self) -> u64 {
        match &self.model.fitted {
            Fitted::Auto(auto) => auto.n_fits().0,
            _ => self.schedule.as_ref().map_or(0, |schedule| schedule.n_refits),
        }
    }

    /// Returns the number of fits that were due and failed.
    #[must_use]
    pub fn n_failed_refits(&self) -> u64 {
        match &self.model.fitted {
            Fitted::Auto(auto) => auto.n_fits().1,
            _ => self.schedule.as_ref().map_or(0, |schedule| schedule.n_failures),
        }
    }

    /// The candidate whose word counts most for `lead`, of an `AUTO`; for other models what [`Predictor::speaking`]
    /// says.
    #[must_use]
    pub fn speaking_at(&self, lead: usize) -> Option<String> {
        match &self.model.fitted {
            Fitted::Auto(auto) => auto.leading(lead).map(|spec| spec.to_string()),
            _ => self.speaking(),
        }
    }

    /// The candidates that have a word in the forecast for `lead`, of an `AUTO`, and their weights, which sum to 1; the
    /// heaviest first. Empty for other models.
    #[must_use]
    pub fn weights_at(&self, lead: usize) -> Vec<(Spec, f64)> {
        match &self.model.fitted {
            Fitted::Auto(auto) => auto.weights_at(lead),
            _ => Vec::new(),
        }
    }

    /// Returns the standings of the candidates of an `AUTO`; empty for other models.
    #[must_use]
    pub fn standings(&self) -> Vec<Standing> {
        self.model.standings()
    }

    /// The linear model that this steps, if it is one, and how many samples are missing.
    pub(crate) fn linear(&self) -> Option<(&Linear, usize)> {
        match &self.model.fitted {
            Fitted::Linear(linear) => Some((linear, self.n_missing)),
            _ => None,
        }
    }

    /// Returns the same as [`Predictor::linear`], to be changed.
    pub(crate) fn linear_mut(&mut self) -> Option<(&mut Linear, &mut usize)> {
        match &mut self.model.fitted {
            Fitted::Linear(linear) => Some((linear, &mut self.n_missing)),
            _ => None,
        }
    }

    /// Whether the parts fit together, as a decoder must check.
    pub(crate) fn is_sound(&self) -> bool {
        let spec_and_schedule_agree = match (&self.model.spec, &self.schedule) {
            (Spec::Refit { every, window, .. }, Some(schedule)) => schedule.is_sound(*every, *window),
            (Spec::Refit { .. }, None) | (_, Some(_)) => false,
            (_, None) => true,
        };
        let is_calibration_sound = match &self.calibration {
            Some(calibration) => calibration.intervals() == self.intervals && calibration.is_sound(),
            None => self.intervals == Intervals::Gaussian || self.has_own_ends(),
        };
        spec_and_schedule_agree && is_calibration_sound && self.n_missing <= N_MISSING_MAX && self.model.is_sound()
    }
}
