//! An outlook that goes on with its series: a question that is asked every minute costs the samples of that minute.

use std::time::Duration;

use units::Timestamp;
use warn::{Expression, Foresight};

use crate::hub::{Hub, Pasts, QueryError};
use crate::schedule::times;

#[derive(Debug)]
pub(super) struct Running {
    pub(super) foresight: Foresight,
    pub(super) of: Expression,
    pub(super) unit: String,
    pub(super) range: (f64, f64),
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
    pub(super) fn after(past: &Pasts) -> Self {
        let (step, n_leads) = (past.step(), past.n_leads());
        let n_steps = past.samples[0].len();
        let begin = past.origin() - times(step, n_steps.saturating_sub(1) as u64);
        let mut running = Self {
            foresight: past.blank(),
            of: past.of.clone(),
            step,
            n_leads,
            known: begin,
            last: f64::NAN,
            next: begin,
            unit: past.unit.clone(),
            range: past.range,
        };
        running.take(&past.samples, n_steps);
        running
    }

    /// Takes the steps that have ended; `false` when it has to begin anew. Blocks while the store is read.
    pub(super) fn go_on(&mut self, hub: &Hub) -> Result<bool, QueryError> {
        let signals = self.of.signals().iter();
        let samples =
            signals.map(|id| hub.steps_since(id, self.next, self.step)).collect::<Result<Option<Vec<_>>, _>>()?;
        let Some(samples) = samples else { return Ok(false) };
        // The others wait for one that is late.
        let n = samples.iter().map(Vec::len).min().unwrap_or(0);
        self.take(&samples, n);
        Ok(true)
    }

    /// Takes the first steps of all signals.
    fn take(&mut self, samples: &[Vec<f64>], n: usize) {
        let mut row = vec![f64::NAN; samples.len()];
        for idx in 0..n {
            row.iter_mut().zip(samples).for_each(|(value, samples)| *value = samples[idx]);
            let value = self.foresight.step(&row);
            if !value.is_nan() {
                (self.known, self.last) = (self.next, value);
            }
            self.next = self.next + self.step;
        }
    }
}
