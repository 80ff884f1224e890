//! Hours and days ahead, from what the store holds: nothing of it is kept between questions.

use std::iter;
use std::time::Duration;

use predict::Periods;
use units::{Confidence, Timestamp, span};
use warn::{HORIZON_MAX, History, Question, QuestionError, Statement, n_steps};

use super::history::TimeRange;
use super::{Hub, QueryError, unknown};
use crate::api;
use crate::engine::Entry;
use crate::schedule::times;

/// Known steps without which nothing can be said.
const N_NEEDED: u64 = 4;

/// Paths are drawn from this, so that the same question at the same moment has the same answer.
const SEED: u64 = 1;

/// A statement about a series, and the time that it is about.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) statement: Statement,
    pub(crate) within: Duration,
    /// For how long it has to hold.
    pub(crate) lasting: Option<Duration>,
}

/// The past of a series in even steps.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) id: String,
    pub(crate) unit: String,
    pub(crate) range: (f64, f64),
    pub(crate) step: Duration,
    /// NaN for a gap; the first is known.
    pub(crate) samples: Vec<f64>,
    /// Where the last step begins.
    pub(crate) origin: Timestamp,
    pub(crate) n_leads: usize,
}

impl Hub {
    /// Medians and bounds of every step up to `horizon`. Blocks while the store is read.
    pub(crate) fn outlook(
        &self,
        id: &str,
        horizon: Duration,
        confidence: Confidence,
    ) -> Result<api::Outlook, QueryError> {
        let past = self.past(id, horizon, "horizon")?;
        let outlook = past.outlook();
        let forecast = outlook.forecast(past.n_leads, confidence);
        if forecast.is_empty() {
            return Err(past.too_young());
        }
        Ok(api::Outlook {
            origin: past.origin,
            step_seconds: past.step.as_secs_f64(),
            confidence: confidence.probability(),
            median: forecast.iter().map(|(median, _)| *median).collect(),
            lower: forecast.iter().map(|(_, ends)| ends.lower).collect(),
            upper: forecast.iter().map(|(_, ends)| ends.upper).collect(),
            history_seconds: past.seconds(past.samples.len()),
            seen_seconds: past.seconds(outlook.n_leads_seen()),
            season_ratio: outlook.season_weight(),
            id: past.id,
            unit: past.unit,
        })
    }

    /// How probable a statement is. Blocks while the store is read.
    pub(crate) fn probability(&self, asked: &Asked) -> Result<api::Probability, QueryError> {
        let Asked { statement, within, lasting } = asked;
        let past = self.past(&statement.signal, *within, "within")?;
        let question = Question::of(statement, &past.unit, *within, *lasting, past.step).map_err(|error| {
            let field = if matches!(error, QuestionError::Statement(_)) { "statement" } else { "for" };
            bad(field, error.to_string())
        })?;
        let history = History { samples: &past.samples, periods: past.periods(), range: past.range };
        let answer = warn::ask(history, &question, SEED).ok_or_else(|| past.too_young())?;
        let [p10_seconds, p50_seconds, p90_seconds] =
            answer.chance.leads.map(|lead| lead.map(|lead| past.seconds(lead)));
        Ok(api::Probability {
            statement: statement.to_string(),
            line: question.line,
            origin: past.origin,
            step_seconds: past.step.as_secs_f64(),
            within_seconds: past.seconds(past.n_leads),
            for_seconds: lasting.map(|_| past.seconds(question.n_sustained)),
            probability: answer.chance.probability,
            after: api::Passage { p10_seconds, p50_seconds, p90_seconds },
            history_seconds: past.seconds(past.samples.len()),
            record: told(&answer.record),
            id: past.id,
            unit: past.unit,
        })
    }

    /// What is known of a series, in steps that suit a horizon.
    pub(crate) fn past(&self, id: &str, horizon: Duration, field: &'static str) -> Result<Past, QueryError> {
        let own = self.engine().get(id).ok_or_else(|| unknown(id))?.about.step;
        if horizon.is_zero() || horizon > HORIZON_MAX {
            let message = format!("`{field}` is {}; it must be above 0 and at most 14d", span::format(horizon));
            return Err(bad(field, message));
        }
        self.past_in(id, warn::step(own, horizon), horizon)
    }

    /// What is known of a series in steps of `step`, or longer ones where the store has nothing finer.
    pub(crate) fn past_in(&self, id: &str, step: Duration, horizon: Duration) -> Result<Past, QueryError> {
        let (to, range) = {
            let engine = self.engine();
            let entry = engine.get(id).ok_or_else(|| unknown(id))?;
            (self.last_end(entry, step), entry.about.range())
        };
        let from = to - warn::past(step);
        let told = self.samples(id, TimeRange { from, to }, Some(step))?;
        let step = Duration::from_secs_f64(told.step_seconds);
        let n_gaps = told.values.iter().take_while(|value| value.is_none()).count();
        let or_endless = |end: Option<f64>, endless: f64| end.unwrap_or(endless);
        let past = Past {
            id: told.id,
            unit: told.unit,
            range: (or_endless(range.min, f64::NEG_INFINITY), or_endless(range.max, f64::INFINITY)),
            step,
            origin: told.start + times(step, (told.values.len() as u64).saturating_sub(1)),
            n_leads: n_steps(horizon, step).max(1) as usize,
            samples: told.values[n_gaps..].iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
        };
        if past.samples.is_empty() { Err(past.too_young()) } else { Ok(past) }
    }

    /// The steps of a series that begin at `from` or later and are over, NaN for a gap; `None` where the store has none that begin
    /// there.
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

    /// Where the last step ends that is over. One whose samples are late by less than two of the series' own steps is not.
    fn last_end(&self, entry: &Entry, step: Duration) -> Timestamp {
        let (own, now) = (entry.about.step, self.now());
        let last = entry.last().map_or(now, |last| last.max(now - own.saturating_mul(3)).min(now));
        // The step that is under way is no whole mean yet.
        if step == own { last + Duration::from_nanos(1) } else { (last + own).min(now).floor_to(step) }
    }
}

impl Past {
    /// What is to be expected after it.
    pub(crate) fn outlook(&self) -> predict::Outlook {
        let mut outlook = predict::Outlook::new(self.periods(), self.n_leads).within(self.range.0, self.range.1);
        self.samples.iter().for_each(|sample| outlook.step(*sample));
        outlook
    }

    fn periods(&self) -> Periods {
        Periods::day_and_week(self.step)
    }

    fn seconds(&self, n_steps: usize) -> f64 {
        self.step.as_secs_f64() * n_steps as f64
    }

    pub(crate) fn too_young(&self) -> QueryError {
        let n_known = self.samples.iter().filter(|sample| !sample.is_nan()).count() as u64;
        QueryError::TooYoung {
            id: self.id.clone(),
            horizon: times(self.step, self.n_leads as u64),
            step: self.step,
            have: times(self.step, n_known),
            need: times(self.step, N_NEEDED),
        }
    }
}

fn told(record: &warn::Record) -> api::Record {
    let bin = |bin: warn::Bin| api::RecordBin { n: bin.n, stated_ratio: bin.stated, true_ratio: bin.came };
    api::Record {
        n: record.n(),
        n_true: record.n_true(),
        brier: record.tells().then(|| record.brier()),
        base_rate_brier: record.tells().then(|| record.brier_of_base_rate()),
        bins: record.bins().into_iter().map(bin).collect(),
    }
}

fn bad(field: &'static str, message: String) -> QueryError {
    QueryError::BadParameter { field, message }
}
