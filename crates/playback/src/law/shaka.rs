//! Shaka Player's two speeds: on demand by how full the buffer is, live by how far play is behind.
//!
//! ```text
//! on demand   0.95     B <= goal / 2
//!             1        B >= goal                    otherwise as before
//! live        1.1      offset > target + 0.5 s
//!             0.95     offset < target - 0.5 s
//!             1        otherwise
//! ```
//!
//! The goal is what it fetches ahead of play: the buffer's capacity, or what is left. Both are options of the player's
//! that are off unless asked for (`vodDynamicPlaybackRate`, `liveSync`), with their default values. Checked against
//! Shaka Player 5.2.12.

use super::State;
use crate::Situation;

const SLOW: f64 = 0.95;
const FAST: f64 = 1.1;
/// Share of the goal at which a short buffer plays slower.
const LOW_RATIO: f64 = 0.5;
/// Tolerance around the target of a live medium, to either side.
const TOLERANCE_SECONDS: f64 = 0.5;

/// The most that rounding may take from a full buffer.
const ROUNDING_SECONDS: f64 = 1e-9;

pub(super) fn rate(state: State, situation: &Situation) -> f64 {
    let requested = situation.requested_rate;
    if let Some(live) = situation.live {
        let behind = live.offset_seconds - live.target_seconds;
        return match behind {
            behind if behind > TOLERANCE_SECONDS => FAST * requested,
            behind if behind < -TOLERANCE_SECONDS => SLOW * requested,
            _ => requested,
        };
    }
    let goal = situation.left_seconds.map_or(situation.capacity_seconds, |left| left.min(situation.capacity_seconds));
    if situation.buffer_seconds >= goal - ROUNDING_SECONDS {
        requested
    } else if situation.buffer_seconds <= LOW_RATIO * goal {
        SLOW * requested
    } else {
        state.rate
    }
}
