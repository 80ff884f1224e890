//! Run time of a task: the distribution of the time in which forecast availability adds up to what the task needs.
//!
//! A task that needs `c` seconds of CPU has not ended by `t` when the mean availability over `[0, t]` is below `c / t`.
//! So the time it takes is known as well as means over windows are, and how well those are known is learned by
//! [`WindowErrors`]: errors of neighbouring leads go together, and standard errors of single leads do not say how much.
//! The advisor is the one that Dinda and O'Hallaron (1999, section 4) built on host load; theirs took the correlation
//! of the errors from the model, this one measures it.

mod means;
mod measurement;
mod model;
mod rung;
mod scale;
mod windows;

use std::time::Duration;

use statrs::distribution::{ContinuousCDF, Normal};
use units::Confidence;

pub use means::Means;
pub use measurement::MeasurementError;
pub use windows::WindowErrors;

use crate::forecast::Forecast;

/// A forecast looks so many times further than an idle host would need, or as far as errors are learned.
const PATIENCE: f64 = 32.0;

/// And no further than this.
const N_LEADS_MAX: usize = 100_000;

/// Halvings by which a probability is found: to one in a million.
const N_HALVINGS: usize = 20;

/// Demand of a task, and its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// CPU time, of all its threads together.
    pub cpu: Duration,
    /// Number of threads that share the work; the task never has more cores than that.
    pub n_threads: u32,
    /// The step of the availability series.
    pub step: Duration,
    /// Time since the last sample was taken.
    pub since_sample: Duration,
    /// Error of the samples as a measurement of what tasks get.
    pub measurement: MeasurementError,
}

/// Distribution of the time that a task will take.
#[derive(Clone, Debug)]
pub struct RunTime {
    /// Weights add up to 1.
    parts: Vec<(f64, Course)>,
}

/// The ends of an interval of time; `None` is longer than [`RunTime::horizon`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeInterval {
    /// So long at least.
    pub lower: Option<Duration>,
    /// So long at most.
    pub upper: Option<Duration>,
}

/// The reason why the run time of a task cannot be given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunTimeError {
    /// Nothing to be done.
    #[error("a task that needs no CPU time takes none; ask for more than 0 s")]
    NoDemand,
    /// Nobody to do it.
    #[error("a task has 1 thread or more, not 0")]
    NoThreads,
    /// No time between samples.
    #[error("the step of the samples is 0 s; it must be longer")]
    NoStep,
    /// The forecast ends too early.
    #[error("the forecast has {have} leads, but {need} are needed")]
    ForecastTooShort {
        /// Leads given.
        have: usize,
        /// Leads needed at least.
        need: usize,
    },
    /// A mean that is no number.
    #[error("the forecast for lead {lead} is {mean}, which is not an availability")]
    NoMean {
        /// The lead, from 1.
        lead: usize,
        /// The mean of the forecast.
        mean: f64,
    },
}

/// Course of the task by one availability series.
#[derive(Clone, Debug)]
struct Course {
    demand: Demand,
    /// Means from the first step of the window on.
    means: Means,
}

impl Demand {
    /// Returns the number of leads that the forecast should have that [`RunTime::new`] is given with `errors`.
    #[must_use]
    pub fn n_leads(&self, errors: &WindowErrors) -> usize {
        let ideal = self.cpu.as_secs_f64() / f64::from(self.n_threads.max(1));
        let n_steps = (PATIENCE * ideal / self.step.as_secs_f64()).ceil().min(N_LEADS_MAX as f64) as usize;
        (n_steps + errors.lag()).max(errors.n_leads()).min(N_LEADS_MAX)
    }

    fn check(&self) -> Result<(), RunTimeError> {
        match self {
            Self { cpu: Duration::ZERO, .. } => Err(RunTimeError::NoDemand),
            Self { n_threads: 0, .. } => Err(RunTimeError::NoThreads),
            Self { step: Duration::ZERO, .. } => Err(RunTimeError::NoStep),
            _ => Ok(()),
        }
    }

    /// Returns the position between two samples at which the task starts, in steps from the last one.
    fn phase(&self) -> f64 {
        // A sample that is late by more is missing, and the forecast is made without it.
        (self.since_sample.as_secs_f64() / self.step.as_secs_f64()).min(1.0)
    }
}

impl RunTime {
    /// Builds the run time from the `forecast` of an availability in cores, made with the last sample known, and what
    /// `errors` have learned of such forecasts. Means and standard errors beyond what a task can have are cut.
    ///
    /// # Errors
    /// [`RunTimeError`]: a demand of nothing, a forecast that ends before the first window or is no number.
    pub fn new(forecast: &Forecast, errors: &WindowErrors, demand: Demand) -> Result<Self, RunTimeError> {
        demand.check()?;
        let means = Means::new(forecast, errors, f64::from(demand.n_threads))?;
        Ok(Self { parts: vec![(1.0, Course { demand, means })] })
    }

    /// Builds the run time of a task whose number of threads lies between those that `fewer` and `more` are of: speeds
    /// are taken along the straight line between them, `share` of the way from `fewer` to `more`.
    #[must_use]
    pub fn between(fewer: Self, more: Self, share: f64) -> Self {
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        let weighted =
            |run_time: Self, by: f64| run_time.parts.into_iter().map(move |(weight, part)| (weight * by, part));
        Self {
            parts: weighted(fewer, 1.0 - share)
                .chain(weighted(more, share))
                .filter(|(weight, _)| *weight > 0.0)
                .collect(),
        }
    }

    /// Returns the median: as many tasks take longer as take less; `None` when that is longer than
    /// [`RunTime::horizon`].
    #[must_use]
    pub fn median(&self) -> Option<Duration> {
        self.quantile(0.5)
    }

    /// The central interval: as many tasks are meant to take less as are meant to take longer.
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> TimeInterval {
        let tail = 0.5 * (1.0 - confidence.probability());
        TimeInterval { lower: self.quantile(tail), upper: self.quantile(1.0 - tail) }
    }

    /// The time that a task takes no longer than with probability `p`; `None` when that is longer than
    /// [`RunTime::horizon`]. Never less than all cores that the task can use would need.
    ///
    /// # Panics
    /// When `p` is not strictly between 0 and 1.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<Duration> {
        assert!(p > 0.0 && p < 1.0, "{p} is not strictly between 0 and 1");
        let speed: f64 =
            self.parts.iter().map(|(weight, part)| part.quantile(p).map_or(0.0, |secs| weight / secs)).sum();
        let secs = 1.0 / speed;
        (secs <= self.horizon().as_secs_f64()).then(|| Duration::from_secs_f64(secs))
    }

    /// The probability that the task is done within `time`, to one in a million.
    #[must_use]
    pub fn probability_within(&self, time: Duration) -> f64 {
        let (mut below, mut above) = (0.0, 1.0);
        for _ in 0..N_HALVINGS {
            let p = 0.5 * (below + above);
            match self.quantile(p) {
                Some(quantile) if quantile <= time => below = p,
                _ => above = p,
            }
        }
        0.5 * (below + above)
    }

    /// The longest time that can be told.
    #[must_use]
    pub fn horizon(&self) -> Duration {
        let horizons = self.parts.iter().map(|(_, part)| part.horizon());
        Duration::try_from_secs_f64(horizons.fold(0.0, f64::max)).unwrap_or(Duration::MAX)
    }
}

impl Course {
    /// Returns the horizon in seconds.
    fn horizon(&self) -> f64 {
        (self.means.n_steps() as f64 - self.demand.phase()) * self.demand.step.as_secs_f64()
    }

    /// Returns the quantile in seconds: the first moment at which the work that is done with probability `p` reaches
    /// the demand.
    fn quantile(&self, p: f64) -> Option<f64> {
        let step = self.demand.step.as_secs_f64();
        let (phase, need) = (self.demand.phase(), self.demand.cpu.as_secs_f64() / step);
        let Means { means, spread, most } = &self.means;
        let deviation = Normal::standard().inverse_cdf(1.0 - p);
        let (ends, scale) = (spread.quantiles(1.0 - p), spread.scale);
        // In steps: the time since the start, the work that is forecast by then, and the work that is done for sure.
        let (mut before, mut forecast, mut done) = (0.0, 0.0, 0.0);
        for (idx, mean) in means.iter().enumerate() {
            let end = (idx + 1) as f64;
            let time = end - phase;
            if time <= 0.0 {
                continue;
            }
            forecast += mean * (time - before);
            let level = forecast / time;
            let noise = deviation * self.demand.measurement.standard_error(level / most, time * step) * most;
            let error = ends.at(end, time, noise * scale.slope(level));
            let share = scale.value(scale.of(level) + error).clamp(0.0, *most);
            // The clamp counts for this step alone: work that is done does not go away, and comes no faster than it
            // can.
            let then = (share * time).clamp(done, done + most * (time - before));
            if then >= need {
                return Some((before + (time - before) * (need - done) / (then - done)) * step);
            }
            (before, done) = (time, then);
        }
        None
    }
}
