//! Errors of the mean of the forecasts over a window against the mean of what came, learned as samples come.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::model::ModelErrors;
use super::rung::{Known, Rung};
use super::scale::Scale;
use crate::forecast::Forecast;

/// A window counts if so many of its samples are known.
const KNOWN_SHARE_MIN: f64 = 0.9;

/// Windows whose means are followed for the run times of tasks, in seconds.
const WINDOWS_SECONDS: [u64; 8] = [1, 2, 5, 10, 20, 60, 120, 300];

/// Average age of what a sensor of CPU availability measures.
const AVAILABILITY_LAG: Duration = Duration::from_secs(5);

/// No variance beyond the longest window is more than this times that of the longest window.
const GROWTH_MAX: f64 = 1e6;

/// Errors of the means of forecasts over windows of some lengths, of one series.
///
/// Of each length the last 256 errors are kept, of origins a quarter of the length apart: those of neighbouring origins
/// say nearly the same, and 64 lengths are enough for six errors beyond either end of a 95 % interval. Takes 4 KB for
/// each length, and less than a microsecond a step for lengths up to 300.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowErrors {
    lag: usize,
    #[serde(default)]
    scale: Scale,
    /// Ascending by length.
    rungs: Vec<Rung>,
    /// The last samples, as many as the longest window has, NaN for a gap.
    samples: VecDeque<f64>,
    clock: u64,
}

/// Distribution of the errors of means over windows, at any length.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    lag: usize,
    pub(crate) scale: Scale,
    known: Vec<Known>,
    model: ModelErrors,
}

/// Quantiles of one probability.
pub(crate) struct Ends<'a> {
    spread: &'a Spread,
    /// Median and quantile of each length known.
    of_known: Vec<(f64, f64)>,
}

impl WindowErrors {
    /// Learns of windows of 1 s to 5 min of the sensor of CPU availability, sampled once a `step`.
    ///
    /// # Panics
    /// When `step` is zero.
    #[must_use]
    pub fn of_availability(step: Duration) -> Self {
        let n_steps = |span: Duration| usize::try_from(span.as_nanos() / step.as_nanos()).unwrap_or(usize::MAX);
        Self::new(
            &WINDOWS_SECONDS.map(|seconds| n_steps(Duration::from_secs(seconds)).max(1)),
            n_steps(AVAILABILITY_LAG),
        )
    }

    /// Learns of windows of these lengths in steps, in whatever order.
    ///
    /// `lag` is how many steps ago the samples' time is over, for a sensor that says what was a while ago. A window
    /// that starts with the task is then seen in the samples that come `lag` steps later.
    ///
    /// # Panics
    /// When there is no length, or one is 0.
    #[must_use]
    pub fn new(lengths: &[usize], lag: usize) -> Self {
        assert!(!lengths.is_empty() && !lengths.contains(&0), "windows have lengths of 1 or more, not {lengths:?}");
        let mut lengths = lengths.to_vec();
        lengths.sort_unstable();
        lengths.dedup();
        Self {
            lag,
            scale: Scale::Inverse,
            rungs: lengths.into_iter().map(Rung::new).collect(),
            samples: VecDeque::new(),
            clock: 0,
        }
    }

    /// The same for a quantity whose errors are as large wherever it is, instead of one that is shared.
    #[must_use]
    pub fn on_linear_scale(self) -> Self {
        Self { scale: Scale::Linear, ..self }
    }

    /// Returns the number of steps by which a task's time is seen later in the samples.
    #[must_use]
    pub fn lag(&self) -> usize {
        self.lag
    }

    /// Returns the number of leads that a forecast needs for windows of all lengths.
    #[must_use]
    pub fn n_leads(&self) -> usize {
        self.lag + self.longest()
    }

    /// Takes the next sample, not finite for a gap, and the forecast made with this sample known. One that is shorter
    /// than a window is left aside for that window, so the long ones need not be made at every step.
    pub fn step(&mut self, sample: f64, forecast: Option<&Forecast>) {
        self.clock += 1;
        if self.samples.len() == self.longest() {
            self.samples.pop_front();
        }
        self.samples.push_back(if sample.is_finite() { sample } else { f64::NAN });
        let (clock, lag) = (self.clock, self.lag);
        for rung in &mut self.rungs {
            if rung.is_due(clock) {
                let window = self.samples.iter().rev().take(rung.length());
                rung.learn(mean_of_known(window, rung.length()), self.scale);
            }
            if let Some(means) = forecast.and_then(|forecast| forecast.means().get(lag..lag + rung.length())) {
                rung.note(clock, lag, means);
            }
        }
    }

    /// Errors known, by length.
    pub fn counts(&self) -> impl Iterator<Item = (usize, usize)> {
        self.rungs.iter().map(|rung| (rung.length(), rung.n()))
    }

    /// `model` says what is to be thought of a length until its errors are known, at the `level` that is forecast for
    /// it.
    pub(crate) fn spread(&self, model: ModelErrors, level: impl Fn(usize) -> f64) -> Spread {
        let mut ratio = 1.0;
        let known = self.rungs.iter().map(|rung| {
            let slope = self.scale.slope(level(rung.length()));
            let known = rung.known(model.careful_variance(rung.length()) * slope * slope, ratio);
            ratio = known.ratio();
            known
        });
        Spread { lag: self.lag, scale: self.scale, known: known.collect(), model }
    }

    fn longest(&self) -> usize {
        self.rungs.last().map_or(0, Rung::length)
    }
}

/// NaN when too few are known.
fn mean_of_known<'a>(samples: impl Iterator<Item = &'a f64>, length: usize) -> f64 {
    let (sum, n) =
        samples.filter(|sample| !sample.is_nan()).fold((0.0, 0.0), |(sum, n), sample| (sum + sample, n + 1.0));
    if n >= KNOWN_SHARE_MIN * length as f64 { sum / n } else { f64::NAN }
}

impl Spread {
    /// `p` is the probability of errors below.
    pub(crate) fn quantiles(&self, p: f64) -> Ends<'_> {
        Ends { spread: self, of_known: self.known.iter().map(|known| (known.median(), known.quantile(p))).collect() }
    }
}

impl Ends<'_> {
    /// The error of the mean over the last `time` steps of a window of `end` steps, with `noise`, which is the quantile
    /// of an independent normal error, added in quadrature.
    pub(crate) fn at(&self, end: f64, time: f64, noise: f64) -> f64 {
        let (median, quantile) = self.of_whole(end);
        let lag = self.spread.lag as f64;
        // What is left out at the start of a window is what is known best: noise and random walks alike are off by
        // nearly this factor more.
        let widen = ((lag + end) / (lag + time.max(1.0))).sqrt();
        let error = (quantile - median) * widen;
        let sign = if noise == 0.0 { error } else { noise };
        median + error.hypot(noise).copysign(sign)
    }

    /// Median and quantile of a window of `end` steps: between two lengths along the line over their logarithms, beyond
    /// the last as far as there, or further in the proportion that the model says.
    fn of_whole(&self, end: f64) -> (f64, f64) {
        let known = &self.spread.known;
        let above = known.partition_point(|known| (known.length as f64) < end);
        if above == 0 {
            return self.of_known[0];
        }
        let (below, (median, quantile)) = (&known[above - 1], self.of_known[above - 1]);
        let Some((next, (next_median, next_quantile))) = known.get(above).zip(self.of_known.get(above)) else {
            let model = &self.spread.model;
            let grown = model.variance(end as usize) / model.variance(below.length);
            // A model that grows certain of the mean in the long run has estimated it on some minutes, so half of the
            // variance stays.
            let grown = if grown.is_nan() { 1.0 } else { grown.max(0.5 + 0.5 * grown).min(GROWTH_MAX).sqrt() };
            return (median, median + grown * (quantile - median));
        };
        let share = (end / below.length as f64).ln() / (next.length as f64 / below.length as f64).ln();
        (median + share * (next_median - median), quantile + share * (next_quantile - quantile))
    }
}
