//! The scale on which errors of availability are learned and added: its inverse, by which a task takes longer.
//!
//! Of a core that `n` others use, a task gets 1 / (1 + n). One that comes or goes takes much from a core that was free, and little from one that many share; how much
//! longer a task takes changes by the same each time. So an error that was learned while the core was free says, on this scale, what it means when it is
//! not; added to the availability it would leave nothing. The sign is turned so that more is still better.

/// Shares of a core below this are not told apart.
const SHARE_MIN: f64 = 0.01;

pub(super) fn of(share: f64) -> f64 {
    -1.0 / share.max(SHARE_MIN)
}

/// The share of a value; infinite for values that no share has.
pub(super) fn share(value: f64) -> f64 {
    if value < 0.0 { -1.0 / value } else { f64::INFINITY }
}

/// How much faster than the share its value changes.
pub(super) fn slope(share: f64) -> f64 {
    share.max(SHARE_MIN).powi(-2)
}
