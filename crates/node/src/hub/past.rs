//! The past of series in even steps, as outlooks take it from the store.

use std::iter;
use std::ops::Range;
use std::time::Duration;

use predict::{Calendar, FoundSeason, Resolution};
use units::{Timestamp, span};
use warn::{Expression, Foresight, Frame, HORIZON_MAX, History, Question, QuestionError, Statement, n_steps};

use super::history::TimeRange;
use super::{Hub, QueryError, unknown};
use crate::api;
use crate::engine::Entry;
use crate::schedule::times;

/// Known steps without which nothing can be said.
const N_NEEDED: usize = 4;

/// The range of a quantity without limits.
pub(super) const ENDLESS: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// The past of a series in even steps.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) id: String,
    pub(crate) unit: String,
    pub(crate) range: (f64, f64),
    pub(crate) step: Duration,
    /// The days that it follows; `None` where it is to have no season.
    pub(crate) calendar: Option<Calendar>,
    /// Start of the first step.
    pub(crate) start: Timestamp,
    /// The largest number of steps that are looked at.
    n_steps_max: usize,
    /// NaN for a gap; the first is known.
    pub(crate) samples: Vec<f64>,
    /// Start of the last step.
    pub(crate) origin: Timestamp,
    pub(crate) n_leads: usize,
}

/// The past of the signals of an expression, in even steps that are the same for all.
#[derive(Debug)]
pub(crate) struct Pasts {
    pub(crate) of: Expression,
    /// The unit of the expression.
    pub(crate) unit: String,
    /// The least and the greatest that it can be: known of a signal alone.
    pub(crate) range: (f64, f64),
    /// One for each signal, in their order.
    parts: Vec<Past>,
    /// The samples of each signal.
    pub(crate) samples: Vec<Vec<f64>>,
}

impl Hub {
    /// Returns the known past of the signals of an expression, in the same steps.
    pub(crate) fn pasts(&self, of: &Expression, within: Duration) -> Result<Pasts, QueryError> {
        self.pasts_in(of, self.longest(of, |id| self.step_for(id, within, "within"))?, within)
    }

    /// The same for one answer: in shorter steps as long as too few of those are known.
    pub(crate) fn pasts_even_if_young(&self, of: &Expression, within: Duration) -> Result<Pasts, QueryError> {
        let own = self.longest(of, |id| self.own_step(id))?;
        let step = self.longest(of, |id| self.step_for(id, within, "within"))?;
        even_if_young(own, within, step, |step| self.pasts_in(of, step, within), Pasts::n_known)
    }

    /// The longest of what the signals of an expression have.
    pub(super) fn longest(
        &self,
        of: &Expression,
        step_of: impl Fn(&str) -> Result<Duration, QueryError>,
    ) -> Result<Duration, QueryError> {
        of.signals().iter().try_fold(Duration::ZERO, |longest, id| Ok(longest.max(step_of(id)?)))
    }

    /// The same in steps of `step`, or in longer ones if there are no others that all signals have in common.
    pub(super) fn pasts_in(&self, of: &Expression, mut step: Duration, within: Duration) -> Result<Pasts, QueryError> {
        loop {
            let parts = of.signals().iter().map(|id| self.past_in(id, step, within)).collect::<Result<Vec<_>, _>>()?;
            if let Some(parts) = aligned(parts) {
                let units: Vec<&str> = parts.iter().map(|past| &*past.unit).collect();
                let unit = of.unit(&units).map_err(|error| bad("statement", error.to_string()))?;
                let range = if of.is_signal() { parts[0].range } else { ENDLESS };
                return Ok(Pasts {
                    range,
                    samples: parts.iter().map(|past| past.samples.clone()).collect(),
                    parts,
                    unit,
                    of: of.clone(),
                });
            }
            // Steps of their own may begin at other moments; longer ones are the same for all.
            step = warn::longer(step).ok_or_else(|| {
                let message =
                    format!("there are no steps in which the store has all signals of `{of}` at the same time");
                bad("statement", message)
            })?;
        }
    }

    /// Returns the known past of a series, in steps that suit a horizon, or in shorter ones as long as too few of those
    /// are known.
    pub(crate) fn past(&self, id: &str, horizon: Duration, field: &'static str) -> Result<Past, QueryError> {
        let step = self.step_for(id, horizon, field)?;
        even_if_young(self.own_step(id)?, horizon, step, |step| self.past_in(id, step, horizon), Past::n_known)
    }

    /// The steps in which a series is looked at for a horizon.
    pub(super) fn step_for(&self, id: &str, horizon: Duration, field: &'static str) -> Result<Duration, QueryError> {
        let own = self.own_step(id)?;
        if horizon.is_zero() || horizon > HORIZON_MAX {
            let message = format!("`{field}` is {}; it must be above 0 and at most 14d", span::format(horizon));
            return Err(bad(field, message));
        }
        Ok(warn::step(own, horizon))
    }

    pub(super) fn own_step(&self, id: &str) -> Result<Duration, QueryError> {
        Ok(self.engine().get(id).ok_or_else(|| unknown(id))?.about.step)
    }

    /// Returns the known past of a series in steps of `step`, or in longer ones if the store has nothing finer.
    pub(crate) fn past_in(&self, id: &str, step: Duration, horizon: Duration) -> Result<Past, QueryError> {
        self.past_over(id, step, horizon, warn::past(step))
    }

    /// The same, of the last `length`.
    fn past_over(&self, id: &str, step: Duration, horizon: Duration, length: Duration) -> Result<Past, QueryError> {
        let (to, about) = {
            let engine = self.engine();
            let entry = engine.get(id).ok_or_else(|| unknown(id))?;
            (self.last_end(entry, step), entry.about.clone())
        };
        let from = to - length;
        let told = self.samples(id, TimeRange { from, to }, Some(step))?;
        let step = Duration::from_secs_f64(told.step_seconds);
        let calendar = self.facts.outlooks.calendar_of(&told.id).cloned();
        let n_gaps = told.values.iter().take_while(|value| value.is_none()).count();
        let range = about.range_of(told.values.iter().flatten().copied());
        let past = Past {
            id: told.id,
            unit: told.unit,
            range: ends(range),
            step,
            n_steps_max: n_steps(length, step) as usize,
            calendar,
            start: told.start + times(step, n_gaps as u64),
            origin: told.start + times(step, (told.values.len() as u64).saturating_sub(1)),
            n_leads: n_steps(horizon, step).max(1) as usize,
            samples: told.values[n_gaps..].iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
        };
        if past.samples.is_empty() { Err(past.too_young()) } else { Ok(past) }
    }

    /// The past of the same series in steps of another length; `None` where the store has none as short, or none as
    /// long yet.
    pub(super) fn beside(&self, past: &Past, step: Duration) -> Result<Option<Past>, QueryError> {
        match self.past_over(&past.id, step, step, warn::past_beside(step)) {
            Ok(beside) => Ok((beside.step == step).then(|| Past { calendar: past.calendar.clone(), ..beside })),
            Err(QueryError::TooYoung { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The steps of a series that begin at `from` or later and are over, NaN for a gap; `None` where the store has none
    /// that begin there.
    pub(crate) fn steps_since(
        &self,
        id: &str,
        from: Timestamp,
        step: Duration,
    ) -> Result<Option<Vec<f64>>, QueryError> {
        let to = self.last_end(self.engine().get(id).ok_or_else(|| unknown(id))?, step);
        if to <= from {
            return Ok(Some(Vec::new()));
        }
        let told = self.samples(id, TimeRange { from, to }, Some(step))?;
        let is_next = told.start == from && Duration::from_secs_f64(told.step_seconds) == step;
        let values = told.values.into_iter().map(|value| value.unwrap_or(f64::NAN));
        // Where nothing is known there are no values.
        let n = n_steps(to.saturating_since(from), step) as usize;
        Ok(is_next.then(|| values.chain(iter::repeat(f64::NAN)).take(n).collect()))
    }

    /// Returns the end of the last step that is over. A step whose samples are late by less than two of the series' own
    /// steps is not over.
    fn last_end(&self, entry: &Entry, step: Duration) -> Timestamp {
        let (own, now) = (entry.about.step, self.now());
        let last = entry.last().map_or(now, |last| last.max(now - own.saturating_mul(3)).min(now));
        // The step that is under way is no whole mean yet.
        if step == own { last + Duration::from_nanos(1) } else { (last + own).min(now).floor_to(step) }
    }
}

/// The past of what is sampled every `own`, in steps of this length, or in the longest shorter ones of which enough are
/// known to say anything; if there are none, in the shortest.
fn even_if_young<T>(
    own: Duration,
    horizon: Duration,
    mut step: Duration,
    past_in: impl Fn(Duration) -> Result<T, QueryError>,
    n_known: impl Fn(&T) -> usize,
) -> Result<T, QueryError> {
    loop {
        let past = past_in(step);
        let is_young = match &past {
            Ok(past) => n_known(past) < N_NEEDED,
            Err(error) => matches!(error, QueryError::TooYoung { .. }),
        };
        match warn::shorter(own, step, horizon).filter(|_| is_young) {
            Some(shorter) => step = shorter,
            None => return past,
        }
    }
}

/// The pasts of several series over the time in which all are known; `None` where their steps are not the same.
fn aligned(mut parts: Vec<Past>) -> Option<Vec<Past>> {
    let step = parts[0].step;
    let known: Vec<_> = parts.iter().map(|past| (past.start, past.samples.len())).collect();
    let (start, ranges) = warn::in_common(&known, step).filter(|_| parts.iter().all(|past| past.step == step))?;
    for (past, range) in parts.iter_mut().zip(ranges) {
        (past.start, past.origin) = (start, start + times(step, (range.len() - 1) as u64));
        past.samples = past.samples[range].to_vec();
    }
    Some(parts)
}

impl Pasts {
    /// Builds the past of a series alone.
    pub(crate) fn of(past: Past) -> Self {
        let (of, unit, samples) = (Expression::from(&*past.id), past.unit.clone(), vec![past.samples.clone()]);
        Self { of, unit, range: past.range, samples, parts: vec![past] }
    }

    pub(crate) fn step(&self) -> Duration {
        self.parts[0].step
    }

    /// Returns the start of the last step.
    pub(crate) fn origin(&self) -> Timestamp {
        self.parts[0].origin
    }

    pub(crate) fn n_leads(&self) -> usize {
        self.parts[0].n_leads
    }

    /// Returns the foresight of the expression, before the first step.
    fn blank(&self) -> Foresight {
        let outlook = |past: &Past| past.frame().outlook(past.n_leads);
        Foresight::new(self.of.clone(), self.parts.iter().map(outlook).collect())
    }

    /// Returns the value of the expression at a step.
    pub(super) fn value(&self, idx: usize) -> f64 {
        self.of.value(&self.samples.iter().map(|samples| samples[idx]).collect::<Vec<_>>())
    }

    /// Returns the start of the last step at which the expression was known, and its value there; if it never was
    /// known, the step before the first, and NaN.
    pub(crate) fn last(&self) -> (Timestamp, f64) {
        let known = (0..self.n_steps()).rev().map(|idx| self.value(idx)).zip(0..).find(|(value, _)| !value.is_nan());
        let (value, age) = known.unwrap_or((f64::NAN, self.n_steps() as u64));
        (self.origin() - times(self.step(), age), value)
    }

    /// Returns the seasons as the HTTP interface shows them.
    pub(super) fn seasons(&self, found: &[FoundSeason]) -> Vec<api::Season> {
        self.parts[0].seasons(found)
    }

    /// Returns the samples with the foresight of the expression, before the first step.
    pub(crate) fn history(&self) -> History<'_> {
        History { samples: &self.samples, foresight: self.blank() }
    }

    /// Whether a statement about the expression comes true.
    pub(crate) fn question(
        &self,
        statement: &Statement,
        within: Duration,
        lasting: Option<Duration>,
    ) -> Result<Question, QueryError> {
        Question::of(statement, &self.unit, self.range, within, lasting, self.step()).map_err(no_question)
    }

    /// The series' full name, or the expression.
    pub(super) fn id(&self) -> String {
        if self.of.is_signal() { self.parts[0].id.clone() } else { self.of.to_string() }
    }

    pub(crate) fn n_steps(&self) -> usize {
        self.parts[0].samples.len()
    }

    pub(super) fn with(self, seasons: api::Seasons) -> Self {
        Self { parts: self.parts.into_iter().map(|past| past.with(seasons)).collect(), ..self }
    }

    pub(super) fn seconds(&self, n_steps: usize) -> f64 {
        self.parts[0].seconds(n_steps)
    }

    /// Known steps of the signal of which the fewest are.
    fn n_known(&self) -> usize {
        self.youngest().n_known()
    }

    fn youngest(&self) -> &Past {
        self.parts.iter().min_by_key(|past| past.n_known()).expect("an expression has a signal")
    }

    pub(super) fn too_young(&self) -> QueryError {
        self.youngest().too_young()
    }
}

impl Past {
    /// Returns the outlook after the past.
    pub(crate) fn outlook(&self) -> predict::Outlook {
        let mut outlook = self.frame().outlook(self.n_leads);
        self.samples.iter().for_each(|sample| outlook.step(*sample));
        outlook
    }

    /// Returns the past as one resolution beside steps of other lengths, the next shorter of which is given.
    pub(super) fn resolution(&self, shorter: Option<Duration>) -> Resolution {
        let n_in = |length: Duration, step: Duration| length.as_nanos() / step.as_nanos().max(1);
        let since_epoch = self.start.saturating_since(Timestamp::from_nanos(0)) + self.step / 2;
        Resolution {
            outlook: self.frame().outlook(self.n_leads.max(warn::N_LEADS_MAX)),
            samples: self.samples.clone(),
            n_before: n_in(since_epoch, self.step) as u64,
            ratio: shorter.map_or(1, |shorter| n_in(self.step, shorter) as usize),
        }
    }

    /// The same, without any season if there is to be none.
    pub(super) fn with(self, seasons: api::Seasons) -> Self {
        let calendar = self.calendar.filter(|_| seasons == api::Seasons::Learned);
        Self { calendar, ..self }
    }

    /// Those steps that begin in a range.
    pub(super) fn steps_in(&self, TimeRange { from, to }: TimeRange) -> Range<usize> {
        let n_before = |moment: Timestamp| n_steps(moment.saturating_since(self.start), self.step) as usize;
        let end = n_before(to).min(self.samples.len());
        n_before(from).min(end)..end
    }

    pub(super) fn frame(&self) -> Frame<'_> {
        let Self { start, step, range, n_steps_max: n_steps, ref calendar, .. } = *self;
        Frame { start, step, n_steps, range, calendar: calendar.as_ref() }
    }

    pub(super) fn seasons(&self, found: &[FoundSeason]) -> Vec<api::Season> {
        let told = |season: &FoundSeason| api::Season {
            period_seconds: season.period * self.step.as_secs_f64(),
            explained_ratio: season.share,
        };
        found.iter().map(told).collect()
    }

    pub(super) fn seconds(&self, n_steps: usize) -> f64 {
        self.step.as_secs_f64() * n_steps as f64
    }

    fn n_known(&self) -> usize {
        self.samples.iter().filter(|sample| !sample.is_nan()).count()
    }

    pub(crate) fn too_young(&self) -> QueryError {
        QueryError::TooYoung {
            id: self.id.clone(),
            horizon: times(self.step, self.n_leads as u64),
            step: self.step,
            have: self.n_known(),
            need: N_NEEDED,
        }
    }
}

pub(super) fn ends(range: api::Range) -> (f64, f64) {
    (range.min.unwrap_or(ENDLESS.0), range.max.unwrap_or(ENDLESS.1))
}

/// A statement that makes no question.
pub(super) fn no_question(error: QuestionError) -> QueryError {
    let is_of_statement = matches!(error, QuestionError::Statement(_) | QuestionError::Range { .. });
    bad(if is_of_statement { "statement" } else { "for" }, error.to_string())
}

pub(super) fn bad(field: &'static str, message: String) -> QueryError {
    QueryError::BadParameter { field, message }
}
