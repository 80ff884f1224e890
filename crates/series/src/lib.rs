//! Evenly spaced samples, and how to obtain them.
//!
//! A [`Series`] is a row of samples one step apart, with or without the moments they belong to. A missing
//! sample takes its place as NaN, and nothing else in a series is ever non-finite. The step between samples is a length
//! of time or a unit of the calendar ([`Step`]).
//!
//! Floor 1: reads from readers it is given, opens no file, reads no clock.
#![forbid(unsafe_code)]

pub mod csv;
mod grid;
mod resample;
mod step;

pub use grid::{Grid, GridError};
pub use resample::Resampling;
pub use step::Step;

use std::fmt;
use std::time::Duration;

use jiff::tz::TimeZone;
use units::Timestamp;

/// Samples one step apart, oldest first; NaN where one is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    samples: Vec<f64>,
    grid: Option<Grid>,
    merged: Option<Merged>,
}

/// Samples that fell into a slot that another one had, and were averaged with it. Its text is for a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Their number; never zero.
    pub n: usize,
    /// The time of the first one, as text.
    pub first: String,
}

impl fmt::Display for Merged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.n {
            1 => write!(f, "1 sample is averaged with another one of the same step: that of {}", self.first),
            n => write!(
                f,
                "{n} samples are averaged with others of the same step, the first of them that of {}",
                self.first
            ),
        }
    }
}

impl Series {
    /// Builds a series of samples of which only the order is known.
    #[must_use]
    pub fn untimed(samples: Vec<f64>) -> Self {
        Self { samples, ..Self::default() }
    }

    /// Places timed samples on the grid that their times suggest, in UTC.
    ///
    /// The step is one of the calendar if all times are on it: months at one day of the month or at its end, or
    /// business days. Otherwise it is the commonest distance between neighbours, and each sample goes to the nearest
    /// slot. Slots without a sample are gaps; samples that share a slot are averaged, and counted in
    /// [`Series::merged`].
    ///
    /// # Errors
    /// [`GridError`] when there are no two different times, when time runs backwards, or when the times are so
    /// uneven that most slots would be empty.
    pub fn from_timed(timed: &[(Timestamp, f64)]) -> Result<Self, GridError> {
        Self::from_timed_in(timed, &TimeZone::UTC)
    }

    /// Places timed samples as [`Series::from_timed`] does, with the calendar of a time zone, in which a day may have
    /// 23 to 25 hours.
    ///
    /// # Errors
    /// As [`Series::from_timed`].
    pub fn from_timed_in(timed: &[(Timestamp, f64)], zone: &TimeZone) -> Result<Self, GridError> {
        grid::place(timed, zone)
    }

    /// Returns the samples, NaN where one is missing.
    #[must_use]
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// Returns the grid of the samples' times, if that is known.
    #[must_use]
    pub fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }

    /// Returns the number and first time of the samples that share a slot, if there are any. Who shows a series to
    /// people warns of them.
    #[must_use]
    pub fn merged(&self) -> Option<&Merged> {
        self.merged.as_ref()
    }

    /// Returns the number of slots without a sample.
    #[must_use]
    pub fn n_gaps(&self) -> usize {
        self.samples.iter().filter(|sample| sample.is_nan()).count()
    }
}

/// Returns the mean of each `length` neighbouring samples, the last bucket as long as it comes. Gaps count for nothing;
/// a bucket of gaps is a gap.
///
/// # Panics
/// When `length` is 0.
#[must_use]
pub fn bucket_means(samples: &[f64], length: usize) -> Vec<f64> {
    samples.chunks(length).map(known_mean).collect()
}

fn known_mean(bucket: &[f64]) -> f64 {
    let known = bucket.iter().filter(|sample| !sample.is_nan());
    let (sum, n) = known.fold((0.0, 0_usize), |(sum, n), sample| (sum + sample, n + 1));
    if n == 0 { f64::NAN } else { sum / n as f64 }
}

/// Returns the number of steps that fit into `span`, rounded up: the lead of a moment that far ahead. 0 only for an
/// empty span.
///
/// # Panics
/// When `step` is zero.
#[must_use]
pub fn steps_within(span: Duration, step: Duration) -> u128 {
    span.as_nanos().div_ceil(step.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_means_pass_over_gaps() {
        let means = bucket_means(&[1.0, 3.0, f64::NAN, 5.0, f64::NAN, f64::NAN, 7.0], 2);
        assert_eq!(means[..2], [2.0, 5.0]);
        assert!(means[2].is_nan());
        assert_eq!(means[3..], [7.0]);
    }

    #[test]
    fn a_started_step_counts() {
        let second = Duration::from_secs(1);
        assert_eq!(steps_within(Duration::from_millis(1001), second), 2);
        assert_eq!(steps_within(Duration::from_secs(2), second), 2);
        assert_eq!(steps_within(Duration::ZERO, second), 0);
    }
}
