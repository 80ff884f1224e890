//! Restricted by arrival: the request holds inside the bounds, and the rate goes to the nearest bound outside them.
//!
//! ```text
//! asked = requested * (1 + min(offset - target, max(B - S, 0)) / LOOK_AHEAD)    of a live medium
//!       = requested                                                             otherwise
//! wish  = clamp(min(max(asked, B > S ? least : 0), greatest), requested * slowest, requested * fastest)
//! ```
//!
//! with B seconds in the buffer and S that play starts with: only what is more than that is spent on coming nearer, or
//! on making room. So a forecast that is wrong, however far, never empties the buffer faster than the request would.
//!
//! The rate moves towards the wish at no more than 2 % a second, in steps of 0.01. Where the bounds cross, not running
//! out goes before not overflowing: an overflow can be left to the sender.

use super::State;
use super::ramp::towards;
use crate::{Limits, Situation, bounds};

/// A live medium that is behind comes back over the look-ahead of the forecast.
const LOOK_AHEAD_SECONDS: f64 = 30.0;

pub(super) fn rate(state: State, situation: &Situation, limits: Limits) -> f64 {
    let bounds = bounds(situation, limits);
    let asked = asked(situation);
    let least = if situation.buffer_seconds > situation.start_seconds { bounds.least_rate } else { 0.0 };
    let wish = asked.max(least).min(bounds.greatest_rate());
    towards(limits.clamp(wish, situation.requested_rate), state)
}

/// Returns the rate that is asked for before any bound.
fn asked(situation: &Situation) -> f64 {
    let spare = (situation.buffer_seconds - situation.start_seconds).max(0.0);
    let behind = situation.live.map_or(0.0, |live| (live.offset_seconds - live.target_seconds).min(spare));
    situation.requested_rate * (1.0 + behind / LOOK_AHEAD_SECONDS)
}
