//! Work of known length: so many turns of a loop that no compiler shortens, and how many of them make a second.
//!
//! Each turn needs the result of the one before, so that neither several pipelines nor wider registers shorten it, and
//! its result is used. The loop's one copy in the program is both calibrated and run. What remains is the processor's
//! frequency, and whoever else is on the core: a calibration is therefore looked at again during a run, and its drift
//! is part of the result.

use std::hint::black_box;
use std::time::Duration;

use clock::Stopwatch;
use serde::{Deserialize, Serialize};
use statistics::{mad, median};

/// Length of one trial: long beside a look at the clock, short beside the quiet between two interruptions.
const TRIAL: Duration = Duration::from_micros(500);
/// Trials of a calibration. About 25 ms.
const N_TRIALS: usize = 51;
/// Trials of a later look at a calibration. About 4 ms.
const N_CHECK_TRIALS: usize = 9;

/// Turns of work per time, as found by running it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Turns that fit into a nanosecond at the median of the trials.
    pub turns_per_ns: f64,
    /// Median absolute deviation of the trials by their median: how steady the core was.
    pub dispersion_ratio: f64,
    /// Trials made.
    pub n_trials: usize,
}

/// Does `n_turns` of work. About a nanosecond each.
#[inline(never)]
pub fn turn(n_turns: u64) -> u64 {
    let mut state = black_box(0x9E37_79B9_7F4A_7C15_u64);
    for _ in 0..n_turns {
        // Shift and product in turn: unlike a linear step, several of these cannot be folded into one.
        state ^= state >> 29;
        state = state.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    black_box(state)
}

impl Calibration {
    /// Runs work for some 25 ms on the core it finds itself on. A first trial warms that core up and is not counted.
    #[must_use]
    pub fn measure() -> Self {
        let turns = turns_of_a_trial();
        Self::of_trials(turns, N_TRIALS)
    }

    /// Returns the number of turns that take `span` by this calibration, to the nearest one.
    #[must_use]
    pub fn turns(&self, span: Duration) -> u64 {
        (span.as_nanos() as f64 * self.turns_per_ns).round() as u64
    }

    /// Returns the time that `turns` take by this calibration.
    #[must_use]
    pub fn span(&self, turns: u64) -> Duration {
        Duration::from_nanos((turns as f64 / self.turns_per_ns).round() as u64)
    }

    /// Calibrates again, shortly, and returns by what share work takes longer than it did: 0.02 where it takes 2 %
    /// longer.
    #[must_use]
    pub fn drift_ratio(&self) -> f64 {
        let turns = self.turns(TRIAL).max(1);
        self.turns_per_ns / Self::of_trials(turns, N_CHECK_TRIALS).turns_per_ns - 1.0
    }

    fn of_trials(turns: u64, n_trials: usize) -> Self {
        time_turns(turns);
        let spans: Vec<f64> = (0..n_trials).map(|_| time_turns(turns)).collect();
        let middle = median(&spans).unwrap_or(f64::INFINITY);
        Self {
            turns_per_ns: turns as f64 / middle,
            dispersion_ratio: mad(&spans).unwrap_or(f64::INFINITY) / middle,
            n_trials,
        }
    }
}

/// Doubles the turns until they take as long as a trial should.
fn turns_of_a_trial() -> u64 {
    let mut turns = 1_024;
    loop {
        let span_ns = time_turns(turns);
        if span_ns >= TRIAL.as_nanos() as f64 {
            return turns;
        }
        turns *= 2;
    }
}

/// Returns the nanoseconds that `turns` take; at least one, so that it can be divided by.
fn time_turns(turns: u64) -> f64 {
    let clock = Stopwatch::start();
    turn(turns);
    (clock.elapsed_ns() as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_changes_the_result() {
        let results: Vec<u64> = (0..100).map(turn).collect();
        let mut distinct = results.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), results.len());
    }

    #[test]
    fn turns_and_spans_are_each_others_inverse() {
        let calibration = Calibration { turns_per_ns: 0.8, dispersion_ratio: 0.0, n_trials: 1 };
        assert_eq!(calibration.turns(Duration::from_millis(1)), 800_000);
        assert_eq!(calibration.span(800_000), Duration::from_millis(1));
    }

    #[test]
    fn a_calibration_is_positive_and_finite_on_any_machine() {
        let calibration = Calibration::measure();
        assert!(calibration.turns_per_ns > 0.0 && calibration.turns_per_ns.is_finite());
        assert!(calibration.drift_ratio().is_finite());
    }
}
