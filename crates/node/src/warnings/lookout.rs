//! The outlooks that rules ask: as many of them go on from look to look as there is memory for.

use std::collections::HashMap;
use std::time::Duration;

use warn::{Answer, Expression, Question, Rule, Statement};

use super::running::Running;
use crate::hub::{Hub, QueryError};

/// Outlooks that go on, half a megabyte each where a step is a minute. Rules beyond ask outlooks that are begun for
/// them, in turns.
const N_RUNNING_MAX: usize = 2000;

/// Steps that a look reads at most to begin outlooks, which takes some ten seconds: the others wait for the next look.
const N_STEPS_MAX: usize = 4_000_000;

/// Time after which the worth of answers is computed again, of one outlook at each look.
const RENEW_AFTER: Duration = Duration::from_secs(86_400);

/// The expression and the horizon of an outlook: several rules may ask the same one.
pub(super) type Key = (String, Duration);

/// The outlook that a rule asks.
pub(super) fn key(rule: &Rule) -> Key {
    (rule.when.of.to_string(), rule.within)
}

#[derive(Debug)]
pub(crate) struct Lookout {
    running: HashMap<Key, Running>,
    /// The statements that each outlook is asked, and the time for which each has to last.
    wanted: HashMap<Key, Vec<(Statement, Option<Duration>)>>,
    limits: Limits,
    /// Those that were begun at this look, and the steps that may still be read for others.
    begun: Vec<Key>,
    n_steps: usize,
    /// Whether one may begin anew at this look that could go on.
    may_renew: bool,
}

/// Limits of the outlooks of rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) n_running: usize,
    pub(super) n_steps: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { n_running: N_RUNNING_MAX, n_steps: N_STEPS_MAX }
    }
}

impl Default for Lookout {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Lookout {
    pub(super) fn new(limits: Limits) -> Self {
        let (running, wanted) = Default::default();
        Self { running, wanted, begun: Vec::new(), n_steps: limits.n_steps, may_renew: true, limits }
    }

    /// Keeps no outlook but those that these rules ask, and that were asked the same before.
    pub(super) fn want<'a>(&mut self, rules: impl Iterator<Item = &'a Rule>) {
        let before = std::mem::take(&mut self.wanted);
        for rule in rules {
            self.wanted.entry(key(rule)).or_default().push((rule.when.clone(), rule.lasting));
        }
        self.running.retain(|key, _| self.wanted.get(key).is_some_and(|wanted| before.get(key) == Some(wanted)));
    }

    /// The outlook of an expression up to this moment; `None` where it has to wait for its turn. What fails begins anew
    /// when it is asked for again. Blocks while the store is read.
    pub(super) fn look(&mut self, hub: &Hub, key: Key, of: &Expression) -> Result<Option<&Running>, QueryError> {
        let mut running = self.running.remove(&key);
        let goes_on = running.as_mut().map_or(Ok(false), |running| running.go_on(hub))?;
        let is_old = |running: &Running| running.next.saturating_since(running.begun) > RENEW_AFTER;
        if self.may_renew && goes_on && running.as_ref().is_some_and(is_old) {
            (running, self.may_renew) = (None, false);
        }
        let running = match running.filter(|_| goes_on) {
            Some(running) => running,
            None if self.n_steps == 0 => return Ok(None),
            None => {
                let past = hub.pasts(of, key.1)?;
                self.n_steps = self.n_steps.saturating_sub(past.samples.iter().map(Vec::len).sum());
                self.begun.push(key.clone());
                let wanted = self.wanted.get(&key).into_iter().flatten();
                let question = |(when, lasting): &(Statement, _)| past.question(when, key.1, *lasting).ok();
                let questions: Vec<Question> = wanted.filter_map(question).collect();
                Running::after(&past, &questions)
            }
        };
        Ok(Some(self.running.entry(key).insert_entry(running).into_mut()))
    }

    /// Answers a question about an expression up to this moment as the rule is answered that asks it; `None` if no rule
    /// does, or the rule's outlook is not kept. Blocks while the store is read.
    pub(crate) fn answer(
        &mut self,
        hub: &Hub,
        of: &Expression,
        within: Duration,
        question: &Question,
    ) -> Option<Answer> {
        let running = self.running.get_mut(&(of.to_string(), within))?;
        running.record(question)?;
        // One that has to begin anew does so at the rule's next look.
        running.go_on(hub).ok().filter(|goes_on| *goes_on)?;
        running.answer(question)
    }

    /// Lets go of outlooks that were begun last until there is room, and gives others their turn.
    pub(super) fn end_look(&mut self) {
        for key in self.begun.drain(..).rev() {
            if self.running.len() > self.limits.n_running {
                self.running.remove(&key);
            }
        }
        (self.n_steps, self.may_renew) = (self.limits.n_steps, true);
    }
}
