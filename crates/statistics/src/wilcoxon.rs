//! The signed-rank test of Wilcoxon (1945): whether differences lie around 0.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::ranks;

/// Up to here the distribution of the statistic is counted out, as R does below 50.
const N_EXACT_MAX: usize = 49;

/// The result of the test of a row of differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Differences that are not 0; those that are say nothing, and are left out.
    pub n: usize,
    /// The probability of a sum of ranks this far or farther from its middle, on either side, if the differences lay
    /// around 0. 1 without any difference.
    pub p_value: f64,
}

/// Differences may be infinite, and none may be NaN. Exact for fewer than 50 differences of different magnitudes;
/// otherwise by the normal distribution, with corrections for ties and for continuity.
pub fn signed_rank(differences: &[f64]) -> SignedRank {
    let known: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    let n = known.len();
    if n == 0 {
        return SignedRank { n, p_value: 1.0 };
    }
    let magnitudes: Vec<f64> = known.iter().map(|difference| difference.abs()).collect();
    let ranked = ranks(&magnitudes);
    let sum: f64 = ranked.iter().zip(&known).filter(|(_, difference)| **difference > 0.0).map(|(rank, _)| rank).sum();
    let has_ties = ranked.iter().any(|rank| rank.fract() != 0.0) || has_equal(&magnitudes);
    let p_value = if n <= N_EXACT_MAX && !has_ties { exact(n, sum as usize) } else { approximate(n, sum, &magnitudes) };
    SignedRank { n, p_value }
}

fn has_equal(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

/// Twice the smaller tail of the number of sets of ranks with each sum.
fn exact(n: usize, sum: usize) -> f64 {
    let most = n * (n + 1) / 2;
    // shares[s]: the share of all sign patterns whose positive ranks add up to s.
    let mut shares = vec![0.0; most + 1];
    shares[0] = 1.0;
    for rank in 1..=n {
        for s in (0..=most).rev() {
            let with = if s >= rank { shares[s - rank] } else { 0.0 };
            shares[s] = 0.5 * (shares[s] + with);
        }
    }
    let below: f64 = shares[..=sum].iter().sum();
    let above: f64 = shares[sum..].iter().sum();
    (2.0 * below.min(above)).min(1.0)
}

fn approximate(n: usize, sum: f64, magnitudes: &[f64]) -> f64 {
    let n = n as f64;
    let mut sorted = magnitudes.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64).sum();
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    let away = sum - n * (n + 1.0) / 4.0;
    let statistic = (away.abs() - 0.5).max(0.0) / variance.sqrt();
    2.0 * Normal::standard().cdf(-statistic)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences that R 4.2 tests in testdata/crossval/tests.R; expected p-values are R's.
    const DEPRESSION: [f64; 9] = [0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01];

    #[track_caller]
    fn check_p(differences: &[f64], expected: f64) {
        let p_value = signed_rank(differences).p_value;
        // Both count out the same distribution, or use the same normal one.
        assert!((p_value - expected).abs() < 1e-9, "{p_value}");
    }

    #[test]
    fn few_differences_are_counted_out_as_by_r() {
        check_p(&DEPRESSION, 0.039_062_5);
    }

    #[test]
    fn ties_and_zeros_are_treated_as_by_r() {
        check_p(&[1.0, 1.0, -1.0, 2.0, 3.0, 0.0, 3.0, -0.5, 4.0, 2.5], 0.032_203_878_372_428_4);
    }

    #[test]
    fn many_differences_are_approximated_as_by_r() {
        let many: Vec<f64> = (1..=60).map(|i| f64::from(i) * if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        check_p(&many, 0.036_226_494_178_786_6);
    }

    #[test]
    fn no_difference_is_no_evidence() {
        assert_eq!(signed_rank(&[]), SignedRank { n: 0, p_value: 1.0 });
        assert_eq!(signed_rank(&[0.0; 9]), SignedRank { n: 0, p_value: 1.0 });
    }

    #[test]
    fn a_failure_is_a_difference_beyond_all_others() {
        assert!(signed_rank(&[f64::INFINITY, 1.0, 2.0, 3.0, 4.0, 5.0]).p_value < 0.05);
        assert!(signed_rank(&[f64::INFINITY, f64::NEG_INFINITY, 1.0, -2.0]).p_value > 0.5);
    }
}
