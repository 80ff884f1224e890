//! dash.js with LoL+: a logistic curve of how much the buffer lacks of half a second, and otherwise of how far play is behind.
//!
//! ```text
//! rate = 1 - CATCH_UP + 2 CATCH_UP / (1 + e^(-5 d))
//! d    = B - 0.5                      B < 0.5 s
//!      = offset - target              of a live medium, if that is beyond 2 % of the target
//!      = 0                            otherwise
//! ```
//!
//! A change of less than 0.02 is not made. Written from a description, not yet checked against the player.

use super::State;
use crate::Situation;

/// The least that the buffer is to hold.
const BUFFER_SECONDS: f64 = 0.5;
/// How far the curve goes to either side of 1.
const CATCH_UP: f64 = 0.5;
/// How steep it is, in a second.
const STEEPNESS: f64 = 5.0;
/// Latency that is near enough, as a share of the target.
const NEAR_ENOUGH: f64 = 0.02;
/// The smallest change that is made.
const CHANGE_MIN: f64 = 0.02;

pub(super) fn rate(state: State, situation: &Situation) -> f64 {
    let behind = situation.live.map_or(0.0, |live| {
        let behind = live.offset_seconds - live.target_seconds;
        if behind.abs() <= NEAR_ENOUGH * live.target_seconds { 0.0 } else { behind }
    });
    let lack = situation.buffer_seconds - BUFFER_SECONDS;
    let distance = if lack < 0.0 { lack } else { behind };
    let curve = 1.0 - CATCH_UP + 2.0 * CATCH_UP / (1.0 + (-STEEPNESS * distance).exp());
    let rate = situation.requested_rate * curve;
    if (rate - state.rate).abs() < CHANGE_MIN { state.rate } else { rate }
}
