//! The rate at which a medium plays on without a break, decided from its buffer and a forecast of what arrives.
//!
//! Rates are media seconds per second: of arrival, what comes into the buffer; of play, what leaves it. Nothing here
//! reads a clock or does I/O: the caller says how much time has passed. The two modes are those of the specification
//! behind this project's patent reply ([0024]): [`Law::Arrival`] plays as media arrive, [`Law::Restricted`] plays as
//! the listener asked while that goes well.

#![forbid(unsafe_code)]

mod arrival;
mod bound;
mod control;
pub mod law;
mod lead;
mod optimum;
mod processor;
pub mod report;
mod simulator;
pub mod stretch;
mod trace;

use std::ops::RangeInclusive;

pub use arrival::{Arrival, Arrivals, Reach};
pub use bound::{Bounds, bounds};
pub use control::{Cause, Controller, Decision};
pub use law::{Law, UnknownLaw};
pub use lead::{BUSY_LEAD_SECONDS, LEAD_SECONDS, Lead, Wanted};
pub use processor::{AHEAD_SECONDS_MAX, AHEAD_SECONDS_MIN, Processor, Work};
pub use simulator::{Outcome, Setting, Step, TierCosts, simulate};
pub use trace::{Kind, Trace, TraceError};

/// The inputs from which a law chooses a rate. Values in seconds are finite and at least 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// Media in the buffer.
    pub buffer_seconds: f64,
    /// Media that the buffer can hold, above 0.
    pub capacity_seconds: f64,
    /// Media that play needs before it starts, and starts again after a break; above 0.
    pub start_seconds: f64,
    /// Media not yet played, the buffer's included; `None` for a medium without an end.
    pub left_seconds: Option<f64>,
    /// The forecast of arrival, as far as it is known.
    pub arrival: Option<Arrival>,
    /// Whether the sender waits while the buffer is full; what another sends then is lost.
    pub does_sender_wait: bool,
    /// The state of decoding, where it can be a limit.
    pub decoding: Option<Decoding>,
    /// The delay of play, of a live medium.
    pub live: Option<LiveEdge>,
    /// The rate that the listener asked for, above 0.
    pub requested_rate: f64,
}

/// The lead of a decoder over play, and its forecast rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decoding {
    /// Media that are decoded and not played.
    pub ahead_seconds: f64,
    /// The rate that the CPU lets it keep up with.
    pub rate: Arrival,
}

/// The place of a live medium, against where it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveEdge {
    /// Time from the making of media to their play.
    pub offset_seconds: f64,
    /// The offset that the listener accepts.
    pub target_seconds: f64,
}

/// A rate that nobody can ask for.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a rate of {0} cannot be asked for: it is above 0 and at most 4")]
pub struct RequestError(pub f64);

/// The rate, if a listener can ask for it: above 0 and at most 4.
///
/// # Errors
/// [`RequestError`] for others.
pub fn requested(rate: f64) -> Result<f64, RequestError> {
    (rate > 0.0 && rate <= 4.0).then_some(rate).ok_or(RequestError(rate))
}

/// The rates that a listener accepts, as shares of the requested one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    slowest_ratio: f64,
    fastest_ratio: f64,
    /// The rates that can be played at all.
    least_rate: f64,
    greatest_rate: f64,
}

/// Limits that no listener can have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "limits of {slowest} to {fastest} times the requested rate: the slowest is above 0 and at most 1, the fastest at least 1 and at most 2"
)]
pub struct LimitsError {
    slowest: f64,
    fastest: f64,
}

impl Limits {
    /// The slowest in (0, 1], the fastest in [1, 2].
    ///
    /// # Errors
    /// [`LimitsError`] for others.
    pub fn new(slowest_ratio: f64, fastest_ratio: f64) -> Result<Self, LimitsError> {
        let are_right = slowest_ratio > 0.0 && slowest_ratio <= 1.0 && (1.0..=2.0).contains(&fastest_ratio);
        are_right
            .then_some(Self { slowest_ratio, fastest_ratio, least_rate: 0.0, greatest_rate: f64::INFINITY })
            .ok_or(LimitsError { slowest: slowest_ratio, fastest: fastest_ratio })
    }

    /// These limits, cut to rates that can be played.
    #[must_use]
    pub fn playable(self, rates: RangeInclusive<f64>) -> Self {
        Self { least_rate: *rates.start(), greatest_rate: *rates.end(), ..self }
    }

    /// The slowest rate where this one is requested; never above it.
    #[must_use]
    pub fn slowest(self, requested_rate: f64) -> f64 {
        (self.slowest_ratio * requested_rate).max(self.least_rate).min(requested_rate)
    }

    /// The fastest rate where this one is requested; never below it.
    #[must_use]
    pub fn fastest(self, requested_rate: f64) -> f64 {
        (self.fastest_ratio * requested_rate).min(self.greatest_rate).max(requested_rate)
    }

    /// `rate`, or the limit that is nearest to it.
    #[must_use]
    pub fn clamp(self, rate: f64, requested_rate: f64) -> f64 {
        rate.clamp(self.slowest(requested_rate), self.fastest(requested_rate))
    }
}

impl Default for Limits {
    /// 0.8 to 1.1.
    fn default() -> Self {
        Self { slowest_ratio: 0.8, fastest_ratio: 1.1, least_rate: 0.0, greatest_rate: f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_ask_for_nothing_backwards_or_fifty_times() {
        assert_eq!(requested(1.2), Ok(1.2));
        for rate in [0.0, -1.0, 50.0, f64::INFINITY, f64::NAN] {
            let told = requested(rate).unwrap_err().to_string();
            assert!(told.contains(&rate.to_string()) && told.contains("at most 4"), "{told}");
            assert!(Limits::new(rate, 1.1).is_err(), "{rate}");
        }
        assert!(Limits::new(0.8, f64::NAN).is_err());
    }

    #[test]
    fn limits_are_cut_to_what_can_be_played() {
        let limits = Limits::default().playable(stretch::RATES);
        for (requested, slowest, fastest) in [(1.0, 0.8, 1.1), (2.0, 1.6, 2.0), (1.9, 1.52, 2.0), (0.5, 0.5, 0.55)] {
            let found = [limits.slowest(requested), limits.fastest(requested)];
            assert!((found[0] - slowest).abs() < 1e-12 && (found[1] - fastest).abs() < 1e-12, "{requested}: {found:?}");
            assert!(found.iter().all(|rate| stretch::RATES.contains(rate)), "{requested}: {found:?}");
        }
    }
}
