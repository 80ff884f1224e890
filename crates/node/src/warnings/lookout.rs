//! Outlooks that go on with their series: a question that is asked every minute costs the samples of that minute.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use predict::Outlook;
use units::Timestamp;

use crate::hub::{Hub, Past, QueryError};
use crate::schedule::times;

/// All that go on.
#[derive(Debug, Default)]
pub(super) struct Lookout(HashMap<Key, Running>);

/// Why a series is looked at: in which steps depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    Rule,
    Excursion,
}

/// A series, and how far it is looked ahead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) id: Arc<str>,
    pub(super) horizon: Duration,
    pub(super) purpose: Purpose,
}

/// One that goes on.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) outlook: Outlook,
    pub(super) unit: String,
    pub(super) step: Duration,
    pub(super) n_leads: usize,
    /// Where the last known step begins.
    pub(super) known: Timestamp,
    pub(super) last: f64,
    /// Where the next step begins.
    pub(super) next: Timestamp,
}

impl Lookout {
    /// The outlook of a series up to this moment. Blocks while the store is read.
    pub(super) fn look(&mut self, hub: &Hub, key: &Key) -> Result<&Running, QueryError> {
        let is_on = self.0.get_mut(key).map(|running| running.go_on(hub, &key.id)).transpose();
        // What fails begins anew when it is asked for again.
        if !matches!(is_on, Ok(Some(true))) {
            self.0.remove(key);
        }
        is_on?;
        Ok(match self.0.entry(key.clone()) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => place.insert(Running::after(hub.past(&key.id, key.horizon, "within")?)),
        })
    }

    /// Begins one with this past, in whatever steps it has.
    pub(super) fn begin(&mut self, key: Key, past: Past) {
        self.0.insert(key, Running::after(past));
    }

    /// Leaves go of those that are not wanted any more.
    pub(super) fn keep(&mut self, is_wanted: impl Fn(&Key) -> bool) {
        self.0.retain(|key, _| is_wanted(key));
    }
}

impl Running {
    fn after(past: Past) -> Self {
        let n_gaps = past.samples.iter().rev().take_while(|sample| sample.is_nan()).count();
        Self {
            outlook: past.outlook(),
            step: past.step,
            n_leads: past.n_leads,
            known: past.origin - times(past.step, n_gaps as u64),
            // The first is known.
            last: past.samples[past.samples.len() - 1 - n_gaps],
            next: past.origin + past.step,
            unit: past.unit,
        }
    }

    /// Takes the steps that have ended; `false` when it has to begin anew.
    fn go_on(&mut self, hub: &Hub, id: &str) -> Result<bool, QueryError> {
        let Some(samples) = hub.steps_since(id, self.next, self.step)? else { return Ok(false) };
        for sample in samples {
            self.outlook.step(sample);
            if !sample.is_nan() {
                (self.known, self.last) = (self.next, sample);
            }
            self.next = self.next + self.step;
        }
        Ok(true)
    }
}
