//! Optimum of somebody who knows all that comes: the least silence, and with that the least distance from the requested
//! rate.
//!
//! Backwards, the least buffer with which play goes on at the slowest rate `s` from a step on; then forwards, the
//! requested rate `q` as long as that much stays, and no slower than it takes otherwise:
//!
//! ```text
//! need[i] = clamp(need[i + 1] + s dt - a[i], 0, C)
//! rate[i] = clamp((B[i] + a[i] - need[i + 1]) / dt, s, q)        0, a break, if B[i] + a[i] < s dt
//! ```
//!
//! with `a` that arrives in a step, B in the buffer and C that it can hold. Slowing down later than this breaks off,
//! and earlier fills a buffer that would have been filled anyway. Nobody has to slew here, or to fill a start-up buffer
//! after a break: it is a bound, which no law can reach everywhere.

/// The start and the limits of play.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    /// Seconds of a step.
    pub(crate) step_seconds: f64,
    /// Held in the beginning.
    pub(crate) held_seconds: f64,
    /// Media that can be held.
    pub(crate) capacity_seconds: f64,
    /// The rates from the slowest that is accepted to the requested one.
    pub(crate) slowest: f64,
    pub(crate) requested: f64,
}

/// The best that can be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Best {
    /// Time without sound.
    pub(crate) stalled_seconds: f64,
    /// Mean distance from the requested rate, as a share of that; a break is a rate of 0.
    pub(crate) mean_deviation: f64,
}

/// The best with `arriving` seconds of media in each step.
pub(crate) fn best(arriving: &[f64], given: &Given) -> Best {
    let Given { step_seconds, held_seconds, capacity_seconds, slowest, requested } = *given;
    let mut needs = vec![0.0; arriving.len() + 1];
    for (idx, arriving) in arriving.iter().enumerate().rev() {
        needs[idx] = (needs[idx + 1] + slowest * step_seconds - arriving).clamp(0.0, capacity_seconds);
    }
    let (mut held, mut n_stalled, mut deviation) = (held_seconds, 0.0, 0.0);
    for (arriving, need) in arriving.iter().zip(&needs[1..]) {
        held = (held + arriving).min(capacity_seconds);
        let rate = ((held - need) / step_seconds).clamp(slowest, requested);
        if held + 1e-9 < rate * step_seconds {
            n_stalled += 1.0;
            deviation += 1.0;
        } else {
            held = (held - rate * step_seconds).max(0.0);
            deviation += (requested - rate) / requested;
        }
    }
    Best { stalled_seconds: n_stalled * step_seconds, mean_deviation: deviation / arriving.len().max(1) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: Given =
        Given { step_seconds: 1.0, held_seconds: 5.0, capacity_seconds: 30.0, slowest: 0.8, requested: 1.0 };

    #[test]
    fn what_is_missing_is_spread_over_the_time_before_it() {
        // 20 s at 0.9, of which 5 are not played slower: what is left of 100 s is played as asked.
        let mut arriving = vec![1.0; 100];
        arriving[40..90].fill(0.84);
        let found = best(&arriving, &GIVEN);
        assert_eq!(found.stalled_seconds, 0.0);
        // 50 * 0.16 s less than is played, of which 5 s were held.
        assert!((found.mean_deviation - 0.03).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn an_outage_that_no_limit_outlasts_breaks_off() {
        let mut arriving = vec![1.0; 100];
        arriving[50..70].fill(0.0);
        let found = best(&arriving, &GIVEN);
        // At 0.8 from the start, the buffer has 15 s, which last for 18.
        assert_eq!(found.stalled_seconds, 2.0);
        let enough = best(&arriving, &Given { held_seconds: 20.0, ..GIVEN });
        assert_eq!((enough.stalled_seconds, enough.mean_deviation), (0.0, 0.0));
    }
}
