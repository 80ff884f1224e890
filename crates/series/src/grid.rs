//! The even grid on which samples lie, and finding it from uneven times.

mod calendar;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use units::{Timestamp, span};

use crate::resample::N_SLOTS_MAX;
use crate::{Merged, Series, Step};

/// Moments `start`, `start + step`, `start + 2 step`, …
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Time of the first sample.
    pub start: Timestamp,
    /// Step from one sample to the next.
    pub step: Step,
    /// The time zone of its calendar, and of the text of its moments.
    pub zone: TimeZone,
}

/// The reason why times do not make a grid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// Fewer than two different times.
    #[error("the step cannot be determined from {n} samples without two different times")]
    NoStep {
        /// Number of samples.
        n: usize,
    },
    /// A sample that is earlier than the one before it.
    #[error("sample {idx} is of {time}, which is earlier than the one before it; sort the samples by time")]
    Backwards {
        /// Its position, from 0.
        idx: usize,
        /// Its time.
        time: Timestamp,
    },
    /// The commonest distance is far smaller than most.
    #[error(
        "sample {idx}, of {time}, comes {} after the one before it; at the most common distance, {}, {n} samples would lie in {n_slots} slots",
        span::format(*distance), span::format(*step)
    )]
    TooSparse {
        /// Position of the sample after the longest distance, from 0.
        idx: usize,
        /// Its time.
        time: Timestamp,
        /// Distance from the sample before it.
        distance: Duration,
        /// The commonest distance between neighbours.
        step: Duration,
        /// Number of samples.
        n: usize,
        /// Number of slots that they would take.
        n_slots: u128,
        /// The median distance between neighbours.
        median: Duration,
    },
    /// Most distances are no multiples of the commonest one.
    #[error(
        "sample {idx}, of {time}, comes {} after the one before it; {n_off} of {n} distances are not multiples of the most common one, {}",
        span::format(*distance), span::format(*step)
    )]
    TooUneven {
        /// Position of the first sample that is off, from 0.
        idx: usize,
        /// Its time.
        time: Timestamp,
        /// Distance from the sample before it.
        distance: Duration,
        /// The commonest distance between neighbours.
        step: Duration,
        /// Number of distances that are off.
        n_off: usize,
        /// Number of distances.
        n: usize,
        /// The median distance between neighbours.
        median: Duration,
    },
    /// Lack of a sample to start from.
    #[error("none of {n} samples is a finite number, so there is nothing to resample")]
    Empty {
        /// Number of samples.
        n: usize,
    },
    /// A step of no length.
    #[error("a step of 0s is too short; it must be longer")]
    ZeroStep,
    /// More slots than fit into memory.
    #[error(
        "a step of {} would make {n_slots} samples, but the limit is {N_SLOTS_MAX}; use a longer step",
        span::format(*step)
    )]
    TooManySlots {
        /// Number of slots that there would be.
        n_slots: u128,
        /// The step asked for.
        step: Duration,
    },
}

/// Greatest number of slots for each sample, on average: with more, the series is mostly gaps and a forecast of the
/// next slot is of no use.
const SLOTS_PER_SAMPLE_MAX: u128 = 10;

/// A distance is off the grid when it misses a multiple of the step by more than this part of the step. Samples that
/// are taken in time are nearer; of distances by chance four in five are off.
const OFF_PART: u32 = 10;

impl GridError {
    /// Returns the position of the sample that shows it, from 0, if there is one.
    #[must_use]
    pub fn idx(&self) -> Option<usize> {
        match self {
            Self::Backwards { idx, .. } | Self::TooSparse { idx, .. } | Self::TooUneven { idx, .. } => Some(*idx),
            _ => None,
        }
    }

    /// Returns a step to resample to, if the times are in order and suggest none.
    #[must_use]
    pub fn step_to_try(&self) -> Option<Duration> {
        match self {
            Self::TooSparse { median, .. } | Self::TooUneven { median, .. } => Some(*median),
            _ => None,
        }
    }
}

impl Grid {
    /// Returns the moment of slot `idx`; `None` beyond the moments that a [`Timestamp`] holds.
    #[must_use]
    pub fn time_of(&self, idx: usize) -> Option<Timestamp> {
        let nanos = match self.step {
            Step::Span(step) => {
                let distance = i128::try_from(step.as_nanos().checked_mul(idx as u128)?).ok()?;
                distance.checked_add(i128::from(self.start.as_nanos()))?
            }
            calendar => {
                let time = calendar.time_of(local(self.start, &self.zone), i64::try_from(idx).ok()?)?;
                self.zone.to_timestamp(time).ok()?.as_nanosecond()
            }
        };
        i64::try_from(nanos).ok().map(Timestamp::from_nanos)
    }

    /// Returns the text of a moment in this time zone: RFC 3339, with the offset of the zone unless that is UTC.
    #[must_use]
    pub fn text_of(&self, time: Timestamp) -> String {
        if self.zone == TimeZone::UTC {
            return time.to_string();
        }
        let moment = moment(time);
        moment.display_with_offset(self.zone.to_offset(moment)).to_string()
    }

    /// Returns a moment as seconds since the begin of 1970 on the clock of this time zone.
    #[must_use]
    pub fn on_clock(&self, time: Timestamp) -> f64 {
        local(time, &self.zone).duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0)).as_secs_f64()
    }
}

fn moment(time: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(i128::from(time.as_nanos())).expect("64 bits of nanoseconds are in jiff's range")
}

/// Returns the time on the clock of a zone.
fn local(time: Timestamp, zone: &TimeZone) -> DateTime {
    zone.to_datetime(moment(time))
}

pub(crate) fn place(timed: &[(Timestamp, f64)], zone: &TimeZone) -> Result<Series, GridError> {
    let n = timed.len();
    if let Some(idx) = timed.windows(2).position(|pair| pair[1].0 < pair[0].0) {
        return Err(GridError::Backwards { idx: idx + 1, time: timed[idx + 1].0 });
    }
    let distances = Distances::of(timed.iter().map(|(time, _)| *time), Timestamp::saturating_since);
    let span = distances.commonest().ok_or(GridError::NoStep { n })?;
    let grid = |step| Grid { start: timed[0].0, step, zone: zone.clone() };
    if let Some(step) = calendar::find(timed, zone, &distances) {
        let start = local(timed[0].0, zone);
        let slot_of = |time| step.idx_of(start, local(time, zone)).expect("all times are on the calendar") as usize;
        return Ok(fill(timed, grid(step), slot_of(timed[n - 1].0) + 1, slot_of));
    }
    let slot_of =
        |time: Timestamp| (time.saturating_since(timed[0].0).as_nanos() + span.as_nanos() / 2) / span.as_nanos();
    let n_slots = slot_of(timed[n - 1].0) + 1;
    distances.check(timed, span, n_slots)?;
    Ok(fill(timed, grid(Step::Span(span)), n_slots as usize, |time| slot_of(time) as usize))
}

/// Returns the series with the mean of the samples in each slot.
fn fill(timed: &[(Timestamp, f64)], grid: Grid, n_slots: usize, slot_of: impl Fn(Timestamp) -> usize) -> Series {
    let mut slots = vec![(0.0, 0_u32); n_slots];
    let mut first_merged = None;
    for (time, sample) in timed.iter().filter(|(_, sample)| sample.is_finite()) {
        let slot = &mut slots[slot_of(*time)];
        if slot.1 > 0 {
            first_merged.get_or_insert(*time);
        }
        *slot = (slot.0 + sample, slot.1 + 1);
    }
    let samples = slots.iter().map(|(sum, n)| if *n == 0 { f64::NAN } else { sum / f64::from(*n) }).collect();
    let n = slots.iter().map(|(_, n)| n.saturating_sub(1) as usize).sum();
    let merged = first_merged.map(|time| Merged { n, first: grid.text_of(time) });
    Series { samples, grid: Some(grid), merged }
}

/// Number of occurrences of each distance between neighbours, moments that come twice left out.
struct Distances(BTreeMap<Duration, usize>);

impl Distances {
    /// Counts the distances of times that do not run backwards, from `between(later, earlier)`.
    fn of<T: Copy>(times: impl Iterator<Item = T> + Clone, between: impl Fn(T, T) -> Duration) -> Self {
        let mut counts: BTreeMap<Duration, usize> = BTreeMap::new();
        for (earlier, later) in times.clone().zip(times.skip(1)) {
            *counts.entry(between(later, earlier)).or_default() += 1;
        }
        counts.remove(&Duration::ZERO);
        Self(counts)
    }

    fn shortest(&self) -> Option<Duration> {
        self.0.keys().next().copied()
    }

    fn are_multiples_of(&self, step: Duration) -> bool {
        self.0.keys().all(|distance| distance.as_nanos().is_multiple_of(step.as_nanos()))
    }

    /// Returns the commonest distance. Ties go to the shorter distance, which loses no sample.
    fn commonest(&self) -> Option<Duration> {
        let most = self.0.values().copied().max()?;
        self.0.iter().find(|(_, count)| **count == most).map(|(distance, _)| *distance)
    }

    fn median(&self) -> Duration {
        let mut n_left = self.0.values().sum::<usize>().div_ceil(2);
        let is_past = |(_, count): &(&Duration, &usize)| {
            n_left = n_left.saturating_sub(**count);
            n_left == 0
        };
        self.0.iter().find(is_past).map_or(Duration::ZERO, |(distance, _)| *distance)
    }

    /// Checks that the times suggest `step`.
    fn check(&self, timed: &[(Timestamp, f64)], step: Duration, n_slots: u128) -> Result<(), GridError> {
        let distance_before = |idx: usize| timed[idx].0.saturating_since(timed[idx - 1].0);
        let found = |is_it: &dyn Fn(Duration) -> bool| {
            let idx = (1..timed.len()).find(|idx| is_it(distance_before(*idx))).expect("the distance is one of these");
            (idx, timed[idx].0, distance_before(idx))
        };
        let n = timed.len();
        if n_slots > SLOTS_PER_SAMPLE_MAX * n as u128 {
            let longest = self.0.keys().next_back().copied().unwrap_or_default();
            let (idx, time, distance) = found(&|distance| distance == longest);
            return Err(GridError::TooSparse { idx, time, distance, step, n, n_slots, median: self.median() });
        }
        let is_off = |distance: Duration| {
            let rest = distance.as_nanos() % step.as_nanos();
            rest.min(step.as_nanos() - rest) > (step / OFF_PART).as_nanos()
        };
        let n = self.0.values().sum();
        let n_off = self.0.iter().filter(|(distance, _)| is_off(**distance)).map(|(_, count)| count).sum();
        if 2 * n_off > n {
            let (idx, time, distance) = found(&is_off);
            return Err(GridError::TooUneven { idx, time, distance, step, n_off, n, median: self.median() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(timed: &[(Timestamp, f64)]) -> Result<Series, GridError> {
        super::place(timed, &TimeZone::UTC)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_hole_becomes_gaps() {
        let series = place(&[(at(0), 1.0), (at(5), 2.0), (at(10), 3.0), (at(25), 4.0)]).unwrap();
        assert_eq!(series.samples().len(), 6);
        assert_eq!((series.n_gaps(), series.merged()), (2, None));
        assert_eq!(series.grid().and_then(|grid| grid.time_of(5)), Some(at(25)));
    }

    #[test]
    fn samples_of_one_moment_are_averaged_and_counted() {
        let series = place(&[(at(0), 1.0), (at(5), 2.0), (at(5), 4.0), (at(10), 6.0)]).unwrap();
        assert_eq!(series.samples(), [1.0, 3.0, 6.0]);
        assert_eq!(series.merged(), Some(&Merged { n: 1, first: at(5).to_string() }));
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
    fn a_year_between_seconds_is_too_sparse() {
        let error = place(&[(at(0), 1.0), (at(1), 2.0), (at(31_536_000), 3.0)]).unwrap_err();
        assert!(matches!(error, GridError::TooSparse { idx: 2, n: 3, n_slots: 31_536_001, .. }), "{error}");
    }

    #[track_caller]
    fn place_times(seconds: &[i64]) -> Result<Series, GridError> {
        place(&seconds.iter().map(|second| (at(*second), 1.0)).collect::<Vec<_>>())
    }

    #[test]
    fn distances_by_chance_suggest_no_step() {
        let error = place_times(&[0, 70, 90, 200, 310, 330, 470, 640]).unwrap_err();
        assert_eq!((error.idx(), error.step_to_try()), (Some(1), Some(Duration::from_secs(110))));
        assert_eq!(
            error.to_string(),
            "sample 1, of 1970-01-01T00:01:10Z, comes 1m 10s after the one before it; \
             4 of 7 distances are not multiples of the most common one, 20s"
        );
    }

    #[test]
    fn samples_nearly_in_time_are_even_enough() {
        assert_eq!(place_times(&[0, 100, 203, 298, 505, 600]).unwrap().samples().len(), 7);
    }

    #[test]
    fn beyond_the_last_timestamp_there_is_no_moment() {
        let last = Timestamp::from_nanos(i64::MAX);
        for step in [Step::Span(Duration::from_secs(3600)), Step::Months { n: 1, day: 11 }, Step::BusinessDay] {
            let grid = Grid { start: last - Duration::from_secs(86_400), step, zone: TimeZone::UTC };
            assert!(grid.time_of(1).is_some() || step != Step::Span(Duration::from_secs(3600)), "{step}");
            for idx in [100, usize::MAX] {
                assert_eq!(grid.time_of(idx), None, "{step}, {idx}");
            }
        }
    }
}
