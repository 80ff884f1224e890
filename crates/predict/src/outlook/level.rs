//! Level of a series: means over whole periods, and the latest deviations from them.

use serde::{Deserialize, Serialize};

use super::drift::Drift;
use super::shift::{Shift, Shifts};
use super::{N_LEVELS, N_PERIODS_MIN, Periods};

/// Samples that the smoothed deviations remember; the first is the last deviation itself.
const MEMORIES: [f64; N_LEVELS - 1] = [1.0, 4.0, 16.0, 64.0];

/// A smoothed deviation takes no more of a sample than so many mean absolute deviations; the last one takes all.
const CLIP: f64 = 4.0;

/// A sample counts for one no further from the level than so many times the furthest so far: a single spike of a
/// thousand times that would be in means and regressions for weeks, but one that comes back counts in full after a few
/// times.
const REACH: f64 = 8.0;

/// Known samples without which any is believed.
const N_REACH_MIN: f64 = 16.0;

/// The smoothed deviation by which shifts are told.
const OF_SHIFT: usize = 1;

/// Samples over which the mean absolute deviation is taken.
const MEMORY_TYPICAL: f64 = 2000.0;

/// The level of one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Level {
    /// Means over the last shortest and the last longest period.
    short: Mean,
    long: Mean,
    /// The samples of the last short period without the season that was expected of them.
    without_season: Mean,
    /// Smoothed deviations from the mean over the last short period and the season.
    smoothed: [f64; N_LEVELS - 1],
    n: f64,
    typical: f64,
    /// The largest deviation from the mean, of the last [`MEMORY_TYPICAL`] samples or so.
    furthest: f64,
    last: f64,
    season_of_last: f64,
    pub(super) shifts: Shifts,
    drift: Option<Drift>,
}

/// The mean of the last samples, gaps left out; while most of them are gaps, what it was before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Mean {
    samples: Vec<f64>,
    next: usize,
    n_seen: usize,
    sum: f64,
    n: usize,
    mean: f64,
}

impl Level {
    pub(super) fn new(periods: Periods) -> Self {
        let (short, long) = (periods.memory(), periods.memory().max(periods.0[1]));
        Self {
            short: Mean::new(short.round() as usize),
            long: Mean::new(long.round() as usize),
            without_season: Mean::new(short.round() as usize),
            smoothed: [0.0; N_LEVELS - 1],
            n: 0.0,
            typical: 0.0,
            furthest: 0.0,
            last: f64::NAN,
            season_of_last: 0.0,
            shifts: Shifts::new(short),
            drift: None,
        }
    }

    /// Whether this can be what became of `fresh`.
    pub(super) fn is_like(&self, fresh: &Self) -> bool {
        let is_amount = |value: f64| value.is_finite() && value >= 0.0;
        self.short.is_like(&fresh.short)
            && self.long.is_like(&fresh.long)
            && self.without_season.is_like(&fresh.without_season)
            && self.smoothed.iter().all(|value| value.is_finite())
            && is_amount(self.n)
            && is_amount(self.typical)
            && is_amount(self.furthest)
            && self.season_of_last.is_finite()
            && (self.last.is_finite() || self.n == 0.0)
            && self.shifts.is_like(&fresh.shifts)
            && self.drift.is_none_or(|drift| drift.is_sound())
    }

    /// The sample as it is to count: as far away as is believable.
    pub(super) fn within_reach(&self, sample: f64) -> f64 {
        let most = REACH * self.furthest;
        // A constant series has no deviation by which to tell.
        if self.n < N_REACH_MIN || most == 0.0 { sample } else { sample.clamp(self.mean() - most, self.mean() + most) }
    }

    /// Takes a sample, NaN for a gap; `season` is what it was expected to deviate by because of its phase. Where the
    /// level has shifted, what came before counts as if it had been on the new one.
    pub(super) fn step(&mut self, sample: f64, season: f64) -> Option<Shift> {
        let mean_before = self.mean();
        self.short.push(sample);
        self.long.push(sample);
        self.without_season.push(sample - season);
        if sample.is_nan() {
            return None;
        }
        (self.last, self.season_of_last) = (sample, season);
        self.n += 1.0;
        let deviation = sample - self.mean();
        self.typical += (deviation.abs() - self.typical) / self.n.min(MEMORY_TYPICAL);
        self.furthest = deviation.abs().max(self.furthest * (1.0 - 1.0 / MEMORY_TYPICAL));
        for (idx, (smoothed, memory)) in self.smoothed.iter_mut().zip(MEMORIES).enumerate() {
            let news = deviation - season - *smoothed;
            let most = if idx == 0 { f64::INFINITY } else { CLIP * self.typical };
            *smoothed += news.clamp(-most, most) / memory.min(self.n);
        }
        let may_shift = self.n >= N_PERIODS_MIN * self.short.samples.len() as f64 && self.drift.is_none();
        // At a new level the mean follows, and the smoothed deviation lags behind what it moves in each step.
        let lag = (MEMORIES[OF_SHIFT] - 1.0) * (self.mean() - mean_before);
        let shift = self.shifts.learn(self.smoothed[0], self.smoothed[OF_SHIFT], lag, may_shift);
        self.drift = self.drift_now();
        let mut shift = shift?;
        let before = self.mean();
        // The mean has gone along with the steps since it began, by half of their share of its samples while they came.
        shift.by /= 1.0 - 0.5 * (shift.n_new as f64 / self.short.n as f64).min(1.0);
        self.short.shift(shift);
        self.long.shift(shift);
        let moved = self.mean() - before;
        for (smoothed, memory) in self.smoothed.iter_mut().zip(MEMORIES) {
            // So much of the shift has come into it by now.
            *smoothed -= moved * (1.0 - (1.0 - 1.0 / memory).powf(shift.n_new as f64));
        }
        Some(shift)
    }

    /// Computes the drift that the series is on.
    fn drift_now(&self) -> Option<Drift> {
        let n_adrift = self.shifts.n_adrift();
        // A line that is longer than the history does not end with it: its slope is that of the last samples.
        let n = n_adrift.min(self.short.samples.len() - 1);
        let over = |of: &Mean| {
            let ago = |age: usize| of.ago(age).filter(|sample| !sample.is_nan());
            Drift::over(n, [ago(n)?, ago(n - n / 2)?, ago(0)?])
        };
        // The way down that it goes every night is none, and neither is a day that stands still for once.
        let drift = over(&self.without_season).filter(|_| over(&self.short).is_some())?.since(n_adrift);
        // What comes back from there is no drift.
        (drift.slope() * self.smoothed[0] > 0.0).then_some(drift)
    }

    /// Returns the drift that the series is on; `None` as long as it is where it has been.
    pub(super) fn drift(&self) -> Option<Drift> {
        self.drift
    }

    /// Returns the straight line that the series follows since it began, as far as the last long period shows; `None`
    /// if it follows none.
    pub(super) fn line(&self) -> Option<Drift> {
        let n = self.long.n_seen.checked_sub(1)?;
        Drift::ever_since(n, |age| self.long.ago(age).filter(|sample| !sample.is_nan()))
    }

    /// Whether it is where it has never been, and neither on its way nor at rest there.
    pub(super) fn is_adrift(&self) -> bool {
        self.drift.is_none() && self.shifts.n_adrift() > 0
    }

    /// Returns the mean of the last short period, from which everything else is counted.
    pub(super) fn mean(&self) -> f64 {
        self.short.mean
    }

    /// Returns the mean of the last long period.
    pub(super) fn long_mean(&self) -> f64 {
        self.long.mean
    }

    /// Whether a whole shortest and a whole longest period are known.
    pub(super) fn are_whole(&self) -> [bool; 2] {
        [&self.short, &self.long].map(|mean| mean.n_seen == mean.samples.len())
    }

    /// The means from which the last sample deviates by its phase: of the last short and the last long period, or of a
    /// drift the sample without its season. A mean lags behind a drift, by half of what it moves in a period, and no
    /// phase of the season has a part in that.
    pub(super) fn season_means(&self) -> [f64; 2] {
        if self.drift.is_some() { [self.mean() + self.smoothed[0]; 2] } else { [self.mean(), self.long_mean()] }
    }

    /// The samples of the last long period, NaN for gaps, oldest first.
    pub(super) fn past(&self) -> impl Iterator<Item = f64> + '_ {
        let Mean { samples, next, n_seen, .. } = &self.long;
        let (newer, older) = samples.split_at(*next);
        older.iter().chain(newer).skip(samples.len() - n_seen).copied()
    }

    /// The mean absolute deviation from [`Level::mean`].
    pub(super) fn typical(&self) -> f64 {
        self.typical
    }

    /// The largest deviation from the mean, of late.
    pub(super) fn furthest(&self) -> f64 {
        self.furthest
    }

    /// The last sample that is no gap.
    pub(super) fn last(&self) -> f64 {
        self.last
    }

    /// Returns the last sample without the season that was expected of it.
    pub(super) fn last_without_season(&self) -> f64 {
        self.last - self.season_of_last
    }

    /// Known samples.
    pub(super) fn n(&self) -> f64 {
        self.n
    }

    pub(super) fn features(&self) -> [f64; N_LEVELS] {
        let mut features = [0.0; N_LEVELS];
        features[..N_LEVELS - 1].copy_from_slice(&self.smoothed);
        features[N_LEVELS - 1] = self.long.mean - self.mean();
        features
    }
}

impl Mean {
    fn new(n: usize) -> Self {
        Self { samples: vec![f64::NAN; n], next: 0, n_seen: 0, sum: 0.0, n: 0, mean: 0.0 }
    }

    fn is_like(&self, fresh: &Self) -> bool {
        self.samples.len() == fresh.samples.len()
            && self.next < self.samples.len()
            && self.n == self.samples.iter().filter(|sample| !sample.is_nan()).count()
            && self.n <= self.n_seen
            && self.n_seen <= self.samples.len()
            && self.sum.is_finite()
            && self.mean.is_finite()
    }

    /// The sample before the last `age` ones; `None` where it is not kept.
    fn ago(&self, age: usize) -> Option<f64> {
        let n = self.samples.len();
        (age < self.n_seen).then(|| self.samples[(self.next + n - 1 - age) % n])
    }

    fn shift(&mut self, Shift { by, n_new }: Shift) {
        let n = self.samples.len();
        for age in n_new.min(n)..n {
            self.samples[(self.next + n - 1 - age) % n] += by;
        }
        self.sum = self.samples.iter().filter(|value| !value.is_nan()).sum();
        if self.n > 0 {
            self.mean = self.sum / self.n as f64;
        }
    }

    fn push(&mut self, sample: f64) {
        let oldest = std::mem::replace(&mut self.samples[self.next], sample);
        self.next += 1;
        self.n_seen = (self.n_seen + 1).min(self.samples.len());
        for (value, sign) in [(oldest, -1.0), (sample, 1.0)] {
            if !value.is_nan() {
                self.sum += sign * value;
                self.n = if sign > 0.0 { self.n + 1 } else { self.n - 1 };
            }
        }
        if self.next == self.samples.len() {
            self.next = 0;
            // Once in a while from scratch, so that rounding does not pile up.
            self.sum = self.samples.iter().filter(|value| !value.is_nan()).sum();
        }
        if self.n > 0 && 2 * self.n >= self.n_seen {
            self.mean = self.sum / self.n as f64;
        }
    }
}
