//! Evenly spaced samples, and how to obtain them.
//!
//! A [`Series`] is a row of samples one step apart, with or without the moments they belong to. A missing
//! sample takes its place as NaN, and nothing else in a series is ever non-finite.
//!
//! Floor 1: reads from readers it is given, opens no file, reads no clock.
#![forbid(unsafe_code)]

pub mod csv;
mod grid;
mod resample;

pub use grid::{Grid, GridError};
pub use resample::Resampling;

use std::time::Duration;

use units::Timestamp;

/// Samples one step apart, oldest first; NaN where one is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    samples: Vec<f64>,
    grid: Option<Grid>,
    n_merged: usize,
}

impl Series {
    /// Samples of which only the order is known.
    #[must_use]
    pub fn untimed(samples: Vec<f64>) -> Self {
        Self { samples, grid: None, n_merged: 0 }
    }

    /// Places timed samples on the grid that their times suggest.
    ///
    /// The step is the commonest distance between neighbours. Each sample goes to the nearest slot; slots
    /// without one are gaps; samples that share a slot are averaged, and counted in [`Series::n_merged`].
    ///
    /// # Errors
    /// [`GridError`] when there are no two different times, when time runs backwards, or when the times are so
    /// uneven that most slots would be empty.
    pub fn from_timed(timed: &[(Timestamp, f64)]) -> Result<Self, GridError> {
        grid::place(timed)
    }

    /// The samples, NaN where one is missing.
    #[must_use]
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// When the samples belong, if that is known.
    #[must_use]
    pub fn grid(&self) -> Option<Grid> {
        self.grid
    }

    /// How many samples fell into a slot that another one had, and were averaged with it.
    #[must_use]
    pub fn n_merged(&self) -> usize {
        self.n_merged
    }

    /// How many slots have no sample.
    #[must_use]
    pub fn n_gaps(&self) -> usize {
        self.samples.iter().filter(|sample| sample.is_nan()).count()
    }
}

/// The mean of each `length` neighbouring samples, the last bucket as long as it comes. Gaps count for nothing; a
/// bucket of gaps is a gap.
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

/// How many steps fit into `span`, rounded up: the lead of a moment that far ahead. 0 only for an empty span.
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
