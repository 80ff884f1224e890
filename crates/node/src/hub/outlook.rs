//! Hours and days ahead, from what the store holds: nothing of it is kept between questions.

use std::time::Duration;

use predict::Periods;
use units::{Confidence, Timestamp, span};
use warn::{HORIZON_MAX, History, Question, QuestionError, Statement, n_steps};

use super::history::TimeRange;
use super::{Hub, QueryError, unknown};
use crate::api;
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
struct Past {
    id: String,
    unit: String,
    range: (f64, f64),
    step: Duration,
    /// NaN for a gap; the first is known.
    samples: Vec<f64>,
    /// Where the last step begins.
    origin: Timestamp,
    n_leads: usize,
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
        let mut outlook = predict::Outlook::new(past.periods(), past.n_leads).within(past.range.0, past.range.1);
        past.samples.iter().for_each(|sample| outlook.step(*sample));
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
        let [p10_seconds, p50_seconds, p90_seconds] = answer.leads.map(|lead| lead.map(|lead| past.seconds(lead)));
        Ok(api::Probability {
            statement: statement.to_string(),
            line: question.line,
            origin: past.origin,
            step_seconds: past.step.as_secs_f64(),
            within_seconds: past.seconds(past.n_leads),
            for_seconds: lasting.map(|_| past.seconds(question.n_sustained)),
            probability: answer.probability,
            after: api::Passage { p10_seconds, p50_seconds, p90_seconds },
            history_seconds: past.seconds(past.samples.len()),
            record: told(&answer.record),
            id: past.id,
            unit: past.unit,
        })
    }

    /// What is known of a series, in steps that suit a horizon.
    fn past(&self, id: &str, horizon: Duration, field: &'static str) -> Result<Past, QueryError> {
        let (own, range) = {
            let engine = self.engine();
            let entry = engine.get(id).ok_or_else(|| unknown(id))?;
            (entry.about.step, entry.about.range())
        };
        if horizon.is_zero() || horizon > HORIZON_MAX {
            let message = format!("`{field}` is {}; it must be above 0 and at most 14d", span::format(horizon));
            return Err(bad(field, message));
        }
        let step = warn::step(own, horizon);
        // The step that is under way is no whole mean yet.
        let now = self.now();
        let to = if step == own { now + Duration::from_nanos(1) } else { now.floor_to(step) };
        let from = to - warn::past(step);
        let told = self.samples(id, TimeRange { from, to }, Some(step))?;
        let step = Duration::from_secs_f64(told.step_seconds);
        let n_gaps = told.values.iter().take_while(|value| value.is_none()).count();
        let samples: Vec<f64> = told.values[n_gaps..].iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        let or_endless = |end: Option<f64>, endless: f64| end.unwrap_or(endless);
        let past = Past {
            id: told.id,
            unit: told.unit,
            range: (or_endless(range.min, f64::NEG_INFINITY), or_endless(range.max, f64::INFINITY)),
            step,
            origin: told.start + times(step, (told.values.len() as u64).saturating_sub(1)),
            n_leads: n_steps(horizon, step).max(1) as usize,
            samples,
        };
        if past.samples.is_empty() { Err(past.too_young()) } else { Ok(past) }
    }
}

impl Past {
    fn periods(&self) -> Periods {
        Periods::day_and_week(self.step)
    }

    fn seconds(&self, n_steps: usize) -> f64 {
        self.step.as_secs_f64() * n_steps as f64
    }

    fn too_young(&self) -> QueryError {
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
