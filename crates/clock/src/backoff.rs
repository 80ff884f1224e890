//! Waiting times before what failed is tried again.

use std::time::Duration;

/// Waits that double from a first to a longest, and begin anew after a success.
///
/// ```
/// use std::time::Duration;
/// let mut backoff = clock::Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
/// let waits: Vec<u128> = (0..9).map(|_| backoff.next_wait().as_millis()).collect();
/// assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
/// backoff.succeeded();
/// assert_eq!(backoff.next_wait().as_millis(), 50);
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    n_failures: u32,
    /// The state of the chance that shortens waits; none, and waits are as long as said.
    chance: Option<u64>,
}

impl Backoff {
    /// Waits that are the same every time.
    #[must_use]
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, n_failures: 0, chance: None }
    }

    /// The same, each wait shortened by chance to between half and all of it, so that many who failed together do not
    /// come back together.
    #[must_use]
    pub fn with_chance(self, seed: u64) -> Self {
        Self { chance: Some(seed), ..self }
    }

    /// Resets after a success: the next wait is the first again.
    pub fn succeeded(&mut self) {
        self.n_failures = 0;
    }

    /// Returns the wait after one more failure.
    pub fn next_wait(&mut self) -> Duration {
        let doubled = self.first.saturating_mul(1_u32.checked_shl(self.n_failures).unwrap_or(u32::MAX));
        self.n_failures = (self.n_failures + 1).min(31);
        let wait = doubled.min(self.longest);
        self.chance.as_mut().map_or(wait, |state| wait.mul_f64(0.5 + 0.5 * share(state)))
    }
}

/// Returns a number from 0 to 1, by SplitMix64 (Steele, Lea and Flood 2014).
fn share(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(500);
    const LONGEST: Duration = Duration::from_secs(60);

    #[test]
    fn chance_takes_at_most_half_of_a_wait() {
        let mut backoff = Backoff::new(FIRST, LONGEST).with_chance(7);
        for n in 0..40_u32 {
            let most = FIRST.saturating_mul(1 << n.min(20)).min(LONGEST);
            let wait = backoff.next_wait();
            assert!(most / 2 <= wait && wait <= most, "wait {n} is {wait:?}");
        }
        backoff.succeeded();
        assert!(backoff.next_wait() <= FIRST);
    }

    #[test]
    fn two_seeds_wait_differently() {
        let wait = |seed| Backoff::new(FIRST, LONGEST).with_chance(seed).next_wait();
        assert_ne!(wait(1), wait(2));
    }
}
