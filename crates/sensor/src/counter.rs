//! A counter of the kernel's, and the signal that is its rate.

use std::{sync::Arc, time::Duration};

use signal::{Readings, Signal};

/// A signal that is the rate of a counter.
#[derive(Debug)]
pub(crate) struct Rate {
    signal: Arc<Signal>,
    counter: LastCount,
    per_count: f64,
}

impl Rate {
    /// `per_count` is what one of the counter's steps is in the unit of the signal: 512 for sectors counted as bytes.
    pub(crate) fn new(signal: Arc<Signal>, per_count: f64) -> Rate {
        Rate { signal, counter: LastCount::default(), per_count }
    }

    /// Forgets the count, as if none had been read yet.
    pub(crate) fn restart(&mut self) {
        self.counter = LastCount::default();
    }

    /// Hands out the rate up to `at`, when the counter says `count`, if there is one.
    pub(crate) fn step(&mut self, at: Duration, count: u64, readings: &mut Readings) {
        let rate = self.counter.rate(at, count);
        readings.push_some(&self.signal, rate.map(|rate| rate * self.per_count));
    }
}

/// A counter as it was read last. Its rate needs two reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastCount {
    last: Option<(Duration, u64)>,
}

impl LastCount {
    /// Returns the growth of the counter per second since the read before, up to `at`, when it stands at `count`.
    ///
    /// None at the first read, when no time has passed, and when the counter went backwards: it was reset or wrapped,
    /// and how far it got before that is unknown.
    pub(crate) fn rate(&mut self, at: Duration, count: u64) -> Option<f64> {
        let (last_at, last_count) = self.last.replace((at, count))?;
        let elapsed = at.checked_sub(last_at).filter(|elapsed| !elapsed.is_zero())?;
        let grown = count.checked_sub(last_count)?;
        Some(grown as f64 / elapsed.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rates(reads: &[(u64, u64)], expected: &[Option<f64>]) {
        let mut counter = LastCount::default();
        let rates: Vec<_> =
            reads.iter().map(|&(at_ms, count)| counter.rate(Duration::from_millis(at_ms), count)).collect();
        assert_eq!(rates, expected);
    }

    #[test]
    fn a_rate_is_growth_over_elapsed_time() {
        check_rates(&[(0, 100), (2_000, 300), (2_500, 300)], &[None, Some(100.0), Some(0.0)]);
    }

    #[test]
    fn a_counter_that_went_back_starts_again() {
        check_rates(&[(0, 100), (1_000, 40), (2_000, 50)], &[None, None, Some(10.0)]);
    }

    #[test]
    fn no_time_gives_no_rate() {
        check_rates(&[(1_000, 0), (1_000, 5), (500, 9)], &[None, None, None]);
    }
}
