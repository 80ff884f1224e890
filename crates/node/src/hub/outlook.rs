//! Hours and days ahead, from what the store holds: nothing of it is kept between questions.

use std::iter;
use std::time::Duration;

use picture::Picture;
use predict::{Calendar, FoundSeason, Resolution, Scale};
use units::{Confidence, Timestamp, span};
use warn::{
    Expression, Foresight, Frame, HORIZON_MAX, History, Question, QuestionError, Rule, Statement, View, n_steps,
};

use super::history::TimeRange;
use super::{Hub, QueryError, unknown};
use crate::api;
use crate::engine::Entry;
use crate::schedule::times;

/// Known steps without which nothing can be said.
const N_NEEDED: usize = 4;

/// A series whose last known step is longer ago than this and three steps is said to be silent.
const SILENCE_MIN: Duration = Duration::from_secs(300);

/// What anything can be.
const ENDLESS: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Paths are drawn from this, so that the same question at the same moment has the same answer.
pub(super) const SEED: u64 = 1;

/// A statement about a series, and the time that it is about.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) statement: Statement,
    pub(crate) within: Duration,
    /// For how long it has to hold.
    pub(crate) lasting: Option<Duration>,
    pub(crate) seasons: api::Seasons,
}

/// The past of a series in even steps.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) id: String,
    pub(crate) unit: String,
    pub(crate) range: (f64, f64),
    pub(crate) step: Duration,
    /// The days that it follows; `None` where it is to have no season.
    pub(crate) calendar: Option<Calendar>,
    /// Where the first step begins.
    pub(crate) start: Timestamp,
    /// How many steps are looked at, at most.
    n_steps_max: usize,
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

    /// What is to be expected after a past. It agrees with what is expected in longer and shorter steps.
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

    /// The past of the same series in steps of another length; `None` where the store has none as short, or none as long yet.
    fn beside(&self, past: &Past, step: Duration) -> Result<Option<Past>, QueryError> {
        match self.past_over(&past.id, step, step, warn::past_beside(step)) {
            Ok(beside) => Ok((beside.step == step).then(|| Past { calendar: past.calendar.clone(), ..beside })),
            Err(QueryError::TooYoung { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How probable a statement is. Blocks while the store is read.
    pub(crate) fn probability(&self, asked: &Asked) -> Result<api::Probability, QueryError> {
        let (past, question) = self.question(asked)?;
        let Asked { statement, lasting, .. } = asked;
        let answer = warn::ask(past.history(), &question, SEED).ok_or_else(|| past.too_young())?;
        let [p10_seconds, p50_seconds, p90_seconds] =
            answer.chance.leads.map(|lead| lead.map(|lead| past.seconds(lead)));
        Ok(api::Probability {
            statement: statement.to_string(),
            line: question.line,
            origin: past.origin(),
            step_seconds: past.step().as_secs_f64(),
            within_seconds: past.seconds(past.n_leads()),
            for_seconds: lasting.map(|_| past.seconds(question.n_sustained)),
            probability: answer.chance.probability,
            after: api::Passage { p10_seconds, p50_seconds, p90_seconds },
            history_seconds: past.seconds(past.n_steps()),
            no_sample_since: no_sample_since(
                past.origin() - times(past.step(), past.last().0),
                past.step(),
                self.now(),
            ),
            seasons: past.parts[0].seasons(&answer.seasons),
            record: told(&answer.record),
            id: past.id(),
            unit: past.unit,
        })
    }

    /// What was, what may come and the line that a statement asks about, drawn. It has the probability that others were told, if they were. Blocks
    /// while the store is read.
    pub(crate) fn picture(&self, asked: &Asked, told: Option<f64>) -> Result<Picture, QueryError> {
        let (past, question) = self.question(asked)?;
        let answer = warn::ask(past.history(), &question, SEED).ok_or_else(|| past.too_young())?;
        let Asked { statement, within, lasting, .. } = asked;
        let now = past.origin() + past.step();
        let known: Vec<f64> = (0..past.n_steps()).map(|idx| past.value(idx)).collect();
        let view = View {
            title: &warn::says(statement, *within, *lasting, told.unwrap_or(answer.chance.probability)),
            caption: &format!("{}, {now}; means over {}", self.info().host, span::format(past.step())),
            unit: &past.unit,
            step: past.step(),
            known: &known,
            futures: &answer.futures,
            line: question.line,
        };
        Ok(view.picture())
    }

    /// What is known of what a statement is about, and what it asks of it.
    fn question(&self, asked: &Asked) -> Result<(Pasts, Question), QueryError> {
        let Asked { statement, within, lasting, seasons } = asked;
        let past = self.pasts(&statement.of, *within)?.with(*seasons);
        let question = past.question(statement, *within, *lasting)?;
        Ok((past, question))
    }

    /// Whether a rule can have an answer, whatever is known of the past of its signals.
    pub(crate) fn check_rule(&self, rule: &Rule) -> Result<(), QueryError> {
        let Rule { when, within, lasting, .. } = rule;
        let (mut step, mut units, mut range) = (Duration::ZERO, Vec::new(), ENDLESS);
        for id in when.of.signals() {
            step = step.max(self.step_for(id, *within, "within")?);
            let engine = self.engine();
            let about = &engine.get(id).ok_or_else(|| unknown(id))?.about;
            units.push(about.unit().to_string());
            if when.of.is_signal() {
                range = ends(about.range());
            }
        }
        let units: Vec<&str> = units.iter().map(|unit| &**unit).collect();
        let unit = when.of.unit(&units).map_err(|error| bad("statement", error.to_string()))?;
        Question::of(when, &unit, range, *within, *lasting, step).map(|_| ()).map_err(no_question)
    }

    /// What is known of the signals of an expression, in the same steps.
    pub(crate) fn pasts(&self, of: &Expression, within: Duration) -> Result<Pasts, QueryError> {
        let mut step = Duration::ZERO;
        for id in of.signals() {
            step = step.max(self.step_for(id, within, "within")?);
        }
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

    /// What is known of a series, in steps that suit a horizon.
    pub(crate) fn past(&self, id: &str, horizon: Duration, field: &'static str) -> Result<Past, QueryError> {
        self.past_in(id, self.step_for(id, horizon, field)?, horizon)
    }

    /// The steps in which a series is looked at for a horizon.
    fn step_for(&self, id: &str, horizon: Duration, field: &'static str) -> Result<Duration, QueryError> {
        let own = self.own_step(id)?;
        if horizon.is_zero() || horizon > HORIZON_MAX {
            let message = format!("`{field}` is {}; it must be above 0 and at most 14d", span::format(horizon));
            return Err(bad(field, message));
        }
        Ok(warn::step(own, horizon))
    }

    fn own_step(&self, id: &str) -> Result<Duration, QueryError> {
        Ok(self.engine().get(id).ok_or_else(|| unknown(id))?.about.step)
    }

    /// What is known of a series in steps of `step`, or longer ones where the store has nothing finer.
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

fn ends(range: api::Range) -> (f64, f64) {
    (range.min.unwrap_or(ENDLESS.0), range.max.unwrap_or(ENDLESS.1))
}

/// A statement that makes no question.
fn no_question(error: QuestionError) -> QueryError {
    let is_of_statement = matches!(error, QuestionError::Statement(_) | QuestionError::Range { .. });
    bad(if is_of_statement { "statement" } else { "for" }, error.to_string())
}

/// Since when nothing has been known of a series whose last known step began at `known`; `None` where that is just now.
pub(crate) fn no_sample_since(known: Timestamp, step: Duration, now: Timestamp) -> Option<Timestamp> {
    (now.saturating_since(known) > SILENCE_MIN + step.saturating_mul(3)).then(|| known + step)
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

/// The past of the signals of an expression, in even steps that are the same for all.
#[derive(Debug)]
pub(crate) struct Pasts {
    pub(crate) of: Expression,
    /// Of the expression.
    pub(crate) unit: String,
    /// The least and the greatest that it can be: known of a signal alone.
    pub(crate) range: (f64, f64),
    /// One for each signal, in their order.
    parts: Vec<Past>,
    /// Of each.
    pub(crate) samples: Vec<Vec<f64>>,
}

impl Pasts {
    /// Of a series alone.
    pub(crate) fn of(past: Past) -> Self {
        let (of, unit, samples) = (Expression::from(&*past.id), past.unit.clone(), vec![past.samples.clone()]);
        Self { of, unit, range: past.range, samples, parts: vec![past] }
    }

    pub(crate) fn step(&self) -> Duration {
        self.parts[0].step
    }

    /// Where the last step begins.
    pub(crate) fn origin(&self) -> Timestamp {
        self.parts[0].origin
    }

    pub(crate) fn n_leads(&self) -> usize {
        self.parts[0].n_leads
    }

    /// What the expression comes to, before the first step.
    fn blank(&self) -> Foresight {
        let outlook = |past: &Past| past.frame().outlook(past.n_leads);
        Foresight::new(self.of.clone(), self.parts.iter().map(outlook).collect())
    }

    /// What the expression is at a step.
    fn value(&self, idx: usize) -> f64 {
        self.of.value(&self.samples.iter().map(|samples| samples[idx]).collect::<Vec<_>>())
    }

    /// How many steps ago the expression was known last, and what it was; all of them and NaN where it never was.
    pub(crate) fn last(&self) -> (u64, f64) {
        let known = (0..self.n_steps()).rev().map(|idx| self.value(idx)).zip(0..).find(|(value, _)| !value.is_nan());
        known.map_or((self.n_steps() as u64, f64::NAN), |(value, age)| (age, value))
    }

    /// With what is to be expected of it, before the first step.
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
    fn id(&self) -> String {
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

    pub(super) fn too_young(&self) -> QueryError {
        let n_known = |past: &&Past| past.samples.iter().filter(|sample| !sample.is_nan()).count();
        self.parts.iter().min_by_key(n_known).expect("an expression has a signal").too_young()
    }
}

impl Past {
    /// What is to be expected after it.
    pub(crate) fn outlook(&self) -> predict::Outlook {
        let mut outlook = self.frame().outlook(self.n_leads);
        self.samples.iter().for_each(|sample| outlook.step(*sample));
        outlook
    }

    /// Beside steps of other lengths, the next shorter of which is given.
    fn resolution(&self, shorter: Option<Duration>) -> Resolution {
        let n_in = |length: Duration, step: Duration| length.as_nanos() / step.as_nanos().max(1);
        let since_epoch = self.start.saturating_since(Timestamp::from_nanos(0)) + self.step / 2;
        Resolution {
            outlook: self.frame().outlook(warn::N_LEADS_MAX),
            samples: self.samples.clone(),
            n_before: n_in(since_epoch, self.step) as u64,
            ratio: shorter.map_or(1, |shorter| n_in(self.step, shorter) as usize),
        }
    }

    /// The same, without any season if there is to be none.
    fn with(self, seasons: api::Seasons) -> Self {
        let calendar = self.calendar.filter(|_| seasons == api::Seasons::Learned);
        Self { calendar, ..self }
    }

    fn frame(&self) -> Frame<'_> {
        let Self { start, step, range, n_steps_max: n_steps, ref calendar, .. } = *self;
        Frame { start, step, n_steps, range, calendar: calendar.as_ref() }
    }

    fn seasons(&self, found: &[FoundSeason]) -> Vec<api::Season> {
        let told = |season: &FoundSeason| api::Season {
            period_seconds: season.period * self.step.as_secs_f64(),
            explained_ratio: season.share,
        };
        found.iter().map(told).collect()
    }

    fn seconds(&self, n_steps: usize) -> f64 {
        self.step.as_secs_f64() * n_steps as f64
    }

    pub(crate) fn too_young(&self) -> QueryError {
        QueryError::TooYoung {
            id: self.id.clone(),
            horizon: times(self.step, self.n_leads as u64),
            step: self.step,
            have: self.samples.iter().filter(|sample| !sample.is_nan()).count(),
            need: N_NEEDED,
        }
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

fn bad(field: &'static str, message: String) -> QueryError {
    QueryError::BadParameter { field, message }
}
