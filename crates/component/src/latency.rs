//! Ages of messages at their arrival.

use std::time::Duration;

/// A million of them are enough for any percentile.
const N_MAX: usize = 1_000_000;

/// Ages of messages at their arrival, the last of them: a million, unless another number is given.
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
    /// Number of ages.
    pub n: usize,
    /// Least age.
    pub min: Duration,
    /// Median age.
    pub median: Duration,
    /// 99th percentile: one in a hundred is older.
    pub p99: Duration,
    /// Greatest age.
    pub max: Duration,
}

impl Latencies {
    /// Builds a record of so many last ages, and one at least.
    #[must_use]
    pub fn of_last(n_max: usize) -> Self {
        Self { spans: Vec::new(), next: 0, n_max: n_max.max(1) }
    }

    /// Records one age.
    pub fn note(&mut self, span: Duration) {
        if self.spans.len() < self.n_max {
            self.spans.push(span);
        } else {
            self.spans[self.next] = span;
        }
        self.next = (self.next + 1) % self.n_max;
    }

    /// Returns the percentiles of the ages; `None` while there is none.
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        let mut spans = self.spans.clone();
        spans.sort_unstable();
        let last = spans.len().checked_sub(1)?;
        let at = |share: f64| spans[(share * last as f64).round() as usize];
        Some(Latency { n: spans.len(), min: at(0.0), median: at(0.5), p99: at(0.99), max: at(1.0) })
    }
}
