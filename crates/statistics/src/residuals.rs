//! Every test of the one-step errors of a model at once: whether they are noise, and whether it is normal.

use crate::{Normality, StatisticError, Whiteness, normality, usual_lags};

/// The results of the tests of a row of errors, or the reason why one of them has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Residuals {
    /// Known errors.
    pub n: usize,
    /// Whether they are without memory.
    pub whiteness: Result<Whiteness, StatisticError>,
    /// Whether they are normally distributed.
    pub normality: Result<Normality, StatisticError>,
}

impl Residuals {
    /// Tests errors, oldest first, gaps as NaN, at `n_lags` lags: unless given, as many as is usual and ten more than
    /// `n_fitted`. That is the number of coefficients that were fitted to these very samples, and 0 for forecasts of
    /// later ones.
    #[must_use]
    pub fn test(errors: &[f64], n_lags: Option<usize>, n_fitted: usize) -> Self {
        let n = errors.iter().filter(|error| error.is_finite()).count();
        let n_lags = n_lags.unwrap_or_else(|| usual_lags(n).max(n_fitted + 10));
        Self { n, whiteness: Whiteness::test(errors, n_lags, n_fitted), normality: normality(errors) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_says_what_it_can() {
        let few = Residuals::test(&[1.0, 3.0, f64::NAN, 2.0], None, 0);
        assert_eq!(few.n, 3);
        assert_eq!(few.whiteness.unwrap_err().to_string(), "the portmanteau test needs at least 11 samples, but has 3");
        assert_eq!(few.normality.unwrap().n, 3);
    }

    #[test]
    fn there_are_ten_lags_more_than_fitted_coefficients() {
        let errors: Vec<f64> = (0..100).map(|t| f64::from(t * 7919 % 101)).collect();
        let n_lags = |n_fitted| Residuals::test(&errors, None, n_fitted).whiteness.unwrap().n_lags;
        assert_eq!((n_lags(0), n_lags(16)), (20, 26));
    }
}
