//! Measured values and remembered forecasts, from memory and from the store.

use std::time::Duration;

use series::steps_within;
use units::{Timestamp, span};

use super::{Hub, QueryError, unknown};
use crate::api;
use crate::engine::about::About;
use crate::schedule::times;
use crate::store::read::{self, Mean, ceil_to};
use crate::store::{MINUTE, minute_of};

/// The most values of one answer.
const VALUES_MAX: u64 = 100_000;

/// The most samples that are looked up for one answer; takes about two seconds.
const LOOK_UPS_MAX: u64 = 1_000_000;

/// Moments from `from` on and before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeRange {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

/// The samples of a series in memory, or the moment at which they would begin.
struct Recent {
    start: Timestamp,
    /// The first sample in memory, also before the range.
    first: Option<Timestamp>,
    samples: Vec<Mean>,
}

impl Hub {
    /// Samples, or means over buckets of `step`, which the answer states; see [`Hub::bucket`]. Blocks while the store
    /// is read, if memory does not reach back far enough.
    pub(crate) fn samples(
        &self,
        id: &str,
        range: TimeRange,
        step: Option<Duration>,
    ) -> Result<api::Samples, QueryError> {
        let (about, recent) = self.recent(id, range)?;
        let bucket = self.bucket(&about, range, recent.start, step)?;
        let first = self.first(&about, range, recent.first)?.floor_to(bucket);
        let range = TimeRange { from: range.from.max(first).min(range.to), ..range };
        let mut buckets = Buckets::new(range, bucket)?;
        if range.from < recent.start {
            let older = TimeRange { from: range.from, to: range.to.min(recent.start) };
            self.older(&about, older, bucket)?.into_iter().for_each(|mean| buckets.add(mean));
        }
        recent.samples.into_iter().for_each(|mean| buckets.add(mean));
        Ok(api::Samples {
            id: about.id.to_string(),
            unit: about.unit().to_owned(),
            start: buckets.start,
            step_seconds: bucket.as_secs_f64(),
            values: buckets.finish(),
        })
    }

    /// Remembered forecasts of one lead time, by the moments they were for. Blocks while the store is read.
    pub(crate) fn remembered(&self, id: &str, lead: Duration, range: TimeRange) -> Result<api::Remembered, QueryError> {
        let (about, leads) = {
            let engine = self.engine();
            let entry = engine.get(id).ok_or_else(|| unknown(id))?;
            (entry.about.clone(), entry.live.plan().leads.clone())
        };
        let leads: Vec<Duration> = leads.iter().map(|lead| times(about.step, *lead as u64)).collect();
        if !leads.contains(&lead) {
            let known: Vec<String> = leads.iter().map(|lead| span::format(*lead)).collect();
            let message = format!("lead `{}` is not remembered; {} are", span::format(lead), known.join(", "));
            return Err(QueryError::BadParameter { field: "lead", message });
        }
        check_look_ups(range, about.step)?;
        let found = self.ask(|store| read::forecasts(store, about.key, lead, about.step, range.from..range.to))?;
        check_values(found.len() as u64)?;
        Ok(api::Remembered {
            id: about.id.to_string(),
            lead_seconds: lead.as_secs_f64(),
            time: found.iter().map(|said| said.target).collect(),
            mean: found.iter().map(|said| said.mean).collect(),
            standard_error: found.iter().map(|said| said.standard_error).collect(),
        })
    }

    fn recent(&self, id: &str, range: TimeRange) -> Result<(About, Recent), QueryError> {
        let engine = self.engine();
        let entry = engine.get(id).ok_or_else(|| unknown(id))?;
        let about = entry.about.clone();
        // What a model has still to take is in the store alone.
        let Some((start, kept)) = entry.live.kept().filter(|_| entry.is_current()) else {
            return Ok((about, Recent { start: range.to, first: None, samples: Vec::new() }));
        };
        let n_gaps = kept.iter().position(|sample| !sample.is_nan());
        let first = n_gaps.map(|n_gaps| start + times(about.step, n_gaps as u64));
        let from = range.from.max(start);
        let n_passed = steps_within(from.saturating_since(start), about.step).min(kept.len() as u128) as usize;
        let labelled = kept.iter().enumerate().skip(n_passed);
        let samples: Vec<Mean> = labelled
            .map(|(idx, mean)| Mean { time: start + times(about.step, idx as u64), mean: *mean, n: 1 })
            .take_while(|sample| sample.time < range.to)
            .filter(|sample| !sample.mean.is_nan())
            .collect();
        Ok((about, Recent { start, first, samples }))
    }

    /// The step of an answer: the one asked for or as sampled, rounded up to a whole multiple of the series' own,
    /// unless it is whole minutes.
    ///
    /// A range that begins where only minute means are left is answered in whole minutes. Only a step below a minute
    /// that is asked for by name is kept to, as long as the range reaches to samples: the minutes before them are gaps
    /// then.
    fn bucket(
        &self,
        about: &About,
        range: TimeRange,
        memory: Timestamp,
        step: Option<Duration>,
    ) -> Result<Duration, QueryError> {
        let is_whole_minutes = |step: &Duration| *step >= about.step && whole(*step, MINUTE) == *step;
        let fine = step.filter(is_whole_minutes).unwrap_or_else(|| whole(step.unwrap_or(about.step), about.step));
        let coarse = whole(fine, MINUTE);
        if range.from >= memory || coarse == fine {
            return Ok(fine);
        }
        let oldest = self.ask(read::extent)?.0.map_or(memory, |oldest| oldest.min(memory));
        let thinned_until = minute_of(oldest.min(range.to));
        let is_kept_to = step.is_some() && fine < MINUTE && oldest < range.to;
        let is_thinned = !is_kept_to && self.has_minutes(about, range.from..thinned_until)?;
        Ok(if is_thinned { coarse } else { fine })
    }

    fn has_minutes(&self, about: &About, range: std::ops::Range<Timestamp>) -> Result<bool, QueryError> {
        Ok(range.start < range.end && !self.ask(|store| read::minutes(store, about.key, range))?.is_empty())
    }

    /// Returns the moment of the first sample of the series, or that of the range if there is an earlier one.
    fn first(&self, about: &About, range: TimeRange, memory: Option<Timestamp>) -> Result<Timestamp, QueryError> {
        if memory.is_some_and(|first| first <= range.from) {
            return Ok(range.from);
        }
        let stored = self.ask(|store| read::first_label_of(store, about.key))?;
        Ok(stored.into_iter().chain(memory).min().unwrap_or(range.to))
    }

    /// Reads means from the store: from minute means if they are fine enough, from samples otherwise.
    fn older(&self, about: &About, range: TimeRange, bucket: Duration) -> Result<Vec<Mean>, QueryError> {
        let is_coarse = (bucket.as_nanos()).is_multiple_of(MINUTE.as_nanos());
        let (oldest, made_until) = self.ask(read::extent)?;
        let until =
            if is_coarse { made_until.min(range.to) } else { oldest.map_or(range.from, minute_of).min(range.to) };
        let (thin, fine) = (range.from..minute_of(until).max(range.from), minute_of(until).max(range.from)..range.to);
        check_look_ups(TimeRange { from: fine.start, to: fine.end }, about.step)?;
        self.ask(|store| {
            let mut means = if is_coarse { read::minutes(store, about.key, thin.clone())? } else { Vec::new() };
            means.extend(read::samples(store, about.key, about.step, fine.clone())?);
            Ok(means)
        })
    }

    fn ask<T>(&self, ask: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>) -> Result<T, QueryError> {
        self.store.read(ask).map_err(|problem| QueryError::StoreUnavailable { problem })
    }
}

/// `length`, rounded up to a whole multiple of `step`, at least one.
fn whole(length: Duration, step: Duration) -> Duration {
    let n = length.as_nanos().div_ceil(step.as_nanos()).max(1);
    times(step, u64::try_from(n).unwrap_or(u64::MAX))
}

fn check_values(n: u64) -> Result<(), QueryError> {
    if n <= VALUES_MAX { Ok(()) } else { Err(QueryError::TooManyPoints { n, max: VALUES_MAX }) }
}

fn check_look_ups(range: TimeRange, step: Duration) -> Result<(), QueryError> {
    let n = n_steps(range.from, range.to, step);
    if n <= LOOK_UPS_MAX { Ok(()) } else { Err(QueryError::TooManyPoints { n, max: LOOK_UPS_MAX }) }
}

pub(super) fn n_steps(from: Timestamp, to: Timestamp, step: Duration) -> u64 {
    u64::try_from(steps_within(to.saturating_since(from), step)).unwrap_or(u64::MAX)
}

/// Means over stretches of the same length, filled from means of shorter ones.
struct Buckets {
    start: Timestamp,
    length: Duration,
    sums: Vec<(f64, u64)>,
}

impl Buckets {
    /// The first bucket begins on a whole multiple of `length`, not before the range does.
    fn new(range: TimeRange, length: Duration) -> Result<Self, QueryError> {
        let start = ceil_to(range.from, length);
        let n = n_steps(start, range.to, length);
        check_values(n)?;
        Ok(Self { start, length, sums: vec![(0.0, 0); n as usize] })
    }

    fn add(&mut self, mean: Mean) {
        if mean.time < self.start {
            return;
        }
        let idx = mean.time.saturating_since(self.start).as_nanos() / self.length.as_nanos();
        if let Some((sum, n)) = usize::try_from(idx).ok().and_then(|idx| self.sums.get_mut(idx)) {
            *sum += mean.mean * f64::from(mean.n);
            *n += u64::from(mean.n);
        }
    }

    /// Nothing at all when every bucket is empty.
    fn finish(self) -> Vec<Option<f64>> {
        if self.sums.iter().all(|(_, n)| *n == 0) {
            return Vec::new();
        }
        self.sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / n as f64)).collect()
    }
}
