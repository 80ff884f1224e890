//! Android's Media3: a live medium plays faster or slower in proportion to how far it is behind.
//!
//! ```text
//! rate = clamp(1 + 0.1 (offset - target), 0.97, 1.03)    at most once a second; 1 within 20 ms of the target
//! ```
//!
//! Written from a description, not yet checked against the player.

use super::State;
use crate::Situation;

/// Gain of the rate, for each second behind.
const GAIN: f64 = 0.1;
const RATES: (f64, f64) = (0.97, 1.03);
const UPDATE_SECONDS: f64 = 1.0;
const NEAR_ENOUGH_SECONDS: f64 = 0.02;

pub(super) fn rate(state: State, situation: &Situation) -> f64 {
    let requested = situation.requested_rate;
    let Some(live) = situation.live else { return requested };
    if state.unchanged_seconds < UPDATE_SECONDS {
        return state.rate;
    }
    let behind = live.offset_seconds - live.target_seconds;
    if behind.abs() < NEAR_ENOUGH_SECONDS {
        requested
    } else {
        requested * (1.0 + GAIN * behind).clamp(RATES.0, RATES.1)
    }
}
