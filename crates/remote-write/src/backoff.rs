//! How long to wait before the next try.

use std::time::Duration;

/// The wait after the first failure, before chance shortens it.
const FIRST: Duration = Duration::from_millis(500);

/// The longest wait: a server that is back after an hour is found within a minute.
const LONGEST: Duration = Duration::from_secs(60);

/// The longest wait that a server may ask for.
const ASKED_MAX: Duration = Duration::from_secs(600);

/// Waits that double, each shortened by chance to between half and all of it, so that many writers that failed together do not
/// come back together.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    n_failures: u32,
    state: u64,
}

impl Backoff {
    pub(crate) fn new(seed: u64) -> Backoff {
        Backoff { n_failures: 0, state: seed }
    }

    /// It went well.
    pub(crate) fn reset(&mut self) {
        self.n_failures = 0;
    }

    /// The wait after one more failure, not shorter than what the server asked for, if it did and was modest.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let doubled = FIRST.saturating_mul(1_u32.checked_shl(self.n_failures).unwrap_or(u32::MAX));
        self.n_failures = (self.n_failures + 1).min(31);
        let wait = doubled.min(LONGEST).mul_f64(0.5 + 0.5 * self.share());
        asked.map_or(wait, |asked| wait.max(asked.min(ASKED_MAX)))
    }

    /// From 0 to 1, by SplitMix64 (Steele, Lea and Flood 2014).
    fn share(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::new(7);
        for n in 0..40_u32 {
            let most = FIRST.saturating_mul(1 << n.min(20)).min(LONGEST);
            let wait = backoff.next(None);
            assert!(most / 2 <= wait && wait <= most, "wait {n} is {wait:?}");
        }
        backoff.reset();
        assert!(backoff.next(None) <= FIRST);
    }

    #[test]
    fn two_seeds_wait_differently() {
        assert_ne!(Backoff::new(1).next(None), Backoff::new(2).next(None));
    }

    #[test]
    fn what_the_server_asks_for_is_kept_within_reason() {
        assert_eq!(Backoff::new(7).next(Some(Duration::from_secs(120))), Duration::from_secs(120));
        assert_eq!(Backoff::new(7).next(Some(Duration::from_secs(1 << 40))), ASKED_MAX);
    }
}
