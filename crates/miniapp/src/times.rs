//! Times of one rank's calls.

use statistics::digest::{Digest, Summary};
use statistics::median;

/// Calls whose median is told apart: what a run settles to.
const N_LAST: usize = 100;

/// Lengths of one kind of step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    digest: Digest,
    total_ns: u64,
    /// The last times, in no order.
    last_ns: Vec<f64>,
}

impl Times {
    pub(crate) fn record(&mut self, span_ns: u64) {
        let idx = (self.digest.count() % N_LAST as u64) as usize;
        match self.last_ns.get_mut(idx) {
            Some(oldest) => *oldest = span_ns as f64,
            None => self.last_ns.push(span_ns as f64),
        }
        self.digest.record(span_ns);
        self.total_ns += span_ns;
    }

    pub(crate) fn total_ns(&self) -> u64 {
        self.total_ns
    }

    pub(crate) fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / (self.digest.count() as f64).max(1.0)
    }

    pub(crate) fn summary(&self) -> Summary {
        self.digest.summary()
    }

    /// The median of the last hundred.
    pub(crate) fn last_median_ns(&self) -> f64 {
        median(&self.last_ns).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hundred_are_those_that_came_last() {
        let mut times = Times::default();
        (1..=250).for_each(|span_ns| times.record(span_ns));
        assert_eq!(times.last_median_ns(), 200.5);
        assert_eq!((times.total_ns(), times.mean_ns()), (31_375, 125.5));
    }
}
