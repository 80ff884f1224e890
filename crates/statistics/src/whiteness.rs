//! Whether a row of numbers, such as the one-step errors of a model, is noise without memory.
//!
//! The tests are those that RPS runs on prediction errors (Dinda and O'Hallaron 1999, section 5.2.3), after Brockwell
//! and Davis 1991, section 9.4. Gaps are whatever is not finite: correlations are over the pairs that are there, and
//! the counts never look across a gap.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use crate::autocorrelation::{autocorrelations_at_few_lags, products};
use crate::{StatisticError, autocorrelations};

/// Returns the number of lags that a correlogram of `n` values has by custom (R's `acf`): ten times the decimal
/// logarithm of `n`.
#[must_use]
pub fn usual_lags(n: usize) -> usize {
    (10.0 * (n.max(1) as f64).log10()) as usize
}

/// Up to so many lags sums are cheaper than an FFT.
const N_FEW_LAGS: usize = 64;

/// Every test for noise, on one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Whiteness {
    /// Known values in the row.
    pub n: usize,
    /// Pairs of neighbours that are equal, for which the two counts are not made (see [`Count`]).
    pub n_ties: usize,
    /// Lags that the correlations were looked at.
    pub n_lags: usize,
    /// The share of autocorrelations at lags 1 to `n_lags` that lie beyond +-1.96 / sqrt(n): 0.05 of them do in noise.
    pub significant_share: f64,
    /// The portmanteau test as Ljung and Box (1978) have it.
    pub ljung_box: Portmanteau,
    /// The portmanteau test as Box and Pierce (1970) have it: RPS's Q.
    pub box_pierce: Portmanteau,
    /// The number of places where the row turns around.
    pub turning_points: Count,
    /// The number of places where the row rises.
    pub rises: Count,
}

/// The sum of squared autocorrelations against its distribution in noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Portmanteau {
    /// The statistic Q: large where there is memory.
    pub statistic: f64,
    /// Lags summed over, less the fitted coefficients.
    pub degrees_of_freedom: usize,
    /// The probability of a Q this large or larger in noise.
    pub p_value: f64,
}

/// The weights of the squared autocorrelations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// Weights by the variance that each has in a row of this length; closer to chi-squared in short rows.
    LjungBox,
    /// Equal weights.
    BoxPierce,
}

/// A count of places in a row against what it is in noise.
///
/// The moments are for values of which no two are equal. Equal neighbours neither turn nor rise, so a row of few
/// different values fails these tests whatever its memory is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// The number found.
    pub found: usize,
    /// The expected number in noise.
    pub expected: f64,
    /// Its standard deviation in noise.
    pub standard_deviation: f64,
    /// The probability of being this far or farther off on either side, by the normal distribution.
    pub p_value: f64,
}

impl Whiteness {
    /// Runs every test, the correlations over lags 1 to `n_lags`. `n_fitted` is the number of coefficients that were
    /// fitted to make the row of errors, and 0 for a row that is no model's.
    ///
    /// # Errors
    /// As [`portmanteau`] and [`turning_points`].
    pub fn test(errors: &[f64], n_lags: usize, n_fitted: usize) -> Result<Self, StatisticError> {
        let correlated = Correlated::over(errors, n_lags, n_fitted)?;
        Ok(Self {
            n: correlated.n,
            n_ties: errors.windows(2).filter(|pair| pair[0].is_finite() && pair[0] == pair[1]).count(),
            n_lags,
            significant_share: correlated.significant_share(),
            ljung_box: correlated.portmanteau(Weighting::LjungBox),
            box_pierce: correlated.portmanteau(Weighting::BoxPierce),
            turning_points: turning_points(errors)?,
            rises: rises(errors)?,
        })
    }
}

/// The portmanteau test over lags 1 to `n_lags`, on `n_lags - n_fitted` degrees of freedom.
///
/// With gaps, the variance of each autocorrelation is that of the pairs that are there (Stoffer and Toloi 1992), and a
/// lag without a pair is left out.
///
/// # Errors
/// No more known values than lags, no more lags than fitted coefficients, or values that do not vary.
pub fn portmanteau(
    errors: &[f64],
    n_lags: usize,
    n_fitted: usize,
    weighting: Weighting,
) -> Result<Portmanteau, StatisticError> {
    Correlated::over(errors, n_lags, n_fitted).map(|correlated| correlated.portmanteau(weighting))
}

/// Counts how often the middle of three neighbours is above both or below both: (2/3)(n - 2) times in noise, variance
/// (16 n - 29)/90. Fewer mean positive correlation of neighbours. Stretches between gaps are added up.
///
/// # Errors
/// No three known neighbours.
pub fn turning_points(errors: &[f64]) -> Result<Count, StatisticError> {
    let turns = |three: &[f64]| (three[1] > three[0]) == (three[1] > three[2]) && differ(three);
    count("the turning point test", errors, 3, turns, |n| (2.0 * (n - 2.0) / 3.0, (16.0 * n - 29.0) / 90.0))
}

/// The difference-sign test: how often a value is above the one before, (n - 1)/2 times in noise, variance (n + 1)/12.
/// More mean a trend upward, fewer one downward. Stretches between gaps are added up.
///
/// # Errors
/// No two known neighbours.
pub fn rises(errors: &[f64]) -> Result<Count, StatisticError> {
    let is_rise = |pair: &[f64]| pair[1] > pair[0];
    count("the difference-sign test", errors, 2, is_rise, |n| ((n - 1.0) / 2.0, (n + 1.0) / 12.0))
}

/// The autocorrelations of a row, and how many pairs each comes from.
struct Correlated {
    n: usize,
    n_fitted: usize,
    /// The correlations at lags 1, 2, …
    correlations: Vec<f64>,
    n_pairs: Vec<usize>,
}

impl Correlated {
    fn over(errors: &[f64], n_lags: usize, n_fitted: usize) -> Result<Self, StatisticError> {
        const STATISTIC: &str = "the portmanteau test";
        let n = errors.iter().filter(|error| error.is_finite()).count();
        if n <= n_lags {
            return Err(StatisticError::TooShort { statistic: STATISTIC, have: n, need: n_lags + 1 });
        }
        let n_pairs = pairs(errors, n_lags);
        let n_used = n_pairs.iter().filter(|n| **n > 0).count();
        if n_used <= n_fitted {
            return Err(StatisticError::NoFreedom { n_lags: n_used, n_fitted });
        }
        let by = if n_lags <= N_FEW_LAGS { autocorrelations_at_few_lags } else { autocorrelations };
        let correlations = by(errors, n_lags).split_off(1);
        if correlations.iter().any(|correlation| correlation.is_nan()) {
            let value = errors.iter().copied().find(|error| error.is_finite()).unwrap_or(f64::NAN);
            return Err(StatisticError::Constant { statistic: STATISTIC, value });
        }
        Ok(Self { n, n_fitted, correlations, n_pairs })
    }

    fn significant_share(&self) -> f64 {
        let bound = significance_bound(self.n);
        let beyond = self.correlations.iter().filter(|correlation| correlation.abs() > bound).count();
        beyond as f64 / self.correlations.len() as f64
    }

    fn portmanteau(&self, weighting: Weighting) -> Portmanteau {
        let n = self.n as f64;
        let known = self.correlations.iter().zip(&self.n_pairs).filter(|(_, n_pairs)| **n_pairs > 0);
        let degrees_of_freedom = known.clone().count() - self.n_fitted;
        let weighted = known.map(|(correlation, n_pairs)| match weighting {
            Weighting::LjungBox => correlation * correlation * n * (n + 2.0) / *n_pairs as f64,
            Weighting::BoxPierce => correlation * correlation * n,
        });
        let statistic = weighted.sum();
        let noise = ChiSquared::new(degrees_of_freedom as f64).expect("there are more lags than coefficients");
        Portmanteau { statistic, degrees_of_freedom, p_value: noise.sf(statistic) }
    }
}

/// Beyond plus or minus this lie 5 % of the autocorrelations, or partial autocorrelations, of `n` values of noise.
#[must_use]
pub fn significance_bound(n: usize) -> f64 {
    1.96 / (n as f64).sqrt()
}

/// Returns the number of pairs of known values that are 1, 2, …, `n_lags` apart: the correlation of being known, by the
/// same FFT.
fn pairs(errors: &[f64], n_lags: usize) -> Vec<usize> {
    if errors.iter().all(|error| error.is_finite()) {
        return (1..=n_lags).map(|lag| errors.len() - lag).collect();
    }
    let known = errors.iter().map(|error| if error.is_finite() { 1.0 } else { 0.0 });
    // The sums are whole numbers, and far less than a half off.
    products(known, errors.len(), n_lags)[1..].iter().map(|n_pairs| n_pairs.round() as usize).collect()
}

fn differ(three: &[f64]) -> bool {
    three[0] != three[1] && three[1] != three[2]
}

/// Counts the places of `width` neighbours where `holds`; `moments` are the mean and the variance in a stretch of n.
fn count(
    statistic: &'static str,
    errors: &[f64],
    width: usize,
    holds: impl Fn(&[f64]) -> bool,
    moments: impl Fn(f64) -> (f64, f64),
) -> Result<Count, StatisticError> {
    let stretches = || errors.split(|error| !error.is_finite()).filter(|stretch| stretch.len() >= width);
    let longest = errors.split(|error| !error.is_finite()).map(<[f64]>::len).max().unwrap_or(0);
    if longest < width {
        return Err(StatisticError::TooBroken { statistic, have: longest, need: width });
    }
    let found = stretches().flat_map(|stretch| stretch.windows(width)).filter(|neighbours| holds(neighbours)).count();
    let (expected, variance) = stretches()
        .map(|stretch| moments(stretch.len() as f64))
        .fold((0.0, 0.0), |sum, moments| (sum.0 + moments.0, sum.1 + moments.1));
    let standard_deviation = variance.sqrt();
    let off = (found as f64 - expected).abs() / standard_deviation;
    Ok(Count { found, expected, standard_deviation, p_value: 2.0 * Normal::standard().sf(off) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zigzag_turns_everywhere_and_rises_half_the_time() {
        let zigzag: Vec<f64> = (0..51).map(|t| f64::from(t % 2)).collect();
        assert_eq!(turning_points(&zigzag).unwrap().found, 49);
        assert_eq!((rises(&zigzag).unwrap().found, rises(&zigzag).unwrap().expected), (25, 25.0));
    }

    #[test]
    fn equal_neighbours_neither_turn_nor_rise() {
        let steps = [1.0, 1.0, 2.0, 2.0, 1.0, 1.0];
        assert_eq!(turning_points(&steps).unwrap().found, 0);
        assert_eq!(rises(&steps).unwrap().found, 1);
        assert_eq!(Whiteness::test(&steps, 1, 0).unwrap().n_ties, 3);
    }

    #[test]
    fn no_count_looks_across_a_gap() {
        let parted = [1.0, 3.0, 2.0, f64::NAN, 9.0, 4.0, 6.0, 5.0];
        let turning = turning_points(&parted).unwrap();
        assert_eq!((turning.found, turning.expected), (3, 2.0 / 3.0 + 4.0 / 3.0));
        let rising = rises(&parted).unwrap();
        assert_eq!((rising.found, rising.expected), (2, 2.5));
        assert_eq!(pairs(&parted, 3), [5, 4, 3]);
    }

    #[test]
    fn a_lag_without_a_pair_is_left_out() {
        let every_other: Vec<f64> =
            (0..64).map(|t| if t % 2 == 0 { f64::from(t * 7919 % 13) } else { f64::NAN }).collect();
        let portmanteau = portmanteau(&every_other, 10, 0, Weighting::LjungBox).unwrap();
        assert_eq!(portmanteau.degrees_of_freedom, 5);
        assert!(portmanteau.statistic.is_finite());
    }

    #[test]
    fn what_cannot_be_tested_is_refused() {
        let refused = |errors: &[f64], n_fitted| Whiteness::test(errors, 3, n_fitted).unwrap_err().to_string();
        assert_eq!(refused(&[1.0, 2.0, 4.0], 0), "the portmanteau test needs at least 4 samples, but has 3");
        assert_eq!(
            refused(&[1.0, 2.0, 4.0, 3.0, 7.0], 3),
            "the portmanteau test needs more lags with samples than the 3 fitted coefficients, but has 3; use more lags"
        );
        assert_eq!(refused(&[2.0; 9], 0), "the portmanteau test needs samples that vary, but every one is 2");
        let gaps = [1.0, f64::NAN, 2.0, f64::NAN, 3.0, f64::NAN, 5.0];
        assert_eq!(refused(&gaps, 0), "the turning point test needs at least 3 samples without a gap, but has 1");
    }
}
