//! Seeded chance: a number for each thing that is drawn, whatever was drawn before it.

/// A stream of numbers for one purpose (SplitMix64; Steele, Lea and Flood 2014).
///
/// Streams are made by purpose, so that a study that is taken up again draws what it would have drawn without a break.
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    /// The stream of `purpose`, the same for the same seed.
    pub(crate) fn new(seed: u64, purpose: &str) -> Draw {
        // FNV-1a, which every build computes alike; a hasher of the standard library promises no such thing.
        let hash = purpose
            .bytes()
            .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
        Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ hash)
    }

    /// Any 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform between `low` and `high`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        low + (high - low) * share
    }

    /// The numbers below `n` in any order.
    pub(crate) fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for idx in (1..n).rev() {
            // The remainder favours low numbers by 2^-60 or so.
            order.swap(idx, (self.next() % (idx as u64 + 1)) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_and_the_same_for_the_same_seed() {
        let mut draw = Draw::new(1, "a test");
        let draws: Vec<f64> = (0..1000).map(|_| draw.between(2.0, 4.0)).collect();
        assert!(draws.iter().all(|value| (2.0..4.0).contains(value)));
        // The standard error of the mean of 1000 uniforms of width 2 is 0.018; five of them.
        assert!((draws.iter().sum::<f64>() / 1000.0 - 3.0).abs() < 0.09);
        assert_eq!(Draw::new(1, "a test").between(2.0, 4.0), draws[0]);
        assert_ne!(Draw::new(2, "a test").between(2.0, 4.0), draws[0]);
        assert_ne!(Draw::new(1, "another").between(2.0, 4.0), draws[0]);
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut order = Draw::new(1, "a test").permutation(14);
        assert_ne!(order, (0..14).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..14).collect::<Vec<_>>());
    }
}
