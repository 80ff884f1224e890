//! Lengths of time as a program measures them.

use std::time::{Duration, Instant};

/// Monotonic time since it was started.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    start: Instant,
}

impl Stopwatch {
    /// Starts at zero.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Returns the time since it was started.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the same in nanoseconds; enough for 584 years.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let stopwatch = Stopwatch::start();
        let looks: Vec<u64> = (0..10_000).map(|_| stopwatch.elapsed_ns()).collect();
        assert!(looks.is_sorted());
    }
}
