//! REFIT: the samples that the next fit will use, and when it is due (RPS section 5.2.1).

use serde::{Deserialize, Serialize};

use crate::history::History;

/// The latest samples of a series whose model is fitted anew every so often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Schedule {
    every: usize,
    pub(crate) history: History,
    until_next: usize,
    /// Whether a fit is due that nobody has begun.
    pub(crate) is_due: bool,
    pub(crate) n_refits: u64,
    pub(crate) n_failures: u64,
}

impl Schedule {
    pub(crate) fn new(every: usize, window: usize, samples: Vec<f64>) -> Self {
        let history = History::new(window, samples);
        Self { every, history, until_next: every, is_due: false, n_refits: 0, n_failures: 0 }
    }

    /// Takes a sample, NaN for a gap.
    pub(crate) fn step(&mut self, sample: f64) {
        self.history.push(sample);
        self.until_next -= 1;
        if self.until_next == 0 {
            (self.until_next, self.is_due) = (self.every, true);
        }
    }

    /// Whether this is a schedule of `every` and `window`, and could have come about.
    pub(crate) fn is_sound(&self, every: usize, window: usize) -> bool {
        self.every == every
            && (1..=every).contains(&self.until_next)
            && self.history.is_like(&History::new(window, Vec::new()))
    }
}
