//! How old what arrives is.

use std::time::Duration;

/// A million of them are enough for any percentile.
const N_MAX: usize = 1_000_000;

/// Ages of messages at their arrival, the last of them: a million, unless it is told otherwise.
#[derive(Clone, Debug)]
pub struct Latencies {
    spans: Vec<Duration>,
    next: usize,
    n_max: usize,
}

impl Default for Latencies {
    fn default() -> Self {
        Self::of_last(N_MAX)
    }
}

/// Percentiles of ages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Of how many.
    pub n: usize,
    /// The least.
    pub min: Duration,
    /// Half are younger.
    pub median: Duration,
    /// One in a hundred is older.
    pub p99: Duration,
    /// The greatest.
    pub max: Duration,
}

impl Latencies {
    /// Keeps so many, and one at least.
    #[must_use]
    pub fn of_last(n_max: usize) -> Self {
        Self { spans: Vec::new(), next: 0, n_max: n_max.max(1) }
    }

    /// Notes one.
    pub fn note(&mut self, span: Duration) {
        if self.spans.len() < self.n_max {
            self.spans.push(span);
        } else {
            self.spans[self.next] = span;
        }
        self.next = (self.next + 1) % self.n_max;
    }

    /// What they come to; `None` while there is none.
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        let mut spans = self.spans.clone();
        spans.sort_unstable();
        let last = spans.len().checked_sub(1)?;
        let at = |share: f64| spans[(share * last as f64).round() as usize];
        Some(Latency { n: spans.len(), min: at(0.0), median: at(0.5), p99: at(0.99), max: at(1.0) })
    }
}
