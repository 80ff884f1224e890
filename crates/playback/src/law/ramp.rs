//! Ramp from one rate to another without being heard.
//!
//! ```text
//! rate' = rate + STEP * sign(wish - rate)    if |wish - rate| >= STEP and the rate has held for STEP / SLEW seconds
//!       = rate                               otherwise
//! ```

use super::State;

/// Change of the rate in a second: a faster change of tempo is heard as one.
const SLEW_PER_SECOND: f64 = 0.02;

/// The smallest change, and so the dead band. Safari stalls for a moment at each change, so there are at most two a
/// second.
const STEP: f64 = 0.01;

/// The most that rounding in sums may take from a whole step.
const ROUNDING: f64 = 1e-9;

/// The next rate on the way to `wish`. Where no rate was heard before, the wish itself in whole steps, towards slow.
pub(super) fn towards(wish: f64, state: State) -> f64 {
    if state.unchanged_seconds.is_infinite() {
        return ((wish + ROUNDING) / STEP).floor() * STEP;
    }
    let change = wish - state.rate;
    if change.abs() < STEP - ROUNDING || state.unchanged_seconds < STEP / SLEW_PER_SECOND - ROUNDING {
        return state.rate;
    }
    // In whole steps, so that rates do not drift by rounding; a limit may lie between two.
    let steps = state.rate / STEP;
    STEP * if change > 0.0 { (steps + ROUNDING).floor() + 1.0 } else { (steps - ROUNDING).ceil() - 1.0 }
}
