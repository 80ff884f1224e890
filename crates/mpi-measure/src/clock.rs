//! The clock of a run: what it can tell apart, and what a look at it costs.
//!
//! Monotonic time of this host. Clocks of other hosts are brought together by `offset`. A clock is surveyed before it is
//! trusted: one known benchmark calls a machine 97 % noise because its smallest step of time is a tick of the timer.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use statistics::median;

/// Looks made at the clock in a survey, enough for a median that does not move between surveys.
const N_LOOKS: usize = 2_000;

/// Monotonic time since the clock was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

/// What a clock can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockQuality {
    /// The smallest step between two looks that differ, in nanoseconds.
    pub resolution_ns: u64,
    /// What one look takes at the median, in nanoseconds.
    pub cost_ns: f64,
}

impl Clock {
    /// A clock that starts at zero.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Nanoseconds since the start; enough for 584 years.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Looks at the clock some thousand times, which takes less than a millisecond, or, where a step of the clock is long,
    /// as long as a few steps.
    #[must_use]
    pub fn survey(&self) -> ClockQuality {
        ClockQuality { resolution_ns: self.resolution_ns(), cost_ns: self.cost_ns() }
    }

    fn resolution_ns(&self) -> u64 {
        let step = || {
            let first = self.now_ns();
            loop {
                let next = self.now_ns();
                if next > first {
                    return next - first;
                }
            }
        };
        (0..32).map(|_| step()).min().unwrap_or(u64::MAX)
    }

    /// A single look is as short as the clock's step, so many are timed at once.
    fn cost_ns(&self) -> f64 {
        const N_BATCHES: usize = 21;
        let batch = N_LOOKS / N_BATCHES;
        let costs: Vec<f64> = (0..N_BATCHES)
            .map(|_| {
                let first = Instant::now();
                for _ in 0..batch {
                    std::hint::black_box(self.now_ns());
                }
                first.elapsed().as_nanos() as f64 / batch as f64
            })
            .collect();
        median(&costs).unwrap_or(f64::INFINITY)
    }
}

impl ClockQuality {
    /// The shortest time that this clock tells to within a hundredth: a hundred of its steps and looks.
    #[must_use]
    pub fn shortest_measurable(&self) -> Duration {
        Duration::from_nanos((100.0 * (self.resolution_ns as f64).max(self.cost_ns)).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let clock = Clock::start();
        let looks: Vec<u64> = (0..10_000).map(|_| clock.now_ns()).collect();
        assert!(looks.is_sorted());
    }

    #[test]
    fn a_survey_finds_a_step_and_a_cost() {
        let quality = Clock::start().survey();
        assert!(quality.resolution_ns >= 1);
        assert!(quality.cost_ns > 0.0 && quality.cost_ns.is_finite());
        assert!(quality.shortest_measurable() >= Duration::from_nanos(100));
    }
}
