//! Shaka Player's two speeds: 0.95 of the request below half of the start-up buffer, the request again once that is full.
//!
//! Written from a description, not yet checked against the player.

use super::State;
use crate::Situation;

/// Share of the requested rate at which a short buffer plays.
const SLOW_RATIO: f64 = 0.95;

pub(super) fn rate(state: State, situation: &Situation) -> f64 {
    if situation.buffer_seconds < situation.start_seconds / 2.0 {
        situation.requested_rate * SLOW_RATIO
    } else if situation.buffer_seconds >= situation.start_seconds {
        situation.requested_rate
    } else {
        state.rate
    }
}
