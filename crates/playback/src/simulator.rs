//! Play of a trace of arrivals by a virtual clock.

use crate::law::{Law, State};
use crate::{Arrival, Limits, Situation};

/// What became of one law on one trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Time without sound after play had begun.
    pub stalled_seconds: f64,
    /// Times that play stopped.
    pub n_stalls: usize,
    /// The rate of each step from the start of play, 0 while stalled.
    pub rates: Vec<f64>,
    /// The buffer after each step.
    pub buffer_seconds: Vec<f64>,
}

/// Seconds of a step.
const STEP_SECONDS: f64 = 0.1;

/// Weight of the newest step in the mean rate of arrival: a memory of some 10 s.
const NEWEST_WEIGHT: f64 = 0.01;

/// Plays `arrivals`, media seconds in each tenth of a second, at a requested rate of 1 with a start-up buffer of `start_seconds`
/// and a buffer of `capacity_seconds`; what does not fit is left to the sender, who sends it no more.
///
/// The forecast of arrival is the exponentially weighted mean, its error the weighted deviation.
#[must_use]
pub fn simulate(law: Law, arrivals: &[f64], limits: Limits, start_seconds: f64, capacity_seconds: f64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut state = State { rate: 1.0, unchanged_seconds: 0.0 };
    let (mut buffer, mut playing, mut started) = (0.0_f64, false, false);
    let (mut mean, mut variance) = (arrivals.first().map_or(0.0, |first| first / STEP_SECONDS), 0.0_f64);
    for arrived in arrivals {
        let deviation = arrived / STEP_SECONDS - mean;
        mean += NEWEST_WEIGHT * deviation;
        variance = (1.0 - NEWEST_WEIGHT) * (variance + NEWEST_WEIGHT * deviation * deviation);
        buffer = (buffer + arrived).min(capacity_seconds);
        playing = playing || buffer >= start_seconds;
        started = started || playing;
        if playing {
            let situation = Situation {
                buffer_seconds: buffer,
                capacity_seconds,
                start_seconds,
                left_seconds: None,
                // The error of the weighted mean, if the steps are independent.
                arrival: Arrival { mean_rate: mean, standard_error: (variance * NEWEST_WEIGHT / 2.0).sqrt() },
                requested_rate: 1.0,
            };
            state = law.step(state, &situation, limits, STEP_SECONDS);
            let wanted = state.rate * STEP_SECONDS;
            playing = buffer >= wanted;
            outcome.n_stalls += usize::from(!playing);
            buffer -= if playing { wanted } else { 0.0 };
        }
        if started {
            outcome.rates.push(if playing { state.rate } else { 0.0 });
            outcome.stalled_seconds += if playing { 0.0 } else { STEP_SECONDS };
        }
        outcome.buffer_seconds.push(buffer);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(law: Law, rate: f64) -> Outcome {
        simulate(law, &vec![rate * STEP_SECONDS; 12_000], Limits::default(), 5.0, 30.0)
    }

    #[test]
    fn a_sender_at_nine_tenths_breaks_two_speeds_and_one_but_not_the_restricted_law() {
        assert_eq!(run(Law::Restricted, 0.9).n_stalls, 0);
        assert!(run(Law::Shaka, 0.9).n_stalls > 0);
        assert!(run(Law::Off, 0.9).n_stalls > 0);
    }

    #[test]
    fn a_sender_that_keeps_up_is_played_as_requested() {
        for law in Law::ALL {
            assert!(run(law, 1.0).rates.iter().skip(600).all(|rate| (rate - 1.0).abs() < 0.011), "{law:?}");
        }
    }

    proptest! {
        #[test]
        fn buffers_limits_and_slew_hold_on_any_trace(arrivals in prop::collection::vec(0.0..0.4_f64, 1..1_500)) {
            let limits = Limits::default();
            let outcome = simulate(Law::Restricted, &arrivals, limits, 2.0, 10.0);
            prop_assert!(outcome.buffer_seconds.iter().all(|held| (0.0..=10.0).contains(held)));
            let played: Vec<f64> = outcome.rates.iter().copied().filter(|rate| *rate > 0.0).collect();
            prop_assert!(played.iter().all(|rate| (limits.slowest_ratio..=limits.fastest_ratio).contains(rate)));
            for second in played.windows(11) {
                prop_assert!((second[10] - second[0]).abs() <= 0.02 + 1e-9, "{second:?}");
            }
        }
    }
}
