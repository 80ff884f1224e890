//! The controller: a law, the state it carries, and what a listener is told of it.

use crate::law::{Law, State};
use crate::{Arrival, Limits, Situation, bounds};

/// Memory of the mean rate that is told, in seconds.
const MEAN_SECONDS: f64 = 60.0;

/// The least difference from the request that needs a cause.
const NOTICEABLE: f64 = 0.005;

/// The reason why the rate is not what the listener asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Media arrive too slowly: by the disk, the network or the sender, whichever it is.
    Arrival,
    /// Media arrive too fast for the buffer.
    Overflow,
    /// Decoding does not keep up.
    Cpu,
    /// Play is behind, or ahead of, where a live medium should be.
    LiveEdge,
    /// It is on its way to or from another rate.
    Slew,
}

/// The controller's decision for the next moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The rate to play at, within the limits.
    pub rate: f64,
    /// The reason why the rate is not the requested one, if it is not.
    pub cause: Option<Cause>,
    /// The time that the buffer lasts at this rate, if what is expected arrives; `None` for as far as the forecast
    /// looks, or longer.
    pub until_break_seconds: Option<f64>,
    /// The mean of recent rates: an exponentially weighted one, with a memory of a minute.
    pub mean_rate: f64,
}

/// Chooses the rate, moment by moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    law: Law,
    limits: Limits,
    state: State,
    mean_rate: f64,
}

impl Controller {
    /// Builds a controller before play, for a listener who asks for `requested_rate`.
    #[must_use]
    pub fn new(law: Law, limits: Limits, requested_rate: f64) -> Self {
        Self { law, limits, state: State::silent(requested_rate), mean_rate: requested_rate }
    }

    /// The law.
    #[must_use]
    pub fn law(&self) -> Law {
        self.law
    }

    /// Play broke off, or was stopped: no change of the rate is heard when it goes on.
    pub fn fall_silent(&mut self) {
        self.state = State::silent(self.state.rate);
    }

    /// The listener asks for another rate, which holds at once as far as the bounds allow.
    pub fn request_changed(&mut self) {
        self.fall_silent();
    }

    /// Returns the decision after `elapsed_seconds`, finite and at least 0, that led to `situation`.
    pub fn step(&mut self, situation: &Situation, elapsed_seconds: f64) -> Decision {
        self.state = self.law.step(self.state, situation, self.limits, elapsed_seconds);
        let rate = self.state.rate;
        self.mean_rate += (1.0 - (-elapsed_seconds / MEAN_SECONDS).exp()) * (rate - self.mean_rate);
        Decision {
            rate,
            cause: self.cause(situation),
            until_break_seconds: until_break(situation, rate),
            mean_rate: self.mean_rate,
        }
    }

    fn cause(&self, situation: &Situation) -> Option<Cause> {
        let difference = self.state.rate - situation.requested_rate;
        if difference.abs() < NOTICEABLE {
            return None;
        }
        let bounds = bounds(situation, self.limits);
        let requested = situation.requested_rate;
        Some(match difference < 0.0 {
            true if bounds.by_decoding < requested.min(bounds.by_arrival) => Cause::Cpu,
            true if bounds.by_arrival < requested => Cause::Arrival,
            false if bounds.least_rate > requested => Cause::Overflow,
            _ if self.law == Law::Arrival => Cause::Arrival,
            _ if situation.live.is_some() => Cause::LiveEdge,
            // Other laws go by the buffer.
            true if !self.law.looks_ahead() => Cause::Arrival,
            _ => Cause::Slew,
        })
    }
}

/// When the first of what was received and what was decoded is used up at `rate`.
fn until_break(situation: &Situation, rate: f64) -> Option<f64> {
    let received = situation.arrival.and_then(|arrival| until_empty(&arrival, situation.buffer_seconds, rate));
    let decoded = situation.decoding.and_then(|decoding| until_empty(&decoding.rate, decoding.ahead_seconds, rate));
    // Nobody waits for what does not come any more.
    let left_seconds = situation.left_seconds.unwrap_or(f64::INFINITY);
    let first = received.into_iter().chain(decoded).fold(f64::INFINITY, f64::min);
    (first.is_finite() && first * rate < left_seconds).then_some(first)
}

/// When what is held is used up at `rate`: between two leads of the forecast, it is filled at one rate.
fn until_empty(filling: &Arrival, held_seconds: f64, rate: f64) -> Option<f64> {
    let (mut before, mut held) = (0.0, held_seconds);
    for reach in filling.reaches {
        let then = held_seconds + (reach.expected_rate - rate) * reach.seconds;
        if then < 0.0 {
            return Some(before + (reach.seconds - before) * held / (held - then));
        }
        (before, held) = (reach.seconds, then);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decoding;

    #[test]
    fn a_break_is_foreseen_from_whatever_runs_out_first() {
        let mut situation = Situation {
            buffer_seconds: 8.0,
            capacity_seconds: 30.0,
            start_seconds: 5.0,
            left_seconds: None,
            arrival: Some(Arrival::steady(0.5)),
            does_sender_wait: true,
            decoding: None,
            live: None,
            requested_rate: 1.0,
        };
        let check = |situation: &Situation, expected: Option<f64>| {
            let found = until_break(situation, 1.0);
            assert!(found.zip(expected).is_none_or(|(found, expected)| (found - expected).abs() < 1e-9), "{found:?}");
            assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        };
        check(&situation, Some(16.0));
        situation.decoding = Some(Decoding { ahead_seconds: 4.0, rate: Arrival::steady(0.6) });
        check(&situation, Some(10.0));
        situation.left_seconds = Some(9.0);
        check(&situation, None);
        situation.arrival = Some(Arrival::steady(1.0));
        situation.decoding = None;
        check(&Situation { left_seconds: None, ..situation }, None);
    }
}
