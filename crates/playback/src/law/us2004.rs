//! The law published as US 2004/0064576: an offset from the set rate, by how far the buffer is outside two thresholds.
//!
//! ```text
//! offset = SCALE * atanh((X - T_L) / T_L)            X < T_L
//!        = 0                                         T_L <= X <= T_H
//!        = SCALE * atanh((X - T_H) / (Max - T_H))    X > T_H
//! ```

use crate::Situation;

/// Rate per unit of the inverse hyperbolic tangent. The publication leaves it open; 0.1 slows to 0.8 at 4 % of `T_L`.
const SCALE: f64 = 0.1;

/// `T_H` as a share of the buffer's capacity, open as well.
const HIGH_RATIO: f64 = 0.75;

pub(super) fn rate(situation: &Situation) -> f64 {
    let (held, max) = (situation.buffer_seconds, situation.capacity_seconds);
    // The start-up buffer is what a player wants to hold.
    let low = situation.start_seconds;
    let high = (max * HIGH_RATIO).max(low);
    let offset = if held < low {
        SCALE * ((held - low) / low).atanh()
    } else if held > high && situation.does_sender_wait {
        // On demand, a full buffer is no reason for haste: the sender waits.
        0.0
    } else if held > high {
        // A buffer can hold more than it should: sizes in seconds are estimates.
        SCALE * ((held - high) / (max - high).max(0.0)).min(1.0).atanh()
    } else {
        0.0
    };
    situation.requested_rate + offset
}
