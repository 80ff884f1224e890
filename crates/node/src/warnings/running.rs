//! An outlook that goes on with its series: a question that is asked every minute costs the samples of that minute.

use std::time::Duration;

use predict::Outlook;
use units::Timestamp;

use crate::hub::{Hub, Past, QueryError};
use crate::schedule::times;

#[derive(Debug)]
pub(super) struct Running {
    pub(super) outlook: Outlook,
    pub(super) unit: String,
    pub(super) step: Duration,
    pub(super) n_leads: usize,
    /// Where the last known step begins.
    pub(super) known: Timestamp,
    /// Its value.
    pub(super) last: f64,
    /// Where the next step begins: until it has ended there is nothing new to say.
    pub(super) next: Timestamp,
}

impl Running {
    /// One that goes on after this past.
    pub(super) fn after(past: &Past) -> Self {
        let n_gaps = past.samples.iter().rev().take_while(|sample| sample.is_nan()).count();
        Self {
            outlook: past.outlook(),
            step: past.step,
            n_leads: past.n_leads,
            known: past.origin - times(past.step, n_gaps as u64),
            // The first is known.
            last: past.samples[past.samples.len() - 1 - n_gaps],
            next: past.origin + past.step,
            unit: past.unit.clone(),
        }
    }

    /// Takes the steps that have ended; `false` when it has to begin anew. Blocks while the store is read.
    pub(super) fn go_on(&mut self, hub: &Hub, id: &str) -> Result<bool, QueryError> {
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
