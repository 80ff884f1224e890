//! Signals that will leave their usual range, though nobody has made a rule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use units::Timestamp;
use warn::{Comparison, Question, Usual};

use super::lookout::{Key, Lookout, Purpose, Running};
use super::{SEED, passage};
use crate::api;
use crate::hub::Hub;
use crate::schedule::times;

/// The steps in which signals are looked at, or their own if those are longer, and how far ahead.
const STEP: Duration = Duration::from_secs(300);
const HORIZON: Duration = Duration::from_secs(6 * 3600);

/// What is usual is what was over a week, and is looked up again after some hours.
const WEEK: Duration = Duration::from_secs(7 * 86_400);
const REFRESH_EVERY: Duration = Duration::from_secs(6 * 3600);

/// Series whose past is read at one look, at most, so that a node with thousands of them starts gently.
const N_BEGUN_MAX: usize = 16;

/// An excursion is worth telling when it is at least this probable, and this many times as probable as it has been.
const PROBABILITY_MIN: f64 = 0.5;
const RATIO_MIN: f64 = 2.0;

/// Those that are told, at most.
const N_TOLD_MAX: usize = 10;

/// What is usual for each series, and which will leave it.
#[derive(Debug, Default)]
pub(super) struct Excursions(BTreeMap<Arc<str>, Known>);

#[derive(Debug)]
struct Known {
    /// When it is to be looked up again.
    until: Timestamp,
    /// Falling below the usual range and rising above it, with their base rates; none for a series that is too young, or constant.
    asked: Vec<(Question, f64)>,
    is_young: bool,
    /// Where the step begins that was not over when it was asked last.
    next: Option<Timestamp>,
    found: Vec<api::Excursion>,
}

impl Excursions {
    /// Looks at the series of which a step has ended since the last look.
    pub(super) fn look(&mut self, hub: &Hub, lookout: &mut Lookout, now: Timestamp) {
        let series = hub.steps();
        self.0.retain(|id, _| series.contains_key(id));
        let mut n_begun = 0;
        for (id, own) in series {
            let key = Key { id: Arc::clone(&id), horizon: HORIZON, purpose: Purpose::Excursion };
            if self.0.get(&id).is_none_or(|known| known.until <= now) {
                if n_begun == N_BEGUN_MAX {
                    continue;
                }
                n_begun += 1;
                self.0.insert(Arc::clone(&id), Known::begin(hub, lookout, &key, own, now));
            }
            let Some(known) = self.0.get_mut(&id).filter(|known| !known.asked.is_empty()) else { continue };
            match lookout.look(hub, &key) {
                Ok(running) => known.ask(&id, running),
                // It is looked up again, and may be gone.
                Err(_) => known.until = now,
            }
        }
        lookout.keep(|key| key.purpose != Purpose::Excursion || self.0.contains_key(&key.id));
    }

    /// Those that are worth telling, soonest first, and how many series are too young to have any.
    pub(super) fn found(&self) -> (Vec<api::Excursion>, usize) {
        let soon = |one: &api::Excursion| one.after.p50_seconds.unwrap_or(f64::INFINITY);
        let mut found: Vec<_> = self.0.values().flat_map(|known| &known.found).cloned().collect();
        found.sort_by(|one, other| {
            soon(one).total_cmp(&soon(other)).then(other.probability.total_cmp(&one.probability))
        });
        found.truncate(N_TOLD_MAX);
        (found, self.0.values().filter(|known| known.is_young).count())
    }
}

impl Known {
    fn begin(hub: &Hub, lookout: &mut Lookout, key: &Key, own: Duration, now: Timestamp) -> Self {
        let nothing =
            Self { until: now + REFRESH_EVERY, asked: Vec::new(), is_young: false, next: None, found: Vec::new() };
        let step = STEP.max(own);
        // A series without a known step is as young as can be.
        let Ok(past) = hub.past_in(&key.id, step, HORIZON) else {
            return Self { until: now + step, is_young: true, ..nothing };
        };
        let n_week = (WEEK.as_nanos() / past.step.as_nanos()) as usize;
        let week = &past.samples[past.samples.len().saturating_sub(n_week)..];
        let n_missing = Usual::N_MIN.saturating_sub(week.iter().filter(|sample| !sample.is_nan()).count());
        if n_missing > 0 {
            return Self { until: now + times(past.step, n_missing as u64), is_young: true, ..nothing };
        }
        let Some(usual) = Usual::of(week) else { return nothing };
        let asked = usual.questions(past.n_leads).map(|question| (question, warn::base_rate(&question, week)));
        lookout.begin(key.clone(), past);
        Self { asked: asked.into(), ..nothing }
    }

    fn ask(&mut self, id: &str, running: &Running) {
        if self.next.replace(running.next) == Some(running.next) {
            return;
        }
        let excursion = |&(question, base_rate): &(Question, f64)| {
            let is_there = question.comparison.holds(running.last, question.line);
            let chance = warn::chance(&running.outlook, &question, SEED).filter(|_| !is_there)?;
            let is_told = chance.probability >= PROBABILITY_MIN && chance.probability >= RATIO_MIN * base_rate;
            is_told.then(|| api::Excursion {
                id: id.to_owned(),
                unit: running.unit.clone(),
                rises: question.comparison == Comparison::Above,
                line: question.line,
                within_seconds: times(running.step, running.n_leads as u64).as_secs_f64(),
                probability: chance.probability,
                base_rate,
                after: passage(chance.leads, running.step),
                origin: running.known,
            })
        };
        self.found = self.asked.iter().filter_map(excursion).collect();
    }
}
