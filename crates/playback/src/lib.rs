//! The rate at which a medium plays on without a break, decided from its buffer and a forecast of its arrival.
//!
//! Rates are media seconds per second: of arrival, what comes into the buffer; of play, what leaves it. Nothing here
//! reads a clock or does I/O: the caller says how much time has passed.

#![forbid(unsafe_code)]

mod bound;
pub mod law;
mod simulator;
pub mod stretch;

pub use bound::{Arrival, Bounds, bounds};
pub use law::Law;
pub use simulator::{Outcome, simulate};

/// What a law knows when it chooses a rate. All values are finite; those in seconds are at least 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// Media in the buffer.
    pub buffer_seconds: f64,
    /// Media that the buffer can hold.
    pub capacity_seconds: f64,
    /// Media that play needs before it starts, and starts again after a break.
    pub start_seconds: f64,
    /// Media not yet played, the buffer's included; `None` for a medium without an end.
    pub left_seconds: Option<f64>,
    /// What will arrive.
    pub arrival: Arrival,
    /// The rate that the listener asked for.
    pub requested_rate: f64,
}

/// The rates that a listener accepts, as shares of the requested one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The slowest, in (0, 1].
    pub slowest_ratio: f64,
    /// The fastest, at least 1.
    pub fastest_ratio: f64,
}

impl Default for Limits {
    /// 0.8 to 1.1.
    fn default() -> Self {
        Self { slowest_ratio: 0.8, fastest_ratio: 1.1 }
    }
}
