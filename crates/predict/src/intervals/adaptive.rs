//! Quantile tracking: ends of intervals that learn from each error whether they were far enough.
//!
//! An end that is meant to be passed by a share `a` of the errors moves out by `(1 - a)` steps when it was passed and
//! in by `a` steps when it was not. Over `T` errors the share that passed it then differs from `a` by no more than the
//! way that the end has come, in steps, over `T` (Angelopoulos, Candès and Tibshirani 2023, proposition 1), whatever
//! the errors are.

use serde::{Deserialize, Serialize};

use super::reach::{HALF_WIDTHS, LEVELS, N_LEVELS, REACH_MAX, Reach};

/// The length of a step in the long run, in standard deviations of the errors, for an error that comes at once. On
/// recorded traces and made-up series, 0.07 leaves changes of level behind, and 0.2 makes intervals wander.
const RATE: f64 = 0.12;

/// Forecasts under way at which the step is half as long: as many have passed an end before its first move shows, and
/// the end would overshoot.
const N_UNDER_WAY_HALF: f64 = 32.0;

/// The first steps are longer, and shorten as one over the square root of the number of errors.
const RATE_FIRST: f64 = 0.3;

/// Errors over which their mean magnitude is taken.
const N_MAGNITUDE: f64 = 1000.0;

/// Errors that the normal magnitude counts for at the start.
const N_MAGNITUDE_FIRST: f64 = 20.0;

/// The mean magnitude of normal errors of variance 1.
const MAGNITUDE_NORMAL: f64 = 0.797_884_560_802_865_4;

/// An error counts as no more than so many mean magnitudes in the next mean.
const OUTLIER: f64 = 20.0;

/// The ends at one lead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tracker {
    reach: Reach,
    /// Discounted mean magnitude of errors, in standard errors.
    magnitude: f64,
    n: u32,
}

impl Tracker {
    pub(crate) const NORMAL: Self = Self { reach: Reach::NORMAL, magnitude: MAGNITUDE_NORMAL, n: 0 };

    pub(crate) fn reach(&self) -> Reach {
        self.reach.nested()
    }

    /// `error` in standard errors, infinite where the standard error is 0; `said` is what the forecast reached, one
    /// of `n_under_way` at the time.
    pub(crate) fn learn(&mut self, error: f64, said: &Reach, n_under_way: usize) {
        self.n = self.n.saturating_add(1);
        let weight = 1.0 / (f64::from(self.n) + N_MAGNITUDE_FIRST).min(N_MAGNITUDE);
        self.magnitude += weight * (error.abs().min(OUTLIER * self.magnitude).min(REACH_MAX) - self.magnitude);
        let rate = (RATE / (1.0 + n_under_way as f64 / N_UNDER_WAY_HALF)).max(RATE_FIRST / f64::from(self.n).sqrt());
        // A step that shrank with the interval would leave one that closed while nothing moved shut for long.
        let deviation = self.magnitude / MAGNITUDE_NORMAL;
        let Reach { lower, upper } = &mut self.reach;
        for level in 0..N_LEVELS {
            let tail = 0.5 * (1.0 - LEVELS[level]);
            let step = rate * (0.5 * (lower[level] + upper[level])).max(HALF_WIDTHS[level] * deviation);
            let moved = |end: f64, is_passed: bool| {
                (end + step * (f64::from(u8::from(is_passed)) - tail)).clamp(-REACH_MAX, REACH_MAX)
            };
            lower[level] = moved(lower[level], -error > said.lower[level]);
            upper[level] = moved(upper[level], error > said.upper[level]);
        }
    }

    pub(crate) fn is_sound(&self) -> bool {
        let Reach { lower, upper } = &self.reach;
        lower.iter().chain(upper).all(|end| end.abs() <= REACH_MAX) && (0.0..=REACH_MAX).contains(&self.magnitude)
    }
}
