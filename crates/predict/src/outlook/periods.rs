//! Lengths of the seasons of a series.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::N_PERIODS_MIN;

/// The lengths of a series' seasons in steps, at most two, such as a day and a week.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Periods(pub(super) [f64; 2]);

/// The reason why something is no list of periods.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PeriodsError {
    /// More than two.
    #[error("there are {given} periods; a series has at most 2")]
    TooMany {
        /// Number of periods given.
        given: usize,
    },
    /// Too short to have a shape, or so long that a profile would not fit into memory.
    #[error("a period is {given} steps; it must be from 4 to 1,000,000")]
    Length {
        /// Length in steps.
        given: f64,
    },
    /// Not ascending, or the second no longer than the first by enough to differ from it.
    #[error("the periods are {short} and {long} steps; the second must be at least twice the first")]
    Order {
        /// The first one given.
        short: f64,
        /// The second one.
        long: f64,
    },
}

/// No length is NaN.
impl Eq for Periods {}

impl Hash for Periods {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.map(f64::to_bits).hash(state);
    }
}

impl Periods {
    /// No season.
    pub const NONE: Self = Self([0.0; 2]);

    /// The shortest and longest period that can be told.
    pub(super) const RANGE: std::ops::RangeInclusive<f64> = 4.0..=1e6;

    /// Seasons of these lengths, in steps, ascending; they need not be whole numbers.
    ///
    /// # Errors
    /// For more than two, for lengths that are not from 4 to 1,000,000, and for a second that is less than twice the
    /// first.
    pub fn new(steps: &[f64]) -> Result<Self, PeriodsError> {
        if steps.len() > 2 {
            return Err(PeriodsError::TooMany { given: steps.len() });
        }
        if let Some(given) = steps.iter().find(|steps| !Self::RANGE.contains(*steps)) {
            return Err(PeriodsError::Length { given: *given });
        }
        let at = |idx: usize| steps.get(idx).copied().unwrap_or(0.0);
        let (short, long) = (at(0), at(1));
        if long > 0.0 && long < 2.0 * short {
            return Err(PeriodsError::Order { short, long });
        }
        Ok(Self([short, long]))
    }

    /// Their lengths in steps, ascending.
    pub fn steps(self) -> impl Iterator<Item = f64> {
        self.0.into_iter().filter(|period| *period > 0.0)
    }

    /// The same where a step takes `n` of these, without those that are shorter than four such steps.
    #[must_use]
    pub fn in_steps_of(self, n: usize) -> Self {
        let steps = self.steps().map(|steps| steps / n as f64);
        let told: Vec<f64> = steps.filter(|steps| Self::RANGE.contains(steps)).collect();
        Self::new(&told).unwrap_or(Self::NONE)
    }

    /// Those that come once and a half in `n` steps. Of others nothing can be said by then, and the samples of a
    /// longest one are kept.
    #[must_use]
    pub fn known_in(self, n: usize) -> Self {
        let known: Vec<f64> = self.steps().filter(|steps| N_PERIODS_MIN * steps <= n as f64).collect();
        Self::new(&known).unwrap_or(Self::NONE)
    }

    /// The shortest one, or what takes its place where there is none, in steps: memory is counted in it.
    pub(super) fn memory(self) -> f64 {
        const APERIODIC: f64 = 512.0;
        if self.0[0] > 0.0 { self.0[0] } else { APERIODIC }
    }

    /// A day and a week of a series with this step, as far as they are from 4 to 1,000,000 steps.
    #[must_use]
    pub fn day_and_week(step: Duration) -> Self {
        const DAY: f64 = 86_400.0;
        let lengths = [DAY, 7.0 * DAY].map(|length| length / step.as_secs_f64());
        let steps: Vec<f64> = lengths.into_iter().filter(|steps| Self::RANGE.contains(steps)).collect();
        Self::new(&steps).unwrap_or(Self::NONE)
    }

    /// Returns the seasons that a step of this mean length suggests: a year, or a day and a week if the step is shorter
    /// than a week.
    #[must_use]
    pub fn of_calendar(step: Duration) -> Self {
        Self::year(step).unwrap_or_else(|| Self::day_and_week(step))
    }

    /// Returns a year of 365.25 days in steps of a week or longer, such as 12 months, 4 quarters or 52.18 weeks; `None`
    /// if the step is shorter, or there are fewer than 4 in a year.
    #[must_use]
    pub fn year(step: Duration) -> Option<Self> {
        const WEEK: Duration = Duration::from_secs(7 * 86_400);
        const YEAR: f64 = 365.25 * 86_400.0;
        Self::new(&[YEAR / step.as_secs_f64()]).ok().filter(|_| step >= WEEK)
    }
}
