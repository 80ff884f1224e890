//! An outlook that goes on with its series: a question that is asked every minute costs the samples of that minute.

use std::time::Duration;

use predict::{Record, Worth};
use units::Timestamp;
use warn::{Answer, Chance, Expression, Foresight, Question, futures, rehearse};

use super::SEED;
use crate::hub::{Hub, Pasts, QueryError};

/// Earlier moments at which its questions are asked, and futures drawn each time: enough to see what is overstated, and
/// no more than an answer takes.
const N_MOMENTS: usize = 40;
const N_PATHS: usize = 64;

#[derive(Debug)]
pub(super) struct Running {
    pub(super) foresight: Foresight,
    pub(super) of: Expression,
    pub(super) unit: String,
    pub(super) range: (f64, f64),
    pub(super) step: Duration,
    pub(super) n_leads: usize,
    /// Steps that it has taken.
    pub(super) n_taken: usize,
    /// Start of the last known step.
    pub(super) known: Timestamp,
    /// Its value.
    pub(super) last: f64,
    /// Start of the next step: until that has ended there is nothing new to forecast.
    pub(super) next: Timestamp,
    /// Start of the next step when the outlook was made.
    pub(super) begun: Timestamp,
    /// The record of each question, as of the moment when the outlook was made.
    pub(super) records: Vec<(Question, Record)>,
}

impl Running {
    /// One that goes on after this past, to be asked these questions.
    pub(super) fn after(past: &Pasts, questions: &[Question]) -> Self {
        let step = past.step();
        let (foresight, records) = rehearse(past.history(), questions, N_MOMENTS, N_PATHS, SEED);
        let next = past.origin() + step;
        let (known, last) = past.last();
        Self {
            foresight,
            of: past.of.clone(),
            step,
            n_leads: past.n_leads(),
            n_taken: past.n_steps(),
            known,
            last,
            next,
            begun: next,
            records: questions.iter().copied().zip(records).collect(),
            unit: past.unit.clone(),
            range: past.range,
        }
    }

    /// Returns the worth of an answer to a question.
    pub(super) fn worth(&self, question: &Question) -> Worth {
        // The record is up to a day old, so that what came lately is not to count.
        self.record(question).map_or(Worth::FULL, |record| record.worth(usize::MAX))
    }

    /// Returns the record of a question; `None` if no rule asks it.
    pub(super) fn record(&self, question: &Question) -> Option<&Record> {
        self.records.iter().find_map(|(known, record)| (known == question).then_some(record))
    }

    /// Answers a question that a rule asks.
    pub(super) fn answer(&self, question: &Question) -> Option<Answer> {
        let record = self.record(question)?.clone();
        let futures = futures(&self.foresight, question.n_leads, SEED)?;
        let chance = Chance::of(&futures, question, self.worth(question));
        Some(Answer { chance, futures, seasons: self.foresight.found(), record })
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
        self.n_taken += n;
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
