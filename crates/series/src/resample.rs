//! Samples at uneven times, brought to an even step of the caller's choice.
//!
//! [`Series::from_timed`] finds the step that times suggest, and is for samples that are nearly even. This is for those
//! that are not, or for another step than theirs. Nothing is made up: where the samples near a moment are too old or
//! too far apart, there is a gap.

use std::time::Duration;

use jiff::tz::TimeZone;
use units::Timestamp;

use crate::{Grid, GridError, Series, Step};

/// Greatest number of slots that a series is resampled to: 800 MB of them.
pub(crate) const N_SLOTS_MAX: usize = 100_000_000;

const DAY: Duration = Duration::from_secs(86_400);

/// The way in which the value of a moment follows from the samples near it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resampling {
    /// The last sample at or before the moment, unless it is older than `age_max`: for states, which hold until they
    /// change.
    Last {
        /// An older sample says nothing of the moment.
        age_max: Duration,
    },
    /// The mean of the samples after the moment before and up to this one; a gap where there is none. For rates and
    /// noisy readings that come faster than the step.
    Mean,
    /// The value on the straight line between the samples around the moment, unless they are farther apart than
    /// `apart_max`: for quantities that move smoothly.
    Linear {
        /// Samples farther apart say nothing of the moments between them.
        apart_max: Duration,
    },
}

impl Series {
    /// Brings timed samples, oldest first, to moments `step` apart, the first being the first sample's.
    ///
    /// Samples that are not finite are passed over. Of several at one moment the last one counts, except for
    /// [`Resampling::Mean`], which takes all. The last moment is the last one that is not after the last sample.
    /// A step of whole days is one of days in `zone`, which may have 23 to 25 hours.
    ///
    /// # Errors
    /// [`GridError`] when there is no finite sample, when time runs backwards, when `step` is zero, or when there would
    /// be more than 100,000,000 moments.
    pub fn resampled(
        timed: &[(Timestamp, f64)],
        step: Duration,
        how: Resampling,
        zone: &TimeZone,
    ) -> Result<Self, GridError> {
        if let Some(idx) = timed.windows(2).position(|pair| pair[1].0 < pair[0].0) {
            return Err(GridError::Backwards { idx: idx + 1, time: timed[idx + 1].0 });
        }
        if step.is_zero() {
            return Err(GridError::ZeroStep);
        }
        let known: Vec<(Timestamp, f64)> = timed.iter().copied().filter(|(_, sample)| sample.is_finite()).collect();
        let (Some((start, _)), Some((end, _))) = (known.first().copied(), known.last().copied()) else {
            return Err(GridError::Empty { n: timed.len() });
        };
        let n_slots = end.saturating_since(start).as_nanos() / step.as_nanos() + 1;
        let n_slots = usize::try_from(n_slots)
            .ok()
            .filter(|n_slots| *n_slots <= N_SLOTS_MAX)
            .ok_or(GridError::TooManySlots { n_slots, step })?;
        let is_in_days = step.as_nanos().is_multiple_of(DAY.as_nanos()) && zone.to_fixed_offset().is_err();
        let step = if is_in_days { Step::Clock(step) } else { Step::Span(step) };
        let grid = Grid { start, step, zone: zone.clone() };
        // A day of 25 hours may have put one moment too many before the end.
        let is_after = |idx| grid.time_of(idx).is_none_or(|time| time > end);
        let n_slots = if is_after(n_slots - 1) { n_slots - 1 } else { n_slots };
        let samples = Walk::over(&known).take(&grid, n_slots, how);
        Ok(Self { samples, grid: Some(grid), ..Self::default() })
    }
}

/// Goes through samples and moments side by side, both oldest first.
struct Walk<'a> {
    known: &'a [(Timestamp, f64)],
    /// Number of samples that are at or before the moment.
    n_past: usize,
}

impl<'a> Walk<'a> {
    fn over(known: &'a [(Timestamp, f64)]) -> Self {
        Self { known, n_past: 0 }
    }

    fn take(mut self, grid: &Grid, n_slots: usize, how: Resampling) -> Vec<f64> {
        let value = |idx: usize| {
            let moment = grid.time_of(idx).expect("no moment is after the last sample");
            let n_before = self.n_past;
            self.n_past += self.known[n_before..].partition_point(|(time, _)| *time <= moment);
            match how {
                Resampling::Last { age_max } => self.last(moment, age_max),
                Resampling::Mean => mean(&self.known[n_before..self.n_past]),
                Resampling::Linear { apart_max } => self.linear(moment, apart_max),
            }
        };
        (0..n_slots).map(value).collect()
    }

    fn last(&self, moment: Timestamp, age_max: Duration) -> f64 {
        let (time, sample) = self.known[self.n_past - 1];
        if moment.saturating_since(time) <= age_max { sample } else { f64::NAN }
    }

    fn linear(&self, moment: Timestamp, apart_max: Duration) -> f64 {
        let (left_time, left) = self.known[self.n_past - 1];
        if left_time == moment {
            return left;
        }
        let Some((right_time, right)) = self.known.get(self.n_past).copied() else { return f64::NAN };
        let apart = right_time.saturating_since(left_time);
        if apart > apart_max {
            return f64::NAN;
        }
        let share = moment.saturating_since(left_time).as_secs_f64() / apart.as_secs_f64();
        // Rather than left + share * (right - left), whose difference may overflow.
        left * (1.0 - share) + right * share
    }
}

/// Returns the mean, scaled before it is summed, so that the sum of huge samples does not overflow.
fn mean(samples: &[(Timestamp, f64)]) -> f64 {
    let n = samples.len() as f64;
    if samples.is_empty() { f64::NAN } else { samples.iter().map(|(_, sample)| sample / n).sum() }
}
