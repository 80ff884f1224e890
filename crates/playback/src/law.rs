//! Laws that choose the rate, one file each.

mod restricted;
mod shaka;
mod us2004;

use crate::{Limits, Situation};

/// A law by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// The requested rate inside the bounds that arrival sets: this project's own.
    Restricted,
    /// Shaka Player's two speeds.
    Shaka,
    /// The law published as US 2004/0064576.
    Us2004,
    /// The requested rate, whatever the buffer holds.
    Off,
}

/// What a law carries from one step to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// The rate in force.
    pub rate: f64,
    /// Time since the rate changed.
    pub unchanged_seconds: f64,
}

impl Law {
    /// All laws, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Restricted, Self::Shaka, Self::Us2004, Self::Off];

    /// The state after `elapsed_seconds`, at least 0, in which `state` was in force and that led to `situation`.
    #[must_use]
    pub fn step(self, state: State, situation: &Situation, limits: Limits, elapsed_seconds: f64) -> State {
        let state = State { unchanged_seconds: state.unchanged_seconds + elapsed_seconds, ..state };
        let rate = match self {
            Self::Restricted => restricted::rate(state, situation, limits),
            Self::Shaka => shaka::rate(state, situation),
            Self::Us2004 => us2004::rate(situation, limits),
            Self::Off => situation.requested_rate,
        };
        if rate == state.rate { state } else { State { rate, unchanged_seconds: 0.0 } }
    }
}
