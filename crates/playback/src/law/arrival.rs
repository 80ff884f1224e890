//! Determined by arrival: consumption balances delivery, so that a sender that sends faster or slower steers the
//! player.
//!
//! ```text
//! wish = clamp(e + (B - S) / LOOK_AHEAD, slowest, fastest)
//! ```
//!
//! with the expected rate of arrival e, B seconds in the buffer, and S that play starts with. What the listener asked
//! for counts by the limits only.

use super::State;
use super::ramp::towards;
use crate::{Limits, Situation, bounds};

/// A buffer that is fuller or emptier than at the start comes back over this time.
const LOOK_AHEAD_SECONDS: f64 = 30.0;

pub(super) fn rate(state: State, situation: &Situation, limits: Limits) -> f64 {
    let wish = situation.arrival.map_or(situation.requested_rate, |arrival| {
        let balance = (situation.buffer_seconds - situation.start_seconds) / LOOK_AHEAD_SECONDS;
        (arrival.expected_rate() + balance).min(bounds(situation, limits).by_decoding)
    });
    towards(limits.clamp(wish, situation.requested_rate), state)
}
