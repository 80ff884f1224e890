//! dash.js with LoL+: a logistic curve of how much the buffer lacks of half a second, and otherwise of how far play is
//! behind.
//!
//! ```text
//! rate = 1 - w + 2 w / (1 + e^(-5 d))    w: how far the listener lets it go, to the side of d
//! d    = B - 0.5                         B < 0.5 s
//!      = offset - target                 of a live medium, if that is beyond 2 % of the target
//!      = 0                               otherwise
//! ```
//!
//! A change of less than 0.02, where it may go 0.5 faster, is not made, but to 1 it goes in any case. Checked against
//! dash.js 5.2.1. The player does this for live media only; here it does so on demand as well, where it would have no
//! law at all. It jumps where play is more than 12 s behind, which is no rate.

use super::State;
use crate::{Limits, Situation};

/// The least that the buffer is to hold.
const BUFFER_SECONDS: f64 = 0.5;
/// The steepness of the curve, in a second.
const STEEPNESS: f64 = 5.0;
/// Latency that is near enough, as a share of the target.
const NEAR_ENOUGH: f64 = 0.02;
/// The smallest change that is made, as a share of how much faster it may play.
const CHANGE_MIN_SHARE: f64 = 0.04;

pub(super) fn rate(state: State, situation: &Situation, limits: Limits) -> f64 {
    let requested = situation.requested_rate;
    let behind = situation.live.map_or(0.0, |live| {
        let behind = live.offset_seconds - live.target_seconds;
        if behind.abs() <= NEAR_ENOUGH * live.target_seconds { 0.0 } else { behind }
    });
    let lack = situation.buffer_seconds - BUFFER_SECONDS;
    let distance = if lack < 0.0 { lack } else { behind };
    let (slower, faster) = (requested - limits.slowest(requested), limits.fastest(requested) - requested);
    let width = if distance < 0.0 { slower } else { faster };
    let rate = requested - width + 2.0 * width / (1.0 + (-STEEPNESS * distance).exp());
    let is_made = (rate - state.rate).abs() >= CHANGE_MIN_SHARE * faster || rate == requested;
    if is_made { rate } else { state.rate }
}
