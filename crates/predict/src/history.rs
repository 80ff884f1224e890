//! The latest samples of a series, from which models are fitted anew.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// A window of samples and maybe some before it, oldest first, NaN for a gap, and how many steps there ever were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    window: usize,
    /// Samples that are kept, no fewer than a window.
    n_kept: usize,
    samples: VecDeque<f64>,
    /// Known samples in the window.
    n_known: usize,
    clock: u64,
}

impl History {
    pub(crate) fn new(window: usize, samples: Vec<f64>) -> Self {
        let n_known = samples.iter().filter(|sample| !sample.is_nan()).count();
        Self { window, n_kept: window, samples: samples.into(), n_known, clock: 0 }
    }

    /// The same that keeps so many samples, and no fewer than a window.
    pub(crate) fn keeping(self, n: usize) -> Self {
        Self { n_kept: n.max(self.window), ..self }
    }

    pub(crate) fn push(&mut self, sample: f64) {
        if self.is_full() {
            self.n_known -= usize::from(!self.samples[self.samples.len() - self.window].is_nan());
        }
        if self.samples.len() == self.n_kept {
            self.samples.pop_front();
        }
        self.n_known += usize::from(!sample.is_nan());
        self.samples.push_back(sample);
        self.clock += 1;
    }

    /// Steps taken.
    pub(crate) fn clock(&self) -> u64 {
        self.clock
    }

    /// The window.
    pub(crate) fn to_vec(&self) -> Vec<f64> {
        self.in_window().collect()
    }

    pub(crate) fn in_window(&self) -> impl Iterator<Item = f64> {
        self.samples.range(self.samples.len().saturating_sub(self.window)..).copied()
    }

    /// The window and what is kept before it.
    pub(crate) fn kept(&self) -> impl Iterator<Item = f64> {
        self.samples.iter().copied()
    }

    pub(crate) fn n_kept(&self) -> usize {
        self.n_kept
    }

    /// The samples that came after step `clock`, as many of them as are kept.
    pub(crate) fn since(&self, clock: u64) -> impl Iterator<Item = f64> {
        let n_since = usize::try_from(self.clock.saturating_sub(clock)).unwrap_or(usize::MAX);
        self.samples.iter().copied().skip(self.samples.len().saturating_sub(n_since))
    }

    /// The last sample; NaN for a gap, and before the first.
    pub(crate) fn last(&self) -> f64 {
        self.samples.back().copied().unwrap_or(f64::NAN)
    }

    /// Samples in the window that are no gaps.
    pub(crate) fn n_known(&self) -> usize {
        self.n_known
    }

    pub(crate) fn window(&self) -> usize {
        self.window
    }

    pub(crate) fn is_full(&self) -> bool {
        self.samples.len() >= self.window
    }

    /// Whether this can be what became of `fresh`.
    pub(crate) fn is_like(&self, fresh: &Self) -> bool {
        (self.window, self.n_kept) == (fresh.window, fresh.n_kept)
            && self.samples.len() <= self.n_kept
            && !self.samples.iter().any(|sample| sample.is_infinite())
            && self.n_known == self.in_window().filter(|sample| !sample.is_nan()).count()
    }
}
