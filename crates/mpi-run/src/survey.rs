//! Resolution of a run's clock, and cost of a look at it.
//!
//! A clock is surveyed before it is trusted: one known benchmark calls a machine 97 % noise because its smallest step
//! of time is a tick of the timer. Clocks of several hosts are brought together by [`Offset`](crate::Offset).

use std::time::Duration;

use clock::Stopwatch;
use serde::{Deserialize, Serialize};
use statistics::median;

/// Looks made at the clock in a survey, enough for a median that does not move between surveys.
const N_LOOKS: usize = 2_000;

/// Quality of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockQuality {
    /// The smallest step between two looks that differ, in nanoseconds.
    pub resolution_ns: u64,
    /// Median cost of one look, in nanoseconds.
    pub cost_ns: f64,
}

impl ClockQuality {
    /// Looks at the clock some thousand times, which takes less than a millisecond, or, where a step of the clock is
    /// long, as long as a few steps.
    #[must_use]
    pub fn survey(clock: &Stopwatch) -> Self {
        Self { resolution_ns: resolution_ns(clock), cost_ns: cost_ns(clock) }
    }

    /// Returns the shortest time that this clock measures to within a hundredth: a hundred of its steps and looks.
    #[must_use]
    pub fn shortest_measurable(&self) -> Duration {
        Duration::from_nanos((100.0 * (self.resolution_ns as f64).max(self.cost_ns)).ceil() as u64)
    }
}

fn resolution_ns(clock: &Stopwatch) -> u64 {
    let step = || {
        let first = clock.elapsed_ns();
        loop {
            let next = clock.elapsed_ns();
            if next > first {
                return next - first;
            }
        }
    };
    (0..32).map(|_| step()).min().unwrap_or(u64::MAX)
}

/// A single look is as short as the clock's step, so many are timed at once.
fn cost_ns(clock: &Stopwatch) -> f64 {
    const N_BATCHES: usize = 21;
    let batch = N_LOOKS / N_BATCHES;
    let costs: Vec<f64> = (0..N_BATCHES)
        .map(|_| {
            let batch_clock = Stopwatch::start();
            for _ in 0..batch {
                std::hint::black_box(clock.elapsed_ns());
            }
            batch_clock.elapsed_ns() as f64 / batch as f64
        })
        .collect();
    median(&costs).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_finds_a_step_and_a_cost() {
        let quality = ClockQuality::survey(&Stopwatch::start());
        assert!(quality.resolution_ns >= 1);
        assert!(quality.cost_ns > 0.0 && quality.cost_ns.is_finite());
        assert!(quality.shortest_measurable() >= Duration::from_nanos(100));
    }
}
