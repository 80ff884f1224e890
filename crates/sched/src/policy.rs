//! Policies: who gets which units, and when. Each is one file in `policy/`, and has a text form as models have.

use crate::worker::Worker;

mod balance;
mod corrected;
mod predicted;
mod risk;
mod self_scheduled;
mod spec;
mod state;
mod threshold;
mod upfront;

pub use balance::{balance, time_of};
pub use spec::{PolicyError, Spec};
pub use state::{Action, Chunk, Event, Spread, State};

/// A way to decide, as a state machine: it reads no clock and draws no chance.
pub trait Policy: Send {
    /// Decides what to do after `event`.
    fn decide(&mut self, state: &State, event: Event) -> Vec<Action>;

    /// Whether work goes to whoever is free, so that all workers end at about one time.
    fn adapts(&self) -> bool;

    /// About how often each of so many workers is given some of so many units: each time costs a start.
    fn n_chunks(&self, n_units: f64, n_workers: f64) -> f64 {
        let _ = (n_units, n_workers);
        1.0
    }

    /// The probability that a worker is given work whenever it is free.
    fn part_used(&self, worker: &Worker) -> f64 {
        let _ = worker;
        1.0
    }

    /// Returns the number of units that it gives out at a time in the end.
    fn n_units_last(&self) -> usize {
        1
    }

    /// Whether units that a worker was given and has not begun can go to others.
    fn takes_back(&self) -> bool {
        false
    }
}

/// A policy that splits everything at once in proportion to given shares.
#[must_use]
pub fn given(shares: Vec<f64>) -> Box<dyn Policy> {
    Box::new(upfront::Upfront::Given(shares))
}

impl Spec {
    /// The policy that this names. Of the oracle, who knows the shares, it can only be a predicted split.
    #[must_use]
    pub fn policy(&self) -> Box<dyn Policy> {
        match *self {
            Self::Equal => Box::new(upfront::Upfront::Equal),
            Self::Speed => Box::new(upfront::Upfront::BySpeed),
            Self::Threshold(least) => Box::new(threshold::Threshold::new(least)),
            Self::SelfScheduled(n_units) => Box::new(self_scheduled::SelfScheduled::chunks(n_units)),
            Self::Guided(n_units) => Box::new(self_scheduled::SelfScheduled::guided(n_units)),
            Self::Factoring(factor) => Box::new(self_scheduled::SelfScheduled::factoring(factor, false)),
            Self::WeightedFactoring(factor) => Box::new(self_scheduled::SelfScheduled::factoring(factor, true)),
            Self::Predicted { q, tail } => Box::new(predicted::Predicted::new(q, tail)),
            Self::Corrected(q) => Box::new(corrected::Corrected::new(q)),
            Self::Risk(q) => Box::new(risk::Risk::new(q)),
            Self::Oracle => Box::new(predicted::Predicted::new(0.5, 0.0)),
        }
    }
}
