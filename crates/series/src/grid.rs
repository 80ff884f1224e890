//! The even grid on which samples lie, and finding it from uneven times.

use std::collections::BTreeMap;
use std::time::Duration;

use units::{Timestamp, span};

use crate::Series;
use crate::resample::N_SLOTS_MAX;

/// Moments `start`, `start + step`, `start + 2 step`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// When the first sample belongs.
    pub start: Timestamp,
    /// From one sample to the next; never zero.
    pub step: Duration,
}

/// Why times do not make a grid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// Fewer than two different times.
    #[error("the step cannot be told from {n} samples without two different times")]
    NoStep {
        /// How many samples there are.
        n: usize,
    },
    /// A sample that is earlier than the one before it.
    #[error("sample {idx} is of {time}, which is before the one ahead of it; sort the samples by time")]
    Backwards {
        /// Its position, from 0.
        idx: usize,
        /// Its time.
        time: Timestamp,
    },
    /// The commonest distance is far smaller than most.
    #[error(
        "the times are too uneven: their commonest distance is {}, at which {n} samples would lie in {n_slots} slots",
        span::format(*step)
    )]
    TooUneven {
        /// How many samples there are.
        n: usize,
        /// How many slots they would take.
        n_slots: u128,
        /// The commonest distance between neighbours.
        step: Duration,
    },
    /// No sample to start from.
    #[error("none of {n} samples is a finite number, so there is nothing to resample")]
    Empty {
        /// How many samples there are.
        n: usize,
    },
    /// A step of no length.
    #[error("a step of 0s leads nowhere; it has to be longer")]
    ZeroStep,
    /// More slots than fit into memory.
    #[error(
        "a step of {} would make {n_slots} samples, and no more than {N_SLOTS_MAX} are made; take a longer step",
        span::format(*step)
    )]
    TooManySlots {
        /// How many slots there would be.
        n_slots: u128,
        /// The step asked for.
        step: Duration,
    },
}

/// No more slots than this for each sample, on average: with more, the series is mostly gaps and a forecast of
/// the next slot says nothing.
const SLOTS_PER_SAMPLE_MAX: u128 = 10;

impl Grid {
    /// The moment of slot `idx`.
    #[must_use]
    pub fn time_of(self, idx: usize) -> Timestamp {
        let nanos = self.step.as_nanos().saturating_mul(idx as u128);
        self.start + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

pub(crate) fn place(timed: &[(Timestamp, f64)]) -> Result<Series, GridError> {
    let n = timed.len();
    if let Some(idx) = timed.windows(2).position(|pair| pair[1].0 < pair[0].0) {
        return Err(GridError::Backwards { idx: idx + 1, time: timed[idx + 1].0 });
    }
    let step = commonest_distance(timed).ok_or(GridError::NoStep { n })?;
    let start = timed[0].0;
    let slot_of = |time: Timestamp| (time.saturating_since(start).as_nanos() + step.as_nanos() / 2) / step.as_nanos();
    let n_slots = slot_of(timed[n - 1].0) + 1;
    if n_slots > SLOTS_PER_SAMPLE_MAX * n as u128 {
        return Err(GridError::TooUneven { n, n_slots, step });
    }
    let mut slots = vec![(0.0, 0_u32); n_slots as usize];
    for (time, sample) in timed.iter().filter(|(_, sample)| sample.is_finite()) {
        let slot = &mut slots[slot_of(*time) as usize];
        *slot = (slot.0 + sample, slot.1 + 1);
    }
    let samples = slots.iter().map(|(sum, n)| if *n == 0 { f64::NAN } else { sum / f64::from(*n) }).collect();
    let n_merged = slots.iter().map(|(_, n)| n.saturating_sub(1) as usize).sum();
    Ok(Series { samples, grid: Some(Grid { start, step }), n_merged })
}

/// Ties go to the shorter distance, which loses no sample.
fn commonest_distance(timed: &[(Timestamp, f64)]) -> Option<Duration> {
    let mut counts: BTreeMap<Duration, usize> = BTreeMap::new();
    for pair in timed.windows(2) {
        *counts.entry(pair[1].0.saturating_since(pair[0].0)).or_default() += 1;
    }
    counts.remove(&Duration::ZERO);
    let most = counts.values().copied().max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(distance, _)| distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_hole_becomes_gaps() {
        let series = place(&[(at(0), 1.0), (at(5), 2.0), (at(10), 3.0), (at(25), 4.0)]).unwrap();
        assert_eq!(series.samples().len(), 6);
        assert_eq!((series.n_gaps(), series.n_merged()), (2, 0));
        assert_eq!(series.grid().map(|grid| grid.time_of(5)), Some(at(25)));
    }

    #[test]
    fn samples_of_one_moment_are_averaged_and_counted() {
        let series = place(&[(at(0), 1.0), (at(5), 2.0), (at(5), 4.0), (at(10), 6.0)]).unwrap();
        assert_eq!(series.samples(), [1.0, 3.0, 6.0]);
        assert_eq!(series.n_merged(), 1);
    }

    #[test]
    fn time_that_runs_backwards_is_refused() {
        let error = place(&[(at(5), 1.0), (at(0), 2.0)]).unwrap_err();
        assert_eq!(error, GridError::Backwards { idx: 1, time: at(0) });
    }

    #[test]
    fn one_moment_has_no_step() {
        assert_eq!(place(&[(at(5), 1.0), (at(5), 2.0)]), Err(GridError::NoStep { n: 2 }));
    }

    #[test]
    fn a_year_between_seconds_is_too_uneven() {
        let error = place(&[(at(0), 1.0), (at(1), 2.0), (at(31_536_000), 3.0)]).unwrap_err();
        assert!(matches!(error, GridError::TooUneven { n: 3, n_slots: 31_536_001, .. }), "{error}");
    }
}
