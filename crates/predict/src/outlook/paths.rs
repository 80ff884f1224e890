//! Futures of a series, drawn so that the errors of each go together as those of past forecasts did.

use statrs::distribution::{ContinuousCDF, Normal};

use super::view::Units;
use crate::intervals::Shares;
use crate::random::Random;

/// Futures of one series: for each lead one value of each path.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    n_paths: usize,
    /// Lead after lead.
    values: Vec<f64>,
}

impl Paths {
    pub(super) fn new(n_paths: usize, n_leads: usize) -> Self {
        Self { n_paths, values: Vec::with_capacity(n_paths * n_leads) }
    }

    pub(super) fn push(&mut self, values: impl Iterator<Item = f64>) {
        self.values.extend(values);
    }

    /// Computes a value from the values of several, path by path and lead by lead.
    ///
    /// # Panics
    /// When there are none, or they are not equally many or far.
    #[must_use]
    pub fn combined(of: &[Self], value: impl Fn(&[f64]) -> f64) -> Self {
        let first = of.first().expect("there are paths");
        assert!(of.iter().all(|one| (one.n_paths, one.values.len()) == (first.n_paths, first.values.len())));
        let mut row = vec![0.0; of.len()];
        let at = |idx: usize| {
            row.iter_mut().zip(of).for_each(|(value, one)| *value = one.values[idx]);
            value(&row)
        };
        Self { n_paths: first.n_paths, values: (0..first.values.len()).map(at).collect() }
    }

    /// Returns the number of paths.
    #[must_use]
    pub fn n_paths(&self) -> usize {
        self.n_paths
    }

    /// Returns the number of leads that the paths go.
    #[must_use]
    pub fn n_leads(&self) -> usize {
        self.values.len() / self.n_paths.max(1)
    }

    /// The values of all paths at `lead` (1 is the next sample), in the same order at every lead.
    ///
    /// # Panics
    /// When `lead` is 0 or beyond [`Paths::n_leads`].
    #[must_use]
    pub fn at(&self, lead: usize) -> &[f64] {
        &self.values[(lead - 1) * self.n_paths..lead * self.n_paths]
    }
}

/// Normal shocks for all paths at once: evenly spaced quantiles in an order of chance, so that few paths are
/// distributed like many.
pub(super) struct Shocks {
    random: Random,
    quantiles: Vec<f64>,
}

impl Shocks {
    pub(super) fn new(n_paths: usize, seed: u64) -> Self {
        let normal = Normal::standard();
        let quantile = |idx: usize| normal.inverse_cdf((idx as f64 + 0.5) / n_paths as f64);
        Self { random: Random::seeded(seed), quantiles: (0..n_paths).map(quantile).collect() }
    }

    pub(super) fn next(&mut self) -> &[f64] {
        self.random.shuffle(&mut self.quantiles);
        &self.quantiles
    }
}

/// The errors of a lead by the normal variable that stands for them, as a table along straight lines.
pub(super) struct Errors(Vec<f64>);

impl Errors {
    /// Beyond so many standard deviations errors are those at the end.
    const MOST: f64 = 3.75;
    const PER_DEVIATION: f64 = 32.0;

    /// Builds the errors from a distribution in these units.
    pub(super) fn new(shares: &Shares, units: Units) -> Self {
        let normal = Normal::standard();
        let n = (2.0 * Self::MOST * Self::PER_DEVIATION) as usize;
        let at = |idx: usize| units.of(shares.quantile(normal.cdf(idx as f64 / Self::PER_DEVIATION - Self::MOST)));
        Self((0..=n).map(at).collect())
    }

    pub(super) fn at(&self, normal: f64) -> f64 {
        let place = (normal.clamp(-Self::MOST, Self::MOST) + Self::MOST) * Self::PER_DEVIATION;
        let below = (place as usize).min(self.0.len() - 2);
        self.0[below] + (place - below as f64) * (self.0[below + 1] - self.0[below])
    }
}
