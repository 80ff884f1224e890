//! REFIT: the samples that the next fit will use, and when it is due (RPS section 5.2.1).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The latest samples of a series whose model is fitted anew every so often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Schedule {
    every: usize,
    window: usize,
    /// At most `window`, oldest first, NaN for a gap.
    samples: VecDeque<f64>,
    until_next: usize,
    pub(crate) n_refits: u64,
    pub(crate) n_failures: u64,
}

impl Schedule {
    pub(crate) fn new(every: usize, window: usize, samples: Vec<f64>) -> Self {
        Self { every, window, samples: samples.into(), until_next: every, n_refits: 0, n_failures: 0 }
    }

    /// Takes a sample (NaN for a gap); says whether a fit is due.
    pub(crate) fn step(&mut self, sample: f64) -> bool {
        if self.samples.len() == self.window {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
        self.until_next -= 1;
        let is_due = self.until_next == 0;
        if is_due {
            self.until_next = self.every;
        }
        is_due
    }

    pub(crate) fn samples(&mut self) -> &[f64] {
        self.samples.make_contiguous()
    }

    /// Whether this is a schedule of `every` and `window`, and could have come about.
    pub(crate) fn is_sound(&self, every: usize, window: usize) -> bool {
        (self.every, self.window) == (every, window)
            && (1..=every).contains(&self.until_next)
            && self.samples.len() <= window
            && !self.samples.iter().any(|sample| sample.is_infinite())
    }
}
