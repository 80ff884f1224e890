//! A rule, and how it stands.

use std::ops::Bound;
use std::time::Duration;

use alert::Alert;
use predict::Paths;
use units::{Timestamp, span};
use warn::{Alarm, Chance, Question, Rule, futures, no_sample_since};

use super::kept::{Escalation, Stood};
use super::lookout::{self, Key, Lookout};
use super::running::Running;
use super::{Change, SEED, passage};
use crate::api;
use crate::hub::{Acknowledged, Hub};
use crate::schedule::times;

/// A rule that is watched.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) rule: Rule,
    alarm: Alarm,
    since: Option<Timestamp>,
    /// The alert that others were sent when the warning was raised, until they are told that the warning is over.
    told: Option<Alert>,
    escalation: Option<Escalation>,
    said: Option<Said>,
    /// Time at which the rule was asked last.
    asked: Option<Timestamp>,
    /// Time since which one of the rule's signals has been silent, as of the last look.
    silent_since: Option<Timestamp>,
    problem: Option<String>,
    /// Programs that made the warning stand.
    cause: Option<api::ChangeCause>,
}

/// The last answer to the rule's question.
#[derive(Clone, Copy, Debug)]
struct Said {
    chance: Chance,
    /// Start of the last known step.
    origin: Timestamp,
    step: Duration,
    /// Start of the next step.
    next: Timestamp,
}

/// The futures that were drawn last: rules that ask the same outlook one after the other share them.
#[derive(Default)]
pub(super) struct Drawn {
    of: Option<(Key, Timestamp)>,
    futures: Option<Paths>,
}

impl Drawn {
    fn futures(&mut self, key: Key, running: &Running, n_leads: usize) -> Option<&Paths> {
        let of = Some((key, running.next));
        if self.of != of {
            *self = Self { of, futures: futures(&running.foresight, n_leads, SEED) };
        }
        self.futures.as_ref()
    }
}

impl Watched {
    pub(super) fn new(rule: Rule, stood: Option<&Stood>) -> Self {
        let alarm = Alarm::new(rule.raise, rule.clear);
        Self {
            alarm: if stood.is_some() { alarm.raised() } else { alarm },
            since: stood.map(|stood| stood.since),
            told: stood.and_then(|stood| stood.told.clone()),
            escalation: stood.and_then(|stood| stood.escalation),
            rule,
            said: None,
            asked: None,
            silent_since: None,
            problem: None,
            cause: None,
        }
    }

    pub(super) fn key(&self) -> Key {
        lookout::key(&self.rule)
    }

    pub(super) fn asked(&self) -> Option<Timestamp> {
        self.asked
    }

    /// Returns the state that outlives a restart; `None` if the warning does not stand.
    pub(super) fn stood(&self, acknowledged: &Acknowledged) -> Option<Stood> {
        let acknowledged = self.acknowledged_in(acknowledged).cloned();
        Some(Stood { since: self.since?, told: self.told.clone(), escalation: self.escalation, acknowledged })
    }

    /// Returns the acknowledgement of the warning that stands.
    pub(super) fn acknowledged_in<'a>(&self, acknowledged: &'a Acknowledged) -> Option<&'a api::Acknowledgement> {
        let (since, acknowledged) = acknowledged.get(&self.rule.name)?;
        (self.since == Some(*since)).then_some(acknowledged)
    }

    /// Asks how probable it is, if a step has ended since. A rule that cannot be asked, or whose turn it is not, stays
    /// as it was.
    pub(super) fn ask(&mut self, hub: &Hub, lookout: &mut Lookout, drawn: &mut Drawn, now: Timestamp) {
        self.silent_since = hub.no_sample_since(&self.rule.when.of, now);
        let answer = match lookout.look(hub, self.key(), &self.rule.when.of) {
            Ok(None) => return,
            Ok(Some(running)) => self.answer(running, drawn),
            Err(error) => Err(error.to_string()),
        };
        self.asked = Some(now);
        match answer {
            Err(problem) => self.problem = Some(problem),
            Ok(said) => {
                self.problem = None;
                let is_new = self.said.is_none_or(|before| before.next != said.next);
                self.said = Some(said);
                // What was known long ago is no reason to warn now.
                let counts = self.alarm.is_raised() || self.no_sample_since(now).is_none();
                if is_new
                    && counts
                    && let Some(raised) = self.alarm.update(said.chance.probability)
                {
                    self.since = raised.then_some(now);
                }
            }
        }
    }

    /// Looks for the cause of a warning that stands, until there is a culprit. The minutes of programs come up to a
    /// minute later than the samples that raise a warning.
    pub(super) fn explain(&mut self, hub: &Hub, now: Timestamp) {
        if !self.alarm.is_raised() {
            self.cause = None;
        } else if self.cause.as_ref().is_none_or(|cause| cause.culprit.is_none()) {
            self.cause = hub.cause_of(&self.rule.when.of, self.rule.when.comparison, self.rule.within, now);
        }
    }

    fn answer(&self, running: &Running, drawn: &mut Drawn) -> Result<Said, String> {
        let Rule { when, within, lasting, .. } = &self.rule;
        if let Some(said) = self.said.filter(|said| said.next == running.next) {
            return Ok(said);
        }
        let question = Question::of(when, &running.unit, running.range, *within, *lasting, running.step);
        let question = question.map_err(|error| error.to_string())?;
        if let Some(problem) = self.rule.too_young(times(running.step, running.n_taken as u64)) {
            return Err(problem);
        }
        let futures = drawn.futures(self.key(), running, question.n_leads);
        let futures = futures.ok_or_else(|| format!("`{}` is too young for a forecast", when.of))?;
        let &Running { step, known: origin, next, .. } = running;
        Ok(Said { chance: Chance::of(futures, &question, running.worth(&question)), origin, step, next })
    }

    /// Returns whether others know that the warning stands.
    pub(super) fn was_sent(&self) -> bool {
        self.told.is_some()
    }

    /// The warning, if it stands and may be told.
    pub(super) fn standing(&self, is_silent: bool, now: Timestamp, host: &str, page: &str) -> Option<Alert> {
        if !self.alarm.is_raised() || is_silent {
            return None;
        }
        let Some(said) = self.said else {
            // As others heard of it last, in another life of this node.
            return self.told.clone().map(|told| Alert { at: now, ..told });
        };
        let rule = &self.rule;
        Some(Alert {
            rule: rule.name.clone(),
            host: host.to_owned(),
            series: rule.when.of.to_string(),
            summary: self.summary(said, now),
            probability: said.chance.probability,
            stands: true,
            repeated: false,
            escalated: false,
            since: self.since.unwrap_or(now),
            at: now,
            origin: said.origin,
            cause: self.cause.as_ref().map(|cause| cause.summary.clone()),
            culprit: self.cause.as_ref().and_then(|cause| Some(cause.culprit.as_ref()?.name.clone())),
            picture_url: picture_url(page, rule),
            url: page.to_owned(),
            // A page with a button, because scanners of mail follow links.
            acknowledge_url: format!("{page}#/rules"),
            png: None,
        })
    }

    /// Returns the longest time that one of the channels waits which were sent the warning.
    pub(super) fn reached(&self) -> Duration {
        Escalation::reached(self.escalation)
    }

    /// Returns the warning for the channels that were not sent it yet, and wait no longer for an acknowledgement.
    pub(super) fn escalate(
        &mut self,
        standing: &Alert,
        waits: impl Iterator<Item = Duration>,
        now: Timestamp,
    ) -> Option<Change> {
        let Escalation { since, reached } = self.escalation.as_mut()?;
        let due = waits.filter(|wait| wait > reached && *wait <= now.saturating_since(*since)).max()?;
        let before = std::mem::replace(reached, due);
        let alert = Alert { repeated: true, escalated: true, ..standing.clone() };
        Some(Change { alert, waits: (Bound::Excluded(before), Bound::Included(due)) })
    }

    /// Returns the change since others were told last. Whoever was told that a warning stands is told of its end as
    /// well, whatever was silenced since. A warning that stands is told again after `repeat`.
    pub(super) fn change(
        &mut self,
        standing: Option<&Alert>,
        repeat: Option<Duration>,
        now: Timestamp,
    ) -> Option<Change> {
        let reached = self.reached();
        if !self.alarm.is_raised() {
            self.escalation = None;
            let over = self.told.take()?.over(now);
            let Some(said) = self.said else { return Some(Change::up_to(reached, over)) };
            let (summary, probability, origin) = (self.summary(said, now), said.chance.probability, said.origin);
            return Some(Change::up_to(reached, Alert { summary, probability, origin, ..over }));
        }
        let repeated = self.told.is_some();
        let is_due =
            self.told.as_ref().is_none_or(|told| repeat.is_some_and(|after| now.saturating_since(told.at) >= after));
        let change = Alert { repeated, ..standing.filter(|_| is_due)?.clone() };
        self.told = Some(change.clone());
        self.escalation.get_or_insert(Escalation { since: now, reached });
        Some(Change::up_to(reached, change))
    }

    /// Returns the last answer as text, and whether that is from long ago.
    fn summary(&self, said: Said, now: Timestamp) -> String {
        let since = self.no_sample_since(now).map(|since| format!("; no sample since {since}"));
        self.rule.says(said.chance.probability) + &since.unwrap_or_default()
    }

    /// Returns the time since which one of the rule's signals has been silent. A ratio is not known while its divisor
    /// is 0, though its signals are: that counts from when it was asked last, which may be long ago for want of room.
    fn no_sample_since(&self, now: Timestamp) -> Option<Timestamp> {
        let unknown = |said: Said| no_sample_since(said.origin + said.step, said.step, self.asked.unwrap_or(now));
        self.silent_since.or_else(|| self.said.and_then(unknown))
    }

    /// Returns the warning as the HTTP interface shows it, without an acknowledgement.
    pub(super) fn show(&self, silent_until: Option<Timestamp>, now: Timestamp) -> api::Warning {
        let Rule { name, when, within, lasting, raise, clear, quiet: _ } = &self.rule;
        api::Warning {
            name: name.clone(),
            id: when.of.to_string(),
            statement: when.to_string(),
            within_seconds: within.as_secs_f64(),
            for_seconds: lasting.map(|lasting| lasting.as_secs_f64()),
            raise: *raise,
            clear: *clear,
            probability: self.said.map(|said| said.chance.probability),
            after: self.said.map(|said| passage(said.chance, said.step)),
            origin: self.said.map(|said| said.origin),
            no_sample_since: self.no_sample_since(now),
            problem: self.problem.clone(),
            stands: self.alarm.is_raised(),
            since: self.since,
            cause: self.cause.clone(),
            silent_until,
            acknowledged: None,
        }
    }
}

/// Returns the address at which the node whose page is at `page` draws the series of a rule.
fn picture_url(page: &str, rule: &Rule) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("statement", &rule.when.to_string()).append_pair("within", &span::format(rule.within));
    if let Some(lasting) = rule.lasting {
        query.append_pair("for", &span::format(lasting));
    }
    format!("{page}api/v1/probability.png?{}", query.finish())
}
