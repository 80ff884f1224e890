//! Hours and days ahead, from what the store holds: nothing of it is kept between questions.

use std::time::Duration;

use picture::Picture;
use predict::Scale;
use statistics::Interval;
use units::{Confidence, span};
use warn::{Answer, Expression, FirstPassage, Question, Statement, View, no_sample_since};

use super::history::TimeRange;
use super::past::{Past, Pasts, bad};
use super::{Hub, QueryError};
use crate::api;
use crate::schedule::times;

/// Paths are drawn from this, so that the same question at the same moment has the same answer.
pub(super) const SEED: u64 = 1;

/// A statement about a series, and the time that it is about.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) statement: Statement,
    pub(crate) within: Duration,
    /// Time for which the statement has to hold.
    pub(crate) lasting: Option<Duration>,
    pub(crate) seasons: api::Seasons,
}

impl Hub {
    /// Medians and bounds of every step up to `horizon`. Blocks while the store is read.
    pub(crate) fn outlook(
        &self,
        id: &str,
        horizon: Duration,
        confidence: Confidence,
        seasons: api::Seasons,
    ) -> Result<api::Outlook, QueryError> {
        let past = self.past(id, horizon, "horizon")?.with(seasons);
        let outlook = self.expected(&past)?;
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
            no_sample_since: self.no_sample_since(&Expression::from(&*past.id), self.now()),
            seen_seconds: past.seconds(outlook.n_leads_seen().min(past.n_leads)),
            season_ratio: outlook.season_weight(),
            seasons: past.seasons(&outlook.found()),
            scale: match outlook.scale() {
                Scale::Log => api::Scale::Log,
                Scale::Logit => api::Scale::Logit,
                _ => api::Scale::Linear,
            },
            id: past.id,
            unit: past.unit,
        })
    }

    /// Returns the forecasts of the steps in a range that would have been made a time before. Blocks while the store is
    /// read.
    pub(crate) fn hindcast(
        &self,
        id: &str,
        lead: Duration,
        confidence: Confidence,
        range: TimeRange,
    ) -> Result<api::Hindcast, QueryError> {
        let past = self.past(id, lead, "lead")?;
        let steps = past.steps_in(range);
        let mut outlook = past.frame().outlook(past.n_leads);
        let mut said = vec![None; steps.len()];
        for (idx, sample) in past.samples.iter().enumerate() {
            outlook.step(*sample);
            let ahead = idx + past.n_leads;
            if steps.contains(&ahead) {
                said[ahead - steps.start] = outlook.forecast_at(past.n_leads, confidence);
            }
        }
        let came = said.iter().zip(&past.samples[steps.clone()]);
        let due =
            || came.clone().filter_map(|(said, came)| said.filter(|_| !came.is_nan()).map(|(_, ends)| (ends, came)));
        let widths: Vec<f64> = due().map(|(ends, _)| ends.upper - ends.lower).collect();
        let (n, n_held) = (widths.len(), due().filter(|(ends, came)| ends.contains(**came)).count());
        let each = |of: fn(&(f64, Interval)) -> f64| said.iter().map(|said| said.as_ref().map(of)).collect();
        Ok(api::Hindcast {
            lead_seconds: past.seconds(past.n_leads),
            step_seconds: past.step.as_secs_f64(),
            confidence: confidence.probability(),
            start: past.start + times(past.step, steps.start as u64),
            median: each(|(median, _)| *median),
            lower: each(|(_, ends)| ends.lower),
            upper: each(|(_, ends)| ends.upper),
            n,
            held_ratio: (n > 0).then(|| n_held as f64 / n as f64),
            median_width: statistics::median(&widths),
            id: past.id,
            unit: past.unit,
        })
    }

    /// Returns the outlook after a past. It agrees with the outlooks in longer and shorter steps.
    fn expected(&self, past: &Past) -> Result<predict::Outlook, QueryError> {
        let mut levels = Vec::new();
        for step in warn::levels(self.own_step(&past.id)?) {
            levels.extend(if step == past.step { Some(past.clone()) } else { self.beside(past, step)? });
        }
        let Some(idx) = levels.iter().position(|level| level.step == past.step) else { return Ok(past.outlook()) };
        let shorter = [None].into_iter().chain(levels.iter().map(|level| Some(level.step)));
        let resolutions = levels.iter().zip(shorter).map(|(level, shorter)| level.resolution(shorter)).collect();
        Ok(predict::agreeing(resolutions).swap_remove(idx))
    }

    /// Reads a statement, in which names of series that exist need no quotes.
    pub(crate) fn statement(&self, text: &str) -> Result<Statement, QueryError> {
        let list: Vec<_> = self.engine().entries().map(|entry| entry.about.clone()).collect();
        let names: Vec<String> =
            list.iter().flat_map(|about| [about.id.to_string()].into_iter().chain(about.aliases())).collect();
        Statement::read(text, names.iter().map(String::as_str)).map_err(|error| bad("statement", error.to_string()))
    }

    /// Returns the probability of a statement. Blocks while the store is read.
    pub(crate) fn probability(&self, asked: &Asked) -> Result<api::Probability, QueryError> {
        let (past, question) = self.question(asked)?;
        let Asked { statement, lasting, .. } = asked;
        let (answer, passage) = self.answer(asked, &past, &question)?;
        // A ratio is not known while its divisor is 0, though its signals are.
        let (now, step) = (self.now(), past.step());
        let unknown = || no_sample_since(past.last().0 + step, step, now);
        let [p10_seconds, p50_seconds, p90_seconds] = [0.1, 0.5, 0.9].map(|share| {
            let time = passage.quantile(share).filter(|_| question.is_of_one());
            time.map(|time| time.as_secs_f64())
        });
        Ok(api::Probability {
            statement: statement.to_string(),
            line: question.line,
            origin: past.origin(),
            step_seconds: past.step().as_secs_f64(),
            within_seconds: past.seconds(past.n_leads()),
            for_seconds: lasting.map(|_| past.seconds(question.n_sustained)),
            probability: passage.probability(),
            after: api::Passage { p10_seconds, p50_seconds, p90_seconds },
            history_seconds: past.seconds(past.n_steps()),
            no_sample_since: self.no_sample_since(&statement.of, now).or_else(unknown),
            seasons: past.seasons(&answer.seasons),
            record: told(&answer.record),
            id: past.id(),
            unit: past.unit,
        })
    }

    /// Draws the past, the forecast and the line that a statement asks about. The picture has the probability that
    /// others were told, if they were. Blocks while the store is read.
    pub(crate) fn picture(&self, asked: &Asked, told: Option<f64>) -> Result<Picture, QueryError> {
        let (past, question) = self.question(asked)?;
        let (answer, passage) = self.answer(asked, &past, &question)?;
        let Asked { statement, within, lasting, .. } = asked;
        let now = past.origin() + past.step();
        let known: Vec<f64> = (0..past.n_steps()).map(|idx| past.value(idx)).collect();
        let view = View {
            title: &warn::says(statement, *within, *lasting, told.unwrap_or(passage.probability())),
            caption: &format!("{}, {now}; means over {}", self.info().host, span::format(past.step())),
            unit: &past.unit,
            step: past.step(),
            known: &known,
            futures: &answer.futures,
            line: question.line,
        };
        Ok(view.picture())
    }

    /// Answers a question from the outlook of the rule that asks it, if there is one. Else the answer is from the past,
    /// and up to the horizon of its shorter steps from these.
    fn answer(&self, asked: &Asked, past: &Pasts, question: &Question) -> Result<(Answer, FirstPassage), QueryError> {
        let Asked { statement, within, seasons, .. } = asked;
        let of_rule = match seasons {
            api::Seasons::Learned => self.lookout().answer(self, &statement.of, *within, question),
            api::Seasons::Off => None,
        };
        let has_shorter = of_rule.is_none() && question.is_of_one();
        let answer = of_rule.or_else(|| warn::ask(past.history(), question, SEED)).ok_or_else(|| past.too_young())?;
        let passage = FirstPassage::of(&answer, question, past.step());
        let passage = match has_shorter.then(|| self.nearer(asked, past.step())).flatten() {
            Some((nearer, until)) => passage.after(&nearer, until),
            None => passage,
        };
        Ok((answer, passage))
    }

    /// Returns the answer of the next shorter step than `step` about the time up to its horizon; `None` if there is no
    /// such step, or if the question cannot be asked in it: too little is known, or all its values are on one side of
    /// the line.
    fn nearer(&self, asked: &Asked, step: Duration) -> Option<(FirstPassage, Duration)> {
        let own = self.longest(&asked.statement.of, |id| self.own_step(id)).ok()?;
        let (shorter, until) = warn::nearer(own, step, asked.within)?;
        let asked = Asked { within: until, ..asked.clone() };
        let past = self.pasts_in(&asked.statement.of, shorter, until).ok()?.with(asked.seasons);
        if past.step() != shorter {
            return None;
        }
        let question = past.question(&asked.statement, until, asked.lasting).ok()?;
        self.answer(&asked, &past, &question).ok().map(|(_, passage)| (passage, until))
    }

    /// Returns the known past of a statement's signals, and the question about it.
    fn question(&self, asked: &Asked) -> Result<(Pasts, Question), QueryError> {
        let Asked { statement, within, lasting, seasons } = asked;
        let past = self.pasts_even_if_young(&statement.of, *within)?.with(*seasons);
        let question = past.question(statement, *within, *lasting)?;
        Ok((past, question))
    }
}

fn told(record: &predict::Record) -> api::Record {
    let bin = |bin: predict::Bin| api::RecordBin { n: bin.n, stated_ratio: bin.stated, true_ratio: bin.came };
    api::Record {
        n: record.n(),
        n_true: record.n_true(),
        brier: record.tells().then(|| record.brier()),
        base_rate_brier: record.tells().then(|| record.brier_of_base_rate()),
        bins: record.bins().into_iter().map(bin).collect(),
    }
}
