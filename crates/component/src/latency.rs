//! How old what arrives is.

use std::time::Duration;

/// A million of them are enough for any percentile.
const N_MAX: usize = 1_000_000;

/// Ages of messages at their arrival, the last million of them.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    spans: Vec<Duration>,
    next: usize,
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
    /// Notes one.
    pub fn note(&mut self, span: Duration) {
        if self.spans.len() < N_MAX {
            self.spans.push(span);
        } else {
            self.spans[self.next] = span;
        }
        self.next = (self.next + 1) % N_MAX;
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
