//! The thresholds of WebRTC's NetEq: slower below three quarters of the target, faster above it, as far as the listener
//! accepts.
//!
//! NetEq lengthens or shortens a sound by a pitch period at a time; which rates that comes to depends on the sound, so
//! here they are the limits. It is made for calls, where a full buffer is delay: a medium on demand it would play too
//! fast, so there it only slows down.

use crate::{Limits, Situation};

/// Share of the target below which it slows down.
const LOW_RATIO: f64 = 0.75;

pub(super) fn rate(situation: &Situation, limits: Limits) -> f64 {
    let requested = situation.requested_rate;
    if situation.buffer_seconds < LOW_RATIO * situation.start_seconds {
        limits.slowest(requested)
    } else if situation.live.is_some() && situation.buffer_seconds > situation.start_seconds {
        limits.fastest(requested)
    } else {
        requested
    }
}
