//! The outlooks that rules ask: as many of them go on from look to look as there is memory for.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use warn::Expression;

use super::running::Running;
use crate::hub::{Hub, QueryError};

/// Outlooks that go on, half a megabyte each where a step is a minute. Rules beyond ask outlooks that are begun for them, in turns.
const N_RUNNING_MAX: usize = 2000;

/// Steps that a look reads at most to begin outlooks, which takes some ten seconds: the others wait for the next look.
const N_STEPS_MAX: usize = 4_000_000;

/// What an outlook is of, and how far it goes: several rules may ask the same one.
pub(super) type Key = (String, Duration);

#[derive(Debug)]
pub(super) struct Lookout {
    running: HashMap<Key, Running>,
    limits: Limits,
    /// Those that were begun at this look, and the steps that may still be read for others.
    begun: Vec<Key>,
    n_steps: usize,
}

/// What rules may take.
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

impl Lookout {
    pub(super) fn new(limits: Limits) -> Self {
        Self { running: HashMap::new(), begun: Vec::new(), n_steps: limits.n_steps, limits }
    }

    /// Keeps no outlook that is not wanted.
    pub(super) fn keep(&mut self, wanted: &HashSet<Key>) {
        self.running.retain(|key, _| wanted.contains(key));
    }

    /// The outlook of an expression up to this moment; `None` where it has to wait for its turn. What fails begins anew when it is asked for
    /// again. Blocks while the store is read.
    pub(super) fn look(&mut self, hub: &Hub, key: Key, of: &Expression) -> Result<Option<&Running>, QueryError> {
        let mut running = self.running.remove(&key);
        let goes_on = running.as_mut().map_or(Ok(false), |running| running.go_on(hub))?;
        let running = match running.filter(|_| goes_on) {
            Some(running) => running,
            None if self.n_steps == 0 => return Ok(None),
            None => {
                let past = hub.pasts(of, key.1)?;
                self.n_steps = self.n_steps.saturating_sub(past.samples.iter().map(Vec::len).sum());
                self.begun.push(key.clone());
                Running::after(&past)
            }
        };
        Ok(Some(self.running.entry(key).insert_entry(running).into_mut()))
    }

    /// Lets go of outlooks that were begun last until there is room, and gives others their turn.
    pub(super) fn end_look(&mut self) {
        for key in self.begun.drain(..).rev() {
            if self.running.len() > self.limits.n_running {
                self.running.remove(&key);
            }
        }
        self.n_steps = self.limits.n_steps;
    }
}
