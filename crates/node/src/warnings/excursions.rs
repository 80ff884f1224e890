//! Signals that will leave their usual range, though nobody has made a rule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use units::Timestamp;
use warn::{Alarm, Chance, Comparison, Question, Subject, Usual, base_rate, futures};

use super::running::Running;
use super::{SEED, passage};
use crate::api;
use crate::engine::about::Concern;
use crate::hub::{Hub, Pasts};
use crate::schedule::times;

/// The steps in which signals are looked at, or their own if those are longer, and how far ahead.
const STEP: Duration = Duration::from_secs(300);
const HORIZON: Duration = Duration::from_secs(6 * 3600);

/// Length of the past that defines the usual range, and the time after which that range is looked up again.
const WEEK: Duration = Duration::from_secs(7 * 86_400);
const REFRESH_EVERY: Duration = Duration::from_secs(6 * 3600);

/// Series whose past is read at one look: so many, or as many as it takes to come round to all in so many looks.
const N_BEGUN: usize = 16;
const N_LOOKS: usize = 120;

/// Outlooks that go on from look to look, a hundred kilobytes each. Where there are more series, the others are looked
/// at afresh, one after the other, and not before so much time has passed.
const N_RUNNING_MAX: usize = 1000;
const REST: Duration = Duration::from_secs(2 * 3600);

/// An excursion is told from one probability on until it is below another, while it is so many times as probable as it
/// has been.
const RAISE: f64 = 0.8;
const CLEAR: f64 = 0.5;
const RATIO_MIN: f64 = 2.0;

/// Those that are told, at most.
const N_TOLD_MAX: usize = 10;

/// The usual range of each series, and the series that will leave it.
#[derive(Debug, Default)]
pub(super) struct Excursions(BTreeMap<Arc<str>, Known>);

#[derive(Debug)]
struct Known {
    /// Time at which the usual range is to be looked up again.
    until: Timestamp,
    usual: State,
    found: Vec<api::Excursion>,
}

#[derive(Debug)]
enum State {
    /// It has too little history.
    Young,
    /// There is nothing to ask: it does not move, or another signal says the same.
    Unasked,
    /// It was looked at, and will be again; its outlook is not kept until then.
    Resting,
    /// Whether it leaves its usual range, or comes to a line that is known to be bad.
    Asked { running: Box<Running>, sides: Vec<Side> },
}

#[derive(Debug)]
struct Side {
    question: Question,
    base_rate: f64,
    alarm: Alarm,
    /// Programs that move the signal there.
    cause: Option<api::ChangeCause>,
}

impl Excursions {
    /// Looks at the series of which a step has ended since the last look. Blocks while the store is read.
    pub(super) fn look(&mut self, hub: &Hub, now: Timestamp) {
        let series = hub.concerns();
        self.0.retain(|id, _| series.contains_key(id));
        let (mut n_begun, n_begun_max) = (0, N_BEGUN.max(series.len().div_ceil(N_LOOKS)));
        for (id, (own, concern)) in series {
            if let Some(known) = self.0.get_mut(&id).filter(|known| known.until > now) {
                known.go_on(hub, &id, now);
            } else if n_begun < n_begun_max {
                let known = Known::begin(hub, &id, own, concern, now);
                // The past of a young one is soon read.
                n_begun += usize::from(!matches!(known.usual, State::Young));
                self.0.insert(Arc::clone(&id), known);
            }
        }
        self.make_room(N_RUNNING_MAX, now);
    }

    /// Lets go of outlooks until there are `n_max`, first of those that have found nothing.
    fn make_room(&mut self, n_max: usize, now: Timestamp) {
        let n_running = self.0.values().filter(|known| known.is_running()).count();
        let mut n_over = n_running.saturating_sub(n_max);
        for has_found in [false, true] {
            let running = self.0.values_mut().filter(|known| known.is_running() && known.found.is_empty() != has_found);
            for known in running.take(n_over) {
                (known.usual, known.until) = (State::Resting, now + REST);
                n_over -= 1;
            }
        }
    }

    /// Those that are worth telling, soonest first, and how many series are too young to have any.
    pub(super) fn found(&self) -> (Vec<api::Excursion>, usize) {
        let soon = |one: &api::Excursion| one.after.p50_seconds.unwrap_or(f64::INFINITY);
        let mut found: Vec<_> = self.0.values().flat_map(|known| &known.found).cloned().collect();
        found.sort_by(|one, other| {
            soon(one).total_cmp(&soon(other)).then(other.probability.total_cmp(&one.probability))
        });
        found.truncate(N_TOLD_MAX);
        (found, self.0.values().filter(|known| matches!(known.usual, State::Young)).count())
    }
}

impl Known {
    fn is_running(&self) -> bool {
        matches!(self.usual, State::Asked { .. })
    }

    fn begin(hub: &Hub, id: &str, own: Duration, concern: Concern, now: Timestamp) -> Self {
        let step = STEP.max(own);
        let young = |n_missing: usize, step| Self {
            until: now + times(step, n_missing as u64),
            usual: State::Young,
            found: Vec::new(),
        };
        // A series without a known step is as young as can be.
        let Ok(past) = hub.past_in(id, step, HORIZON).map(Pasts::of) else { return young(1, step) };
        let n_week = (WEEK.as_nanos() / past.step().as_nanos()) as usize;
        let week = &past.samples[0][past.samples[0].len().saturating_sub(n_week)..];
        let n_missing = Usual::N_MIN.saturating_sub(week.iter().filter(|sample| !sample.is_nan()).count());
        if n_missing > 0 {
            return young(n_missing, past.step());
        }
        let questions = questions(concern, week, past.n_leads());
        let side = |question| Side {
            base_rate: base_rate(&question, week),
            question,
            alarm: Alarm::new(RAISE, CLEAR),
            cause: None,
        };
        let usual = match questions.is_empty() {
            true => State::Unasked,
            false => State::Asked {
                running: Box::new(Running::after(&past, &questions)),
                sides: questions.into_iter().map(side).collect(),
            },
        };
        let mut known = Self { until: now + REFRESH_EVERY, usual, found: Vec::new() };
        known.ask(hub, id, now);
        known
    }

    /// Asks again when a step has ended.
    fn go_on(&mut self, hub: &Hub, id: &str, now: Timestamp) {
        let State::Asked { running, .. } = &mut self.usual else { return };
        let before = running.next;
        match running.go_on(hub) {
            Ok(true) if running.next == before => {}
            Ok(true) => self.ask(hub, id, now),
            // It is looked up again, and may be gone.
            Ok(false) | Err(_) => self.until = now,
        }
    }

    fn ask(&mut self, hub: &Hub, id: &str, now: Timestamp) {
        let State::Asked { running, sides } = &mut self.usual else { return };
        // What was known long ago is no reason to tell now.
        let is_silent = hub.no_sample_since(&running.of, now).is_some();
        let may_stand = |side: &Side| side.alarm.is_raised() || running.foresight.may_come(&side.question, RAISE);
        if is_silent || !sides.iter().any(may_stand) {
            self.found.clear();
            return;
        }
        let Some(futures) = futures(&running.foresight, running.n_leads, SEED) else { return };
        let excursion = |Side { question, base_rate, alarm, cause }: &mut Side| {
            let chance = Chance::of(&futures, question, running.worth(question));
            let is_there = question.comparison.holds(running.last, question.line);
            let is_seldom = chance.probability >= RATIO_MIN * *base_rate;
            // What is there already, or comes so often, is not ahead.
            alarm.update(if is_seldom && !is_there { chance.probability } else { 0.0 });
            if !alarm.is_raised() {
                *cause = None;
                return None;
            }
            if cause.as_ref().is_none_or(|cause| cause.culprit.is_none()) {
                *cause = hub.cause_of(&running.of, question.comparison, HORIZON, now);
            }
            Some(api::Excursion {
                id: id.to_owned(),
                unit: running.unit.clone(),
                rises: question.comparison == Comparison::Above,
                line: question.line,
                within_seconds: times(running.step, running.n_leads as u64).as_secs_f64(),
                probability: chance.probability,
                base_rate: *base_rate,
                after: passage(chance, running.step),
                cause: cause.clone(),
                origin: running.known,
            })
        };
        self.found = sides.iter_mut().filter_map(excursion).collect();
    }
}

/// Returns the questions about a series that had these values for a week.
fn questions(concern: Concern, week: &[f64], n_leads: usize) -> Vec<Question> {
    match concern {
        Concern::Usual => Usual::of(week).map_or_else(Vec::new, |usual| usual.questions(n_leads).to_vec()),
        Concern::Above(line) => {
            vec![Question { subject: Subject::Any, comparison: Comparison::Above, line, n_leads, n_sustained: 1 }]
        }
        Concern::Nothing => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use predict::{Outlook, Periods};
    use warn::{Expression, Foresight};

    use super::*;

    #[test]
    fn outlooks_that_have_found_nothing_are_the_first_to_go() {
        let past = |id: &str| Known {
            until: Timestamp::from_nanos(0),
            usual: asked(),
            found: vec![found(id); usize::from(id == "b")],
        };
        let mut excursions = Excursions(["a", "b", "c"].map(|id| (Arc::from(id), past(id))).into());
        let running = |excursions: &Excursions| {
            let running = excursions.0.iter().filter(|(_, known)| known.is_running());
            running.map(|(id, _)| id.to_string()).collect::<Vec<_>>()
        };
        let now = Timestamp::from_nanos(1_000_000_000);
        excursions.make_room(3, now);
        assert_eq!(running(&excursions), ["a", "b", "c"]);
        excursions.make_room(1, now);
        assert_eq!(running(&excursions), ["b"]);
        assert!(excursions.0["a"].until == now + REST && excursions.0["b"].until < now);
        excursions.make_room(0, now);
        assert_eq!(running(&excursions), [""; 0]);
        assert_eq!(excursions.found().0.len(), 1, "what was found is told until it is looked at again");
    }

    fn asked() -> State {
        let (of, start) = (Expression::from("a"), Timestamp::from_nanos(0));
        let running = Running {
            foresight: Foresight::new(of.clone(), vec![Outlook::new(Periods::day_and_week(STEP), 4)]),
            of,
            unit: String::new(),
            range: (f64::NEG_INFINITY, f64::INFINITY),
            step: STEP,
            n_leads: 4,
            n_taken: 0,
            known: start,
            last: f64::NAN,
            next: start,
            begun: start,
            records: Vec::new(),
        };
        State::Asked { running: Box::new(running), sides: Vec::new() }
    }

    fn found(id: &str) -> api::Excursion {
        api::Excursion {
            id: id.to_owned(),
            unit: String::new(),
            rises: true,
            line: 1.0,
            within_seconds: 60.0,
            probability: 0.9,
            base_rate: 0.0,
            after: api::Passage { p10_seconds: None, p50_seconds: None, p90_seconds: None },
            cause: None,
            origin: Timestamp::from_nanos(0),
        }
    }
}
