//! Figures of one quantity over many calls, in memory that does not grow.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use statistics::digest::Digest;

/// The window of the sliding median, as the papers have it.
const N_LAST: usize = 100;

/// Figures of a quantity. All zero if there was no call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Calls.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation (with n - 1).
    pub deviation_ns: f64,
    /// Least.
    pub min_ns: f64,
    /// Greatest.
    pub max_ns: f64,
    /// Moment when the greatest was over, by the clock of rank 0's host, where moments are known.
    pub max_at_ns: u64,
    /// Median of the last 100 calls.
    pub median_last_ns: f64,
    /// Lower bound and count of each bar of the histogram that has any, four bars to a doubling.
    pub bars: Vec<(f64, u64)>,
}

/// A quantity as it is measured: 4 KB, whatever the number of calls.
#[derive(Clone, Debug)]
pub struct Running {
    digest: Digest,
    last: VecDeque<u64>,
    interval: (u64, u64),
    /// The longest, and when it was over.
    longest: (u64, u64),
}

impl Default for Running {
    fn default() -> Self {
        Self { digest: Digest::rough(), last: VecDeque::with_capacity(N_LAST), interval: (0, 0), longest: (0, 0) }
    }
}

impl Running {
    /// Takes note of one call.
    pub fn record(&mut self, span_ns: u64) {
        self.record_at(span_ns, 0);
    }

    /// Takes note of one call that was over at this moment.
    pub(crate) fn record_at(&mut self, span_ns: u64, at_ns: u64) {
        self.longest = self.longest.max((span_ns, at_ns));
        self.digest.record(span_ns);
        if self.last.len() == N_LAST {
            self.last.pop_front();
        }
        self.last.push_back(span_ns);
        self.interval = (self.interval.0 + 1, self.interval.1.saturating_add(span_ns));
    }

    /// Returns the mean since the last call of this function; NaN where there was no call.
    pub(crate) fn end_interval(&mut self) -> f64 {
        let (count, sum) = std::mem::take(&mut self.interval);
        sum as f64 / count as f64
    }

    /// Returns the figures so far.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let summary = self.digest.summary();
        let last: Vec<f64> = self.last.iter().map(|&span| span as f64).collect();
        Figures {
            count: summary.count,
            mean_ns: summary.mean_ns,
            deviation_ns: summary.deviation_ns,
            min_ns: summary.min_ns,
            max_ns: summary.max_ns,
            max_at_ns: self.longest.1,
            median_last_ns: statistics::median(&last).unwrap_or(0.0),
            bars: summary.bars,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_slides_and_the_mean_does_not() {
        let mut running = Running::default();
        (0..100).for_each(|_| running.record(1_000));
        assert_eq!(running.end_interval(), 1_000.0);
        (0..100).for_each(|_| running.record(3_000));
        let figures = running.figures();
        assert_eq!((figures.count, figures.mean_ns.round(), figures.median_last_ns), (200, 2_000.0, 3_000.0));
        assert_eq!(figures.bars.iter().map(|bar| bar.1).sum::<u64>(), 200);
        assert_eq!(running.end_interval(), 3_000.0);
        assert!(running.end_interval().is_nan());
    }
}
