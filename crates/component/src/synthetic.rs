//! A made series: an autoregressive process of order 1 by seeded chance, for benches and demonstrations.

use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use stream::SignalName;

use crate::meter::Meter;

/// `z(t) = mean + correlation (z(t - 1) - mean) + a(t)`, with standard normal `a`: the same values for the same seed.
#[derive(Clone, Debug)]
pub struct Synthetic {
    generator: ChaCha8Rng,
    correlation: f64,
    mean: f64,
    value: f64,
    signals: [SignalName; 1],
}

/// A correlation of no stationary process.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the correlation of neighbours must be above -1 and below 1, not {given}")]
pub struct SyntheticError {
    /// The correlation that was given.
    pub given: f64,
}

impl Synthetic {
    /// A process with this mean, and this correlation of neighbours.
    ///
    /// # Errors
    /// When the correlation is not within (-1, 1).
    pub fn new(seed: u64, mean: f64, correlation: f64) -> Result<Self, SyntheticError> {
        if correlation.is_nan() || correlation.abs() >= 1.0 {
            return Err(SyntheticError { given: correlation });
        }
        let signals = [SignalName { id: "synthetic".to_owned(), unit: String::new() }];
        Ok(Self { generator: ChaCha8Rng::seed_from_u64(seed), correlation, mean, value: mean, signals })
    }

    /// The next value.
    pub fn next_value(&mut self) -> f64 {
        let noise: f64 = StandardNormal.sample(&mut self.generator);
        self.value = self.mean + self.correlation * (self.value - self.mean) + noise;
        self.value
    }
}

impl Meter for Synthetic {
    fn read(&mut self, _: Duration, values: &mut Vec<f64>) {
        values.clear();
        values.push(self.next_value());
    }

    fn signals(&self) -> &[SignalName] {
        &self.signals
    }

    /// Values that are made are never late.
    fn misses_deadlines(&self) -> bool {
        false
    }
}
