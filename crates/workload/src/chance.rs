//! Seeded chance: one stream of draws for each worker.

use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Pareto};
use serde::{Deserialize, Serialize};

/// Length at which the heavy tail is cut, in means: at a shape of 1.5 one draw in two million is longer.
const LONGEST_MEANS: f64 = 5000.0;

/// Stream from which a worker draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stream {
    /// Seed of the whole load.
    pub seed: u64,
    /// Number of the stream.
    pub number: u64,
}

/// Draws from one stream: the same ones for the same seed and number.
#[derive(Debug)]
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    pub(crate) fn new(stream: Stream) -> Chance {
        let mut generator = ChaCha8Rng::seed_from_u64(stream.seed);
        generator.set_stream(stream.number);
        Chance(generator)
    }

    /// Exponentially distributed with a mean of one, as the times between independent events are.
    pub(crate) fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.0)
    }

    /// The same with this mean.
    pub(crate) fn around(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(self.exponential())
    }

    /// Draws from a distribution with a heavy tail: Pareto of this shape, which is above 1.
    pub(crate) fn heavy(&mut self, mean: Duration, shape: f64) -> Duration {
        let least = (shape - 1.0) / shape;
        let pareto = Pareto::new(least, shape).expect("a scale and a shape above zero");
        mean.mul_f64(pareto.sample(&mut self.0).min(LONGEST_MEANS))
    }

    /// True with this probability.
    pub(crate) fn is(&mut self, probability: f64) -> bool {
        self.0.random_bool(probability)
    }

    /// Fills `bytes` with what no file system compresses.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn draws(seed: u64, number: u64) -> Vec<Duration> {
        let mut chance = Chance::new(Stream { seed, number });
        (0..10).flat_map(|_| [chance.around(SECOND), chance.heavy(SECOND, 1.5)]).collect()
    }

    #[test]
    fn the_same_seed_and_number_give_the_same_draws() {
        assert_eq!(draws(1, 2), draws(1, 2));
    }

    #[test]
    fn another_seed_or_another_number_gives_other_draws() {
        assert_ne!(draws(1, 2), draws(3, 2));
        assert_ne!(draws(1, 2), draws(1, 3));
    }

    #[test]
    fn draws_have_the_mean_that_was_asked_for() {
        let mut chance = Chance::new(Stream { seed: 4, number: 0 });
        let n = 100_000;
        let mut mean = |draw: &dyn Fn(&mut Chance) -> Duration| {
            (0..n).map(|_| draw(&mut chance).as_secs_f64()).sum::<f64>() / f64::from(n)
        };
        let exponential = mean(&|chance| chance.around(SECOND));
        // Four standard errors of a mean of this many draws with a standard deviation of one.
        assert!((exponential - 1.0).abs() < 4.0 / f64::from(n).sqrt(), "{exponential}");
        // A shape of 3 has a standard deviation of 0.58.
        let heavy = mean(&|chance| chance.heavy(SECOND, 3.0));
        assert!((heavy - 1.0).abs() < 4.0 * 0.58 / f64::from(n).sqrt(), "{heavy}");
    }
}
