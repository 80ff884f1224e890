//! Restricted by arrival: the request holds inside the bounds, and the rate goes to the nearest bound outside them.
//!
//! ```text
//! wish = clamp(clamp(requested, least, greatest), requested * slowest, requested * fastest)
//! rate' = rate + STEP * sign(wish - rate)    if |wish - rate| >= STEP and the rate has held for STEP / SLEW seconds
//!       = rate                               otherwise
//! ```
//!
//! Where the bounds cross, not running out goes before not overflowing: an overflow can be left to the sender.

use super::State;
use crate::{Limits, Situation, bounds};

/// Seconds that the bounds look ahead: three times what the way from 1.0 to 0.8 takes at the greatest slew.
const LOOK_AHEAD_SECONDS: f64 = 30.0;

/// Change of the rate in a second: a faster change of tempo is heard as one.
const SLEW_PER_SECOND: f64 = 0.02;

/// The smallest change, and so the dead band. Safari stalls for a moment at each change, so there are at most two a second.
const STEP: f64 = 0.01;

/// What rounding in sums may take from a whole step.
const ROUNDING: f64 = 1e-9;

pub(super) fn rate(state: State, situation: &Situation, limits: Limits) -> f64 {
    let bounds = bounds(situation, LOOK_AHEAD_SECONDS);
    let requested = situation.requested_rate;
    let (slowest, fastest) = (requested * limits.slowest_ratio, requested * limits.fastest_ratio);
    let wish = requested.max(bounds.least_rate).min(bounds.greatest_rate).clamp(slowest, fastest);
    let change = wish - state.rate;
    if change.abs() < STEP - ROUNDING || state.unchanged_seconds < STEP / SLEW_PER_SECOND - ROUNDING {
        return state.rate;
    }
    (state.rate + STEP.copysign(change)).clamp(slowest, fastest)
}
