//! Hours and days ahead: forecasts of one series that know its seasons, with the distribution of their errors, and
//! futures drawn from it.
//!
//! # The model
//!
//! At each of a few leads, a regression says what the future makes of the present. Its regressors are the series'
//! latest deviations from its level, smoothed over 1, 4, 16 and 64 samples, how far the mean of a week is from that of
//! a day, and, for the moment that is forecast, what a profile of the day, a smooth one, and one of the week have, and
//! what was there a day and a week before. So seasonal means, random walks, smoothing, mean reversion and "as
//! yesterday" are all special cases, at each lead the one that has been right. Weights are held to those of the next
//! shorter lead where there are few samples. Errors count by their size rather than their square, so that forecasts are
//! medians. Beside the regression stand one that is held to nothing but the season, the last sample, and the last
//! sample at the same phase, with the trend that a week has in both halves, and the straight line that a series has
//! followed since it began, if it has; they share the forecast by their recent errors. At leads of which no error is
//! known, only that line leads on, for about as long as it has lasted.
//!
//! Errors are counted at each lead as they come in, in an interval's usual way. Until twice a lead has passed, they are
//! expected to be as large as a random walk's that errs at the next shorter lead as was seen. A path is one draw of all
//! leads: errors at neighbouring leads go together as those of past forecasts of the same origin did (a Gaussian
//! copula, Markov along the leads).
//!
//! Beside the seasons that are given, up to two more are looked for in the last samples, again when twice as many are
//! known and then every 2,048 steps. A season that is found has a regressor of its own: its weight is learned like that
//! of all others.
//!
//! All of this is on a scale on which the quantity varies as much wherever it is: its own, or where it is bounded maybe
//! a log or logit. A deviation that is out of all proportion and stays is a new level, to which the past is moved;
//! while it still goes further, nothing of the past says how far, and it is expected to go on in a straight line for
//! about as long as it has. A single sample out of all proportion counts for less.
//!
//! A step takes the same time and memory however long the series is.

mod calendar;
mod candidates;
mod drawing;
mod drift;
mod ends;
mod extremes;
mod forecast;
mod grid;
mod joint;
mod learning;
mod level;
mod levels;
mod means;
mod moments;
mod paths;
mod periods;
mod rung;
mod scale;
mod search;
mod season;
mod shift;
mod view;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::Timestamp;

use ends::Ends;
use forecast::{Place, between};
use grid::Grid;
use level::Level;
pub(crate) use rung::ENSEMBLE_LEAD_MAX;
use rung::{OF_ENSEMBLE, Rung};
use scale::{Spread, Transform};
use season::{N_SEASON, Season, Step};
use shift::Shift;

pub use calendar::Calendar;
pub use joint::Joint;
pub use levels::{Resolution, agreeing};
pub use paths::Paths;
pub use periods::{Periods, PeriodsError};
pub use scale::Scale;
pub use search::FoundSeason;
pub(crate) use search::{N_MIN as N_SEARCHED_MIN, periods as periods_of};

/// Regressors that follow the level, and all of them.
const N_LEVELS: usize = 5;
const N_FEATURES: usize = N_LEVELS + N_SEASON;

/// Steps between two fits of all regressions, once the series is older.
const FIT_EVERY: u64 = 16;

/// Up to this age they are fitted at every step.
const AGE_YOUNG: u64 = 64;

/// Periods without which nothing is said of a season.
const N_PERIODS_MIN: f64 = 1.5;

/// Longer periods without which nothing is said by the phase of one: what was there a period before has then been
/// compared with three quarters of one.
const N_LONG_PERIODS_MIN: f64 = 1.75;

/// Known samples without which an outlook of its own has no forecast.
const N_KNOWN_MIN: f64 = 4.0;

/// Known samples without which it has none as a part of an AUTO either.
const N_BEGUN: f64 = 2.0;

/// Share of the amount by which a sample is cut that the candidates count as farther apart: with normal errors, 95 %
/// then reach to the sample.
const OF_CUT: f64 = 0.5;

/// A level that shifts was there a longer period before if the sample then was within this share of the shift.
const WAS_THERE: f64 = 0.5;

/// No sample counts for more: sums of squares of such are numbers still.
const SAMPLE_MAX: f64 = 1e150;

/// More steps than anybody will ever take.
const CLOCK_MAX: u64 = 1 << 52;

/// The range of a quantity that can be anything.
pub(crate) const UNBOUNDED: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// The furthest that can be forecast.
const N_LEADS_MAX: usize = 1 << 16;

/// One evenly spaced series and what is to be expected of it.
///
/// ```
/// use predict::{Outlook, Periods};
/// let mut outlook = Outlook::new(Periods::new(&[24.0])?, 48);
/// for hour in 0..24 * 14 {
///     outlook.step(f64::from(hour % 24));
/// }
/// assert!((outlook.quantile(7, 0.5).unwrap() - 6.0).abs() < 0.5);
/// # Ok::<(), predict::PeriodsError>(())
/// ```
///
/// A saved one has lost its calendar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    clock: u64,
    level: Level,
    season: Season,
    rungs: Vec<Rung>,
    /// The shortest season that is given, or else the first that was found.
    seasonal: Option<Seasonal>,
    /// Period in steps: memory is counted in it.
    period: f64,
    range: (f64, f64),
    /// Everything else is on the scale that this leads to.
    transform: Transform,
    spread: Spread,
    grid: Grid,
    ends: Ends,
    /// The excess of the last sample over what it counts as: nothing unless it is out of all proportion.
    cut: f64,
    /// Amounts by which forecasts from here are moved, from lead 1 on, so that they agree with those of longer steps.
    #[serde(skip)]
    moved: Vec<f64>,
}

/// A season that is taken out of the level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Seasonal {
    period: f64,
    /// The index of the watched lead that is nearest to it.
    idx: usize,
}

impl Outlook {
    /// A series that has no sample yet, with these seasons, to be forecast up to `n_leads` steps ahead.
    ///
    /// # Panics
    /// When `n_leads` is 0 or above 65,536.
    #[must_use]
    pub fn new(periods: Periods, n_leads: usize) -> Self {
        assert!((1..=N_LEADS_MAX).contains(&n_leads), "no forecast of {n_leads} steps");
        let rungs: Vec<Rung> = ladder(n_leads).into_iter().map(Rung::new).collect();
        let period = periods.memory();
        Self {
            clock: 0,
            level: Level::new(periods),
            season: Season::new(periods),
            seasonal: (periods != Periods::NONE).then(|| seasonal(&rungs, period)),
            rungs,
            period,
            range: UNBOUNDED,
            transform: Transform::linear(UNBOUNDED),
            spread: Spread::new(),
            grid: Grid::new(),
            ends: Ends::new(),
            cut: 0.0,
            moved: Vec::new(),
        }
    }

    /// The same whose forecasts stay between what the quantity can be.
    ///
    /// # Panics
    /// When `min` is above `max`, or either is NaN.
    #[must_use]
    pub fn within(mut self, min: f64, max: f64) -> Self {
        assert!(min <= max, "no value is between {min} and {max}");
        self.range = (min, max);
        self.transform = Transform::linear(self.range);
        self
    }

    /// The same that looks for no seasons beside those that it was given.
    #[must_use]
    pub fn only_given(mut self) -> Self {
        self.season.search_none();
        self
    }

    /// The same whose days and weeks are those of a calendar: a period of a day follows local time, that of a week as
    /// well, and holidays are Sundays in it. The first sample begins at `start`, and each lasts for `step`.
    ///
    /// # Panics
    /// When it has samples already.
    #[must_use]
    pub fn in_days_of(mut self, calendar: &Calendar, start: Timestamp, step: Duration) -> Self {
        assert_eq!(self.clock, 0, "the calendar is known before the first sample");
        self.season.follow(calendar.days(start, step));
        self
    }

    /// Takes the next sample. One that is not finite is a gap.
    pub fn step(&mut self, sample: f64) {
        self.step_hearing(sample, &[], |_| None);
    }

    /// Takes the next sample, and the forecast that an ensemble of other models makes with it known: means in the unit
    /// of the series, that of lead 1 first, as many as [`Outlook::n_leads_due`] asks for. The weight of the ensemble at
    /// each lead follows from its errors.
    pub(crate) fn step_beside(&mut self, sample: f64, ensemble: &[f64]) {
        self.step_hearing(sample, ensemble, |_| None);
    }

    /// Returns the longest lead at which the next step compares an ensemble with the sample to come.
    pub(crate) fn n_leads_due(&self) -> usize {
        let due = self.rungs.iter().rev().find(|rung| rung.lead <= ENSEMBLE_LEAD_MAX && rung.is_due(self.clock));
        due.map_or(0, |rung| rung.lead)
    }

    /// Takes the next sample, and from here on `heard`: what somebody else says of the sample so many steps ahead. How
    /// much that counts at each lead is learned from how right it was.
    fn step_hearing(&mut self, sample: f64, ensemble: &[f64], heard: impl Fn(usize) -> Option<f64>) {
        self.moved.clear();
        let sample = if sample.is_finite() { sample.clamp(-SAMPLE_MAX, SAMPLE_MAX) } else { f64::NAN };
        self.grid.learn(sample);
        self.ends.learn(sample);
        if let Some(better) = self.spread.learn(sample, self.transform) {
            self.rescale(better);
        }
        self.step_scaled(self.transform.to_scale(sample));
        self.note(ensemble, &heard);
    }

    /// Begins anew on another scale, with the samples of the last longest period.
    fn rescale(&mut self, transform: Transform) {
        let past: Vec<f64> = self.level.past().map(|scaled| self.transform.to_value(scaled)).collect();
        let mut fresh = Self::new(self.periods(), self.rungs[self.rungs.len() - 1].lead);
        fresh.clock = self.clock - past.len() as u64;
        fresh.season = self.season.fresh(fresh.clock);
        fresh.range = self.range;
        fresh.transform = transform;
        fresh.ends = self.ends.clone();
        for sample in past {
            fresh.step_scaled(transform.to_scale(sample));
            fresh.note(&[], &|_| None);
        }
        fresh.spread = self.spread.clone();
        fresh.grid = self.grid.clone();
        *self = fresh;
    }

    fn step_scaled(&mut self, sample: f64) {
        let given = sample;
        let sample = self.level.within_reach(given);
        self.cut = if sample.is_nan() { 0.0 } else { given - sample };
        if !sample.is_nan() {
            self.score(sample);
        }
        let expected = self.seasonal_at(1);
        let was_whole = self.level.are_whole();
        let shift = self.level.step(sample, expected);
        let was_there = shift.is_some_and(|shift| self.was_there(sample, shift));
        let [short, long] = self.level.season_means();
        let step = Step { sample, short, long, moved: 0.0 };
        let changed = self.season.learn(self.clock, step, self.level.typical());
        self.clock += 1;
        let are_whole = self.level.are_whole();
        if are_whole != was_whole && self.season.is_given() {
            self.begin(std::array::from_fn(|idx| are_whole[idx] && !was_whole[idx]));
        }
        if let Some(shift) = shift {
            self.season.shift(self.clock, shift);
            self.rungs.iter_mut().for_each(|rung| rung.shift(shift.by, was_there));
        }
        self.forget(changed);
        if self.clock < AGE_YOUNG || self.clock.is_multiple_of(FIT_EVERY) {
            self.fit();
        }
        self.weigh();
    }

    /// Whether the level that a series has shifted to is the one that it had a longer period before, if that is known.
    fn was_there(&self, sample: f64, shift: Shift) -> bool {
        let before = self.season.phase(self.clock, 1).naive[1];
        before.is_none_or(|before| (sample - before).abs() < WAS_THERE * shift.by.abs())
    }

    /// The shortest period, the longest one, or both are whole for the first time: what is under way is seen anew from
    /// their means.
    fn begin(&mut self, are_whole: [bool; 2]) {
        self.season.begin(self.clock, are_whole, self.level.typical());
        if are_whole[0] {
            for rung in &mut self.rungs {
                let lead = rung.lead;
                rung.restate(self.level.mean(), |origin| self.season.phase(origin + 1, lead).features);
            }
        }
    }

    /// Whether there are samples enough to say anything.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.level.n() >= N_KNOWN_MIN
    }

    /// Whether there are samples enough for a first guess.
    pub(crate) fn is_begun(&self) -> bool {
        self.level.n() >= N_BEGUN
    }

    /// Returns how far the series can be seen: the longest lead for which forecasts of that length have been compared
    /// with what came. Beyond it intervals widen as a random walk's.
    #[must_use]
    pub fn n_leads_seen(&self) -> usize {
        self.rungs.iter().rev().find(|rung| rung.n() > 0.0).map_or(0, |rung| rung.lead)
    }

    /// Range of values that the quantity can have.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.range
    }

    /// The seasons that were given.
    pub(crate) fn periods(&self) -> Periods {
        self.season.periods()
    }

    /// The seasons that were found beside those that were given, the one that explains most first.
    #[must_use]
    pub fn found(&self) -> Vec<FoundSeason> {
        self.season.found()
    }

    /// Returns the weight of the season in the forecast of one whole period ahead: the sum of the coefficients of its
    /// regressors, cut to 0 to 1. `None` without a period, and until such a forecast has been compared with what came.
    #[must_use]
    pub fn season_weight(&self) -> Option<f64> {
        let rung = &self.rungs[self.seasonal?.idx];
        (rung.n() > 0.0).then(|| rung.lasting[N_LEVELS..].iter().sum::<f64>().clamp(0.0, 1.0))
    }

    /// Returns the number of samples that were no gaps.
    pub(crate) fn n_known(&self) -> usize {
        self.level.n() as usize
    }

    /// Returns the weight of an ensemble in the forecast at a lead.
    pub(crate) fn weight_of_ensemble(&self, lead: usize) -> f64 {
        let Place { below, above, share } = self.place(lead);
        let weight = |idx: usize| self.rungs[idx].weights[OF_ENSEMBLE];
        if lead > ENSEMBLE_LEAD_MAX { 0.0 } else { between(weight(below), weight(above), share) }
    }

    /// Returns the recent mean absolute error of the best candidate at the watched lead at or below this one, over that
    /// of an ensemble; `None` before any forecast came due.
    pub(crate) fn error_ratio(&self, lead: usize) -> Option<f64> {
        self.rungs[self.place(lead).below].error_ratio()
    }

    /// The scale on which it is forecast: a bounded quantity has another one than its own if it varies the less the
    /// nearer it is to a bound.
    #[must_use]
    pub fn scale(&self) -> Scale {
        self.transform.scale
    }

    /// Whether this can be an outlook of these seasons as far as `n_leads` that has taken samples, as a decoder must
    /// check.
    pub(crate) fn is_of(&self, periods: Periods, n_leads: usize) -> bool {
        let (min, max) = self.range;
        if min > max || min.is_nan() || max.is_nan() {
            return false;
        }
        let fresh = Self::new(periods, n_leads).within(min, max);
        let is_seasonal_sound = match (self.seasonal, fresh.seasonal) {
            (None, given) => given.is_none(),
            (Some(found), None) => Periods::RANGE.contains(&found.period) && found.idx < self.rungs.len(),
            (Some(found), Some(given)) => found == given,
        };
        self.clock <= CLOCK_MAX
            && self.rungs.len() == fresh.rungs.len()
            && self.rungs.iter().zip(&fresh.rungs).all(|(rung, fresh)| rung.is_like(fresh))
            && self.level.is_like(&fresh.level)
            && self.season.is_like(&fresh.season)
            && is_seasonal_sound
            && (self.period, self.range) == (fresh.period, fresh.range)
            && self.transform.is_of(self.range)
            && self.spread.is_sound()
            && self.grid.is_sound()
            && self.ends.is_sound()
            && self.cut.is_finite()
    }
}

/// Builds the season with the watched lead that is nearest.
fn seasonal(rungs: &[Rung], period: f64) -> Seasonal {
    let away = |idx: &usize| (rungs[*idx].lead as f64 / period).ln().abs();
    let idx = (0..rungs.len()).min_by(|one, other| away(one).total_cmp(&away(other)));
    Seasonal { period, idx: idx.expect("a ladder has leads") }
}

/// 1, 2, 3, 4, 6, 8, 12, … up to the first at or beyond `n_leads`.
fn ladder(n_leads: usize) -> Vec<usize> {
    let mut leads = vec![1, 2];
    let mut octave = 2;
    while leads[leads.len() - 1] < n_leads {
        leads.extend([3 * octave / 2, 2 * octave]);
        octave *= 2;
    }
    let needed = leads.partition_point(|lead| *lead < n_leads) + 1;
    leads.truncate(needed);
    leads
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
