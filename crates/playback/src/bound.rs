//! The least and greatest rate that play on without underflow or overflow over the look-ahead.
//!
//! With B seconds in a buffer of C, a reserve R, arrival between a and A, and a look-ahead of h seconds:
//!
//! ```text
//! greatest = a + (B - R) / h       nothing runs out: B + a h - r h >= R
//! greatest = a M / (M - B)         if the M seconds left all arrive within h, since play then ends after M / r
//! least    = A - (C - B) / h       nothing overflows: B + A h - r h <= C
//! ```

use crate::Situation;

/// A forecast of the rate of arrival over the look-ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// The expected mean rate, at least 0.
    pub mean_rate: f64,
    /// Its standard error, at least 0.
    pub standard_error: f64,
}

/// Rates between which play goes on; `least` can be below 0 and `greatest` infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Below it the buffer overflows.
    pub least_rate: f64,
    /// Above it the buffer runs out.
    pub greatest_rate: f64,
}

/// Standard errors on either side of the mean: the 10 and 90 % quantiles of a normal distribution. A wider band would
/// slow down for most of the time; a narrower one leaves too little for the slew limit to act in.
const BAND_STANDARD_ERRORS: f64 = 1.2816;

/// What is kept in the buffer, for arrival that comes in lumps and for the slew limit; a medium's end may use it up.
const RESERVE_SECONDS: f64 = 1.0;

/// The bounds over the next `look_ahead_seconds`, which are above 0.
#[must_use]
pub fn bounds(situation: &Situation, look_ahead_seconds: f64) -> Bounds {
    let band = BAND_STANDARD_ERRORS * situation.arrival.standard_error;
    let slow_arrival = (situation.arrival.mean_rate - band).max(0.0);
    let fast_arrival = situation.arrival.mean_rate + band;
    let buffer = situation.buffer_seconds;
    let greatest_rate = match situation.left_seconds {
        Some(left) if left <= buffer => f64::INFINITY,
        Some(left) if slow_arrival * look_ahead_seconds >= left - buffer => slow_arrival * left / (left - buffer),
        _ => slow_arrival + (buffer - RESERVE_SECONDS) / look_ahead_seconds,
    };
    Bounds { least_rate: fast_arrival - (situation.capacity_seconds - buffer) / look_ahead_seconds, greatest_rate }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situation(left_seconds: Option<f64>) -> Situation {
        Situation {
            buffer_seconds: 7.0,
            capacity_seconds: 30.0,
            start_seconds: 5.0,
            left_seconds,
            arrival: Arrival { mean_rate: 0.9, standard_error: 0.0 },
            requested_rate: 1.0,
        }
    }

    #[test]
    fn a_buffer_is_spread_over_the_look_ahead() {
        let found = bounds(&situation(None), 60.0);
        assert!((found.greatest_rate - 1.0).abs() < 1e-12, "{found:?}");
        assert!((found.least_rate - (0.9 - 23.0 / 60.0)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_medium_that_ends_soon_may_play_faster() {
        // 19 s left, 12 s of them to arrive: at 0.9 they take 13.33 s, in which 19 s can play at 1.425.
        assert!((bounds(&situation(Some(19.0)), 60.0).greatest_rate - 1.425).abs() < 1e-12);
        assert_eq!(bounds(&situation(Some(6.0)), 60.0).greatest_rate, f64::INFINITY);
    }
}
