//! What was measured and what was said, from memory and from the store.

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

/// What is in memory of a series, or the moment that it would begin at.
struct Recent {
    start: Timestamp,
    samples: Vec<Mean>,
}

impl Hub {
    /// Samples, or means over buckets of `step`. Blocks while the store is read, if memory does not reach back far
    /// enough.
    pub(crate) fn samples(
        &self,
        id: &str,
        range: TimeRange,
        step: Option<Duration>,
    ) -> Result<api::Samples, QueryError> {
        let (about, recent) = self.recent(id, range)?;
        let bucket = match step {
            Some(step) => check_bucket(step, about.step)?,
            None => self.default_bucket(&about, range, recent.start)?,
        };
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
        let Some((start, kept)) = entry.live.kept() else {
            return Ok((about, Recent { start: range.to, samples: Vec::new() }));
        };
        let from = range.from.max(start);
        let n_passed = steps_within(from.saturating_since(start), about.step).min(kept.len() as u128) as usize;
        let labelled = kept.iter().enumerate().skip(n_passed);
        let samples: Vec<Mean> = labelled
            .map(|(idx, mean)| Mean { time: start + times(about.step, idx as u64), mean: *mean, n: 1 })
            .take_while(|sample| sample.time < range.to)
            .filter(|sample| !sample.mean.is_nan())
            .collect();
        Ok((about, Recent { start, samples }))
    }

    /// As sampled, unless the range begins where only minute means are left.
    fn default_bucket(&self, about: &About, range: TimeRange, memory: Timestamp) -> Result<Duration, QueryError> {
        if range.from >= memory || about.step >= MINUTE {
            return Ok(about.step);
        }
        let (oldest, _) = self.ask(read::extent)?;
        let is_thinned =
            oldest.is_none_or(|oldest| range.from < minute_of(oldest)) && self.has_minutes(about, range)?;
        Ok(if is_thinned { MINUTE } else { about.step })
    }

    fn has_minutes(&self, about: &About, range: TimeRange) -> Result<bool, QueryError> {
        let until = self.ask(read::extent)?.0.unwrap_or(range.to).min(range.to);
        Ok(!self.ask(|store| read::minutes(store, about.key, range.from..until))?.is_empty())
    }

    /// From the store: from minute means where they are fine enough, from samples else.
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

fn check_bucket(bucket: Duration, step: Duration) -> Result<Duration, QueryError> {
    if !bucket.is_zero() && bucket.as_nanos().is_multiple_of(step.as_nanos()) {
        return Ok(bucket);
    }
    let (bucket, step) = (span::format(bucket), span::format(step));
    let message = format!("step `{bucket}` is not a whole multiple of the series' own step ({step})");
    Err(QueryError::BadParameter { field: "step", message })
}

fn check_values(n: u64) -> Result<(), QueryError> {
    if n <= VALUES_MAX { Ok(()) } else { Err(QueryError::TooManyPoints { n, max: VALUES_MAX }) }
}

fn check_look_ups(range: TimeRange, step: Duration) -> Result<(), QueryError> {
    let n = n_steps(range.from, range.to, step);
    if n <= LOOK_UPS_MAX { Ok(()) } else { Err(QueryError::TooManyPoints { n, max: LOOK_UPS_MAX }) }
}

fn n_steps(from: Timestamp, to: Timestamp, step: Duration) -> u64 {
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
