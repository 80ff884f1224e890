//! Standard deviation and reaches of a distribution that is known by a few quantiles.

use crate::intervals::Reach;

/// Probabilities of the quantiles: the ends of the intervals of [`Reach`], the median, and two farther ends.
pub(super) const PROBABILITIES: [f64; N] =
    [0.0005, 0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9995];
const N: usize = 13;

/// Index of the median.
const MEDIAN: usize = N / 2;

/// Returns the median among the quantiles of [`PROBABILITIES`].
pub(super) fn median(quantiles: &[f64; N]) -> f64 {
    quantiles[MEDIAN]
}

/// Standard deviation that straight lines between these quantiles of the standard normal distribution have.
const OF_NORMAL: f64 = 1.022_6;

/// Factor by which reaches are wider than the quantiles, so that rounding leaves a sample within that is one of them: a
/// queue that is empty most of the time, for example.
const WIDER: f64 = 1.0 + 1e-9;

/// The spread of a distribution about its median, in the unit of the quantiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ErrorSpread {
    /// Root mean square of the distance from the median.
    pub(super) deviation: f64,
    /// Reaches of intervals from the median, in deviations.
    pub(super) reach: Reach,
}

impl ErrorSpread {
    /// Takes the quantiles of [`PROBABILITIES`]. Between two of them, the distribution is uniform.
    pub(super) fn of(quantiles: &[f64; N]) -> Self {
        let about: [f64; N] = quantiles.map(|quantile| quantile - quantiles[MEDIAN]);
        let mut square = PROBABILITIES[0] * (about[0].powi(2) + about[N - 1].powi(2));
        for (ends, shares) in about.windows(2).zip(PROBABILITIES.windows(2)) {
            let (low, high) = (ends[0], ends[1]);
            square += (shares[1] - shares[0]) * (low * low + low * high + high * high) / 3.0;
        }
        let deviation = square.sqrt() / OF_NORMAL;
        let reach = if deviation > 0.0 {
            Reach {
                lower: std::array::from_fn(|level| WIDER * -about[MEDIAN - 1 - level] / deviation),
                upper: std::array::from_fn(|level| WIDER * about[MEDIAN + 1 + level] / deviation),
            }
        } else {
            Reach::NORMAL
        };
        Self { deviation, reach }
    }
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;

    #[test]
    fn a_normal_distribution_has_its_deviation_and_reaches() {
        let normal = Normal::new(3.0, 2.0).expect("a deviation of 2 is one");
        let ErrorSpread { deviation, reach } = ErrorSpread::of(&PROBABILITIES.map(|share| normal.inverse_cdf(share)));
        assert!((deviation - 2.0).abs() < 1e-3, "{deviation}");
        let is_near = |(one, other): (f64, f64)| (one - other).abs() < 1e-3;
        assert!(reach.lower.into_iter().zip(Reach::NORMAL.lower).all(is_near), "{reach:?}");
    }

    #[test]
    fn a_skewed_distribution_deviates_from_its_median_by_its_squared_errors() {
        let ErrorSpread { deviation, .. } = ErrorSpread::of(&PROBABILITIES.map(|share| -(1.0 - share).ln()));
        // Variance 1, and the mean is 1 - ln 2 above the median.
        let expected = (1.0 + (1.0 - std::f64::consts::LN_2).powi(2)).sqrt();
        assert!((deviation / expected - 1.0).abs() < 0.03, "{deviation}");
    }
}
