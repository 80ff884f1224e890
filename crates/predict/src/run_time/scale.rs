//! The scale on which errors of means are learned and added.
//!
//! For availability it is the inverse, by which a task takes longer.
//! Of a core that `n` others use, a task gets 1 / (1 + n). One that comes or goes takes much from a core that was free,
//! and little from one that many share; how much longer a task takes changes by the same each time. So an error that
//! was learned while the core was free says, on this scale, what it means when it is not; added to the availability it
//! would leave nothing. The sign is turned so that more is still better.

use serde::{Deserialize, Serialize};

/// Shares of a core below this are not told apart.
const SHARE_MIN: f64 = 0.01;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Scale {
    /// The inverse, its sign turned.
    #[default]
    Inverse,
    /// The quantity itself.
    Linear,
}

impl Scale {
    /// NaN for NaN: what is not known is no small share.
    pub(super) fn of(self, value: f64) -> f64 {
        match self {
            Self::Inverse if value.is_nan() => value,
            Self::Inverse => -1.0 / value.max(SHARE_MIN),
            Self::Linear => value,
        }
    }

    /// Returns the value at a place on the scale; infinite for places without a value.
    pub(super) fn value(self, place: f64) -> f64 {
        match self {
            Self::Inverse if place < 0.0 => -1.0 / place,
            Self::Inverse => f64::INFINITY,
            Self::Linear => place,
        }
    }

    /// Returns the slope of the scale: how much faster than the quantity its place changes.
    pub(super) fn slope(self, value: f64) -> f64 {
        match self {
            Self::Inverse => value.max(SHARE_MIN).powi(-2),
            Self::Linear => 1.0,
        }
    }
}
