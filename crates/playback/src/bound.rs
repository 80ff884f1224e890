//! The least and greatest rate that play on without underflow or overflow over the look-ahead.
//!
//! With B seconds in a buffer of C, a reserve R, and over the next h seconds an expected rate of arrival e, an unlucky
//! one a and a lucky one A, for each h of the forecast:
//!
//! ```text
//! greatest = e + (B - R) / h                         what is expected lasts at one rate:      B + e h - r h >= R
//! greatest = (B - R + a h - s (h - t)) / t           bad luck can still be met:               B + a h - r t - s (h - t) >= R
//! least    = A - (C - B) / h                         good luck overflows nothing:             B + A h - r h <= C
//! ```
//!
//! Decoding is held to the same: then B is what is decoded ahead, and e and a are rates of decoding.
//!
//! The second is the point of a forecast with an error: play goes on at r for the t seconds that it takes to be at the
//! slowest rate s, and slower than s nobody wants it anyway. So a wide error slows nothing down that can wait. Where
//! the M seconds that are left all arrive within h, play ends after M / r and not after h, and the first becomes
//! `e M / (M - B)`.

use crate::{Arrival, Limits, Reach, Situation};

/// Rates between which play goes on; the least can be below 0 and `greatest` infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The rate below which the buffer overflows.
    pub least_rate: f64,
    /// The rate above which the buffer runs out.
    pub by_arrival: f64,
    /// The rate above which decoding falls behind.
    pub by_decoding: f64,
}

impl Bounds {
    /// The lower of the two upper bounds.
    #[must_use]
    pub fn greatest_rate(&self) -> f64 {
        self.by_arrival.min(self.by_decoding)
    }
}

/// Reserve in the buffer, for arrival that comes in lumps.
const RESERVE_SECONDS: f64 = 2.0;

/// And no more than this share of the start-up buffer, where that is short.
const RESERVE_SHARE: f64 = 0.4;

/// Reserve that stays decoded ahead of play, for a CPU that is lost between two samples.
const DECODED_RESERVE_SECONDS: f64 = 1.0;

/// The way from the requested rate to the slowest takes 10 s at the greatest slew and the usual limits, half of it at
/// the old rate in effect; and the forecast is a second old at most.
const REACTION_SECONDS: f64 = 6.0;

/// The bounds; without a forecast there are none.
#[must_use]
pub fn bounds(situation: &Situation, limits: Limits) -> Bounds {
    let reserve = RESERVE_SECONDS.min(RESERVE_SHARE * situation.start_seconds);
    let slowest = limits.slowest(situation.requested_rate);
    let arriving = situation.arrival.as_ref().map_or(f64::INFINITY, |arrival| {
        let supply = Supply {
            held_seconds: situation.buffer_seconds,
            reserve_seconds: reserve,
            left_seconds: situation.left_seconds,
        };
        supply.greatest(arrival, slowest)
    });
    let decoded = situation.decoding.map_or(f64::INFINITY, |decoding| {
        let supply = Supply {
            held_seconds: decoding.ahead_seconds,
            reserve_seconds: DECODED_RESERVE_SECONDS,
            left_seconds: situation.left_seconds,
        };
        supply.greatest(&decoding.rate, slowest)
    });
    let least = match situation.arrival {
        Some(arrival) if !situation.does_sender_wait => {
            let room = (situation.capacity_seconds - situation.buffer_seconds).max(0.0);
            arrival.reaches.iter().map(|reach| reach.greatest_rate - room / reach.seconds).fold(0.0, f64::max)
        }
        _ => 0.0,
    };
    Bounds { least_rate: least, by_arrival: arriving, by_decoding: decoded }
}

/// A supply from which play takes, and the media that are left.
struct Supply {
    held_seconds: f64,
    reserve_seconds: f64,
    left_seconds: Option<f64>,
}

impl Supply {
    fn greatest(&self, filling: &Arrival, slowest: f64) -> f64 {
        let of = |reach: &Reach| self.expected(reach).min(self.unlucky(reach, slowest));
        filling.reaches.iter().map(of).fold(f64::INFINITY, f64::min)
    }

    /// Returns the media that are held beyond the reserve; below 0 when the reserve is used.
    fn spare(&self) -> f64 {
        self.held_seconds - self.reserve_seconds
    }

    /// Returns the media that are still to come; infinite for a medium without an end.
    fn to_come(&self) -> f64 {
        self.left_seconds.map_or(f64::INFINITY, |left| left - self.held_seconds)
    }

    fn expected(&self, reach: &Reach) -> f64 {
        let (coming, to_come) = (reach.expected_rate * reach.seconds, self.to_come());
        if to_come <= 0.0 {
            f64::INFINITY
        } else if coming >= to_come {
            reach.expected_rate * (self.held_seconds + to_come) / to_come
        } else {
            reach.expected_rate + self.spare() / reach.seconds
        }
    }

    fn unlucky(&self, reach: &Reach, slowest: f64) -> f64 {
        let coming = reach.least_rate * reach.seconds;
        if reach.seconds <= REACTION_SECONDS || coming >= self.to_come() {
            return f64::INFINITY;
        }
        (self.spare() + coming - slowest * (reach.seconds - REACTION_SECONDS)) / REACTION_SECONDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decoding;

    fn situation(left_seconds: Option<f64>, rate: f64) -> Situation {
        Situation {
            buffer_seconds: 8.0,
            capacity_seconds: 30.0,
            start_seconds: 5.0,
            left_seconds,
            arrival: Some(Arrival::steady(rate)),
            does_sender_wait: false,
            decoding: None,
            live: None,
            requested_rate: 1.0,
        }
    }

    fn greatest(situation: &Situation) -> f64 {
        bounds(situation, Limits::default()).greatest_rate()
    }

    #[test]
    fn a_buffer_is_spread_over_the_look_ahead() {
        let found = bounds(&situation(None, 0.9), Limits::default());
        // 6 s beyond the reserve over 32 s.
        assert!((found.greatest_rate() - 1.0875).abs() < 1e-12, "{found:?}");
        assert!((found.least_rate - (0.9 - 22.0 / 32.0)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn bad_luck_counts_as_far_as_it_cannot_be_met_later() {
        let with_least = |least_rate| {
            let mut situation = situation(None, 1.0);
            let arrival = situation.arrival.as_mut().unwrap();
            arrival.reaches.iter_mut().for_each(|reach| reach.least_rate = least_rate);
            greatest(&situation)
        };
        // 6 + 0.7 * 32 s, of which 26 s at 0.8 take 20.8: 7.6 s are left for the first 6, and what is expected allows
        // less.
        assert!((with_least(0.7) - 1.1875).abs() < 1e-12);
        assert!((with_least(0.65) - 1.0).abs() < 1e-12, "{}", with_least(0.65));
        assert!(with_least(0.5) < 0.5, "now or never");
    }

    #[test]
    fn a_medium_that_ends_soon_may_play_faster() {
        // 19 s left, 11 s of them to arrive: at 0.95 they take 11.6 s, in which 19 s can play.
        assert!((greatest(&situation(Some(19.0), 0.95)) - 0.95 * 19.0 / 11.0).abs() < 1e-12);
        assert_eq!(greatest(&situation(Some(6.0), 0.9)), f64::INFINITY);
    }

    #[test]
    fn decoding_that_falls_behind_bounds_the_rate_too() {
        let decoding = Some(Decoding { ahead_seconds: 1.64, rate: Arrival::steady(0.93) });
        assert!((greatest(&Situation { decoding, ..situation(None, 3.0) }) - 0.95).abs() < 1e-12);
    }
}
