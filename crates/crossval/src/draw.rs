//! Seeded chance by number: what is drawn for case `k` depends on the seed and on `k`, not on what was drawn before.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The purpose of a stream, so that windows and models are drawn independently of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Trace, transformation and place of a window.
    Window = 0,
    /// The models that are evaluated on a window, and their numbers.
    Models = 1,
}

/// A stream of whole numbers: ChaCha with 8 rounds, whose output is specified to the bit. The seed and the purpose make
/// the key, the number is ChaCha's stream.
pub(crate) struct Draw(ChaCha8Rng);

impl Draw {
    pub(crate) fn new(seed: u64, purpose: Purpose, number: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8] = purpose as u8;
        let mut stream = ChaCha8Rng::from_seed(key);
        stream.set_stream(number);
        Self(stream)
    }

    /// Uniform below `n`, which is at least 1; the share of 64 bits by which some are favoured is below `n` / 2^64.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        // The high half of the product; a remainder, or the sampling of a library, might change under our feet.
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform from `low` to `high`, both included.
    pub(crate) fn within(&mut self, low: usize, high: usize) -> usize {
        low + self.below((high - low) as u64 + 1) as usize
    }

    /// `k` of the numbers below `n`, each choice as likely as any other, in rising order.
    pub(crate) fn choice(&mut self, k: usize, n: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..n).collect();
        for idx in 0..k.min(n) {
            let other = self.within(idx, n - 1);
            numbers.swap(idx, other);
        }
        numbers.truncate(k);
        numbers.sort_unstable();
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64, purpose: Purpose, number: u64) -> u64 {
        Draw::new(seed, purpose, number).below(u64::MAX)
    }

    #[test]
    fn streams_differ_by_all_that_names_them() {
        let words = [
            first(1, Purpose::Window, 0),
            first(2, Purpose::Window, 0),
            first(1, Purpose::Models, 0),
            first(1, Purpose::Window, 1),
        ];
        let mut distinct = words.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), words.len());
    }

    #[test]
    fn a_stream_is_the_same_for_ever() {
        // By another implementation of ChaCha: see testdata/crossval/draws.py.
        assert_eq!(
            [0, 1, 9].map(|number| Draw::new(7, Purpose::Window, number).below(1_000_000)),
            [764_109, 934_366, 649_078]
        );
    }

    #[test]
    fn every_choice_is_about_as_likely() {
        let mut counts = [0_u32; 6];
        for number in 0..6000 {
            Draw::new(3, Purpose::Models, number).choice(2, 6).iter().for_each(|idx| counts[*idx] += 1);
        }
        // 2000 expected of each; the standard deviation is 37.
        assert!(counts.iter().all(|count| count.abs_diff(2000) < 150), "{counts:?}");
    }
}
