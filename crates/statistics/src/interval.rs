//! Interval of a figure, and the bootstrap that makes one.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use units::Confidence;

use crate::quantile::{quantile_of_sorted, sorted};

/// Resamples that an interval is made from unless told otherwise: its ends are then steady to about a fiftieth of its
/// width.
pub const N_RESAMPLES: usize = 1_000;

/// The interval of a figure, or of a value to come: between two ends, in the unit of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end, included.
    #[serde(alias = "low")]
    pub lower: f64,
    /// Its upper end, included.
    #[serde(alias = "high")]
    pub upper: f64,
}

impl Interval {
    /// Whether `value` lies in it, ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }
}

/// An interval for `statistic` of `values` by the percentile bootstrap (Efron 1979): of as many values drawn with
/// replacement, [`N_RESAMPLES`] times. `None` with fewer than two values, or where the statistic has no value.
///
/// The same seed gives the same interval.
pub fn bootstrap(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> Option<f64>,
    confidence: Confidence,
    seed: u64,
) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = vec![0.0; values.len()];
    let mut found = Vec::with_capacity(N_RESAMPLES);
    for _ in 0..N_RESAMPLES {
        drawn.fill_with(|| values[chance.random_range(0..values.len())]);
        found.push(statistic(&drawn)?);
    }
    let found = sorted(&found);
    let tail = (1.0 - confidence.probability()) / 2.0;
    Some(Interval { lower: quantile_of_sorted(&found, tail)?, upper: quantile_of_sorted(&found, 1.0 - tail)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median;

    #[test]
    fn a_bootstrap_holds_the_median_and_repeats_itself() {
        let values: Vec<f64> = (0..101).map(f64::from).collect();
        let interval = bootstrap(&values, median, Confidence::P95, 7).unwrap();
        assert!(interval.contains(50.0));
        // The median of 101 even values: order statistics 41 to 61 make an interval of 95 %.
        assert!((38.0..44.0).contains(&interval.lower) && (56.0..63.0).contains(&interval.upper), "{interval:?}");
        assert_eq!(bootstrap(&values, median, Confidence::P95, 7).unwrap(), interval);
        assert_eq!(bootstrap(&[1.0], median, Confidence::P95, 7), None);
    }
}
