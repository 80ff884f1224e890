//! The latest samples of a series, from which models are fitted anew.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// At most `window` samples, oldest first, NaN for a gap, and how many steps there ever were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    window: usize,
    samples: VecDeque<f64>,
    n_known: usize,
    clock: u64,
}

impl History {
    pub(crate) fn new(window: usize, samples: Vec<f64>) -> Self {
        let n_known = samples.iter().filter(|sample| !sample.is_nan()).count();
        Self { window, samples: samples.into(), n_known, clock: 0 }
    }

    pub(crate) fn push(&mut self, sample: f64) {
        if self.samples.len() == self.window {
            self.n_known -= usize::from(self.samples.pop_front().is_some_and(|oldest| !oldest.is_nan()));
        }
        self.n_known += usize::from(!sample.is_nan());
        self.samples.push_back(sample);
        self.clock += 1;
    }

    /// Steps taken.
    pub(crate) fn clock(&self) -> u64 {
        self.clock
    }

    pub(crate) fn to_vec(&self) -> Vec<f64> {
        self.samples.iter().copied().collect()
    }

    /// The samples that came after step `clock`, as many of them as are kept.
    pub(crate) fn since(&self, clock: u64) -> impl Iterator<Item = f64> {
        let n_since = usize::try_from(self.clock.saturating_sub(clock)).unwrap_or(usize::MAX);
        self.samples.iter().copied().skip(self.samples.len().saturating_sub(n_since))
    }

    /// Samples kept that are no gaps.
    pub(crate) fn n_known(&self) -> usize {
        self.n_known
    }

    pub(crate) fn window(&self) -> usize {
        self.window
    }

    pub(crate) fn is_full(&self) -> bool {
        self.samples.len() == self.window
    }

    /// Whether this is a history of `window`, and could have come about.
    pub(crate) fn is_sound(&self, window: usize) -> bool {
        self.window == window
            && self.samples.len() <= window
            && !self.samples.iter().any(|sample| sample.is_infinite())
            && self.n_known == self.samples.iter().filter(|sample| !sample.is_nan()).count()
    }
}
