//! Whether numbers are normally distributed: how straight their quantile-quantile line is.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::{Line, StatisticError};

/// The quantile-quantile plot of numbers against the normal distribution, in figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normality {
    /// Known values.
    pub n: usize,
    /// The share of the ordered values' variance that the line explains, in [0, 1]; 1 for normal ones. RPS's measure
    /// (Dinda and O'Hallaron 1999, section 5.2.3), and the statistic W' of Shapiro and Francia (1972).
    pub r_squared: f64,
    /// The intercept of the line: the mean that a normal distribution would have, in the unit of the values.
    pub intercept: f64,
    /// The slope of the line: the standard deviation that a normal distribution would have, in the unit of the values.
    pub slope: f64,
    /// The probability of an R^2 this low or lower for normal values (Royston 1993); `None` outside of 5 to 5,000
    /// values, for which the approximation was not made.
    pub p_value: Option<f64>,
}

/// Fits the line by least squares through the ordered values over the quantiles of the standard normal distribution at
/// (i - 3/8) / (n + 1/4). Gaps (anything that is not finite) are left out.
///
/// # Errors
/// Fewer than 3 known values, or values that do not vary.
pub fn normality(values: &[f64]) -> Result<Normality, StatisticError> {
    const STATISTIC: &str = "the quantile-quantile line";
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let n = sorted.len();
    if n < 3 {
        return Err(StatisticError::TooShort { statistic: STATISTIC, have: n, need: 3 });
    }
    sorted.sort_by(f64::total_cmp);
    let scale = crate::scale(&sorted);
    let normal = Normal::standard();
    // Computed once, since a line is fitted in several passes, and for one half, since the other is its mirror.
    let quantile = |idx: usize| normal.inverse_cdf((idx as f64 + 0.625) / (n as f64 + 0.25));
    let mut quantiles: Vec<f64> = (0..n.div_ceil(2)).map(quantile).collect();
    quantiles.extend((0..n / 2).rev().map(|idx| -quantiles[idx]).collect::<Vec<_>>());
    let points = quantiles.iter().zip(&sorted).map(|(quantile, value)| (*quantile, value / scale));
    let constant = StatisticError::Constant { statistic: STATISTIC, value: sorted[0] };
    if sorted[0] == sorted[n - 1] {
        return Err(constant);
    }
    let line = Line::through(points).ok_or(constant)?;
    Ok(Normality {
        n,
        r_squared: line.r_squared,
        intercept: line.intercept * scale,
        slope: line.slope * scale,
        p_value: (5..=5000).contains(&n).then(|| p_value(line.r_squared, n as f64)),
    })
}

/// Royston 1993, "A toolkit for testing for non-normality in complete and censored samples": ln(1 - W') is nearly
/// normal.
fn p_value(r_squared: f64, n: f64) -> f64 {
    let (log, log_log) = (n.ln(), n.ln().ln());
    let mean = -1.2725 + 1.0521 * (log_log - log);
    let deviation = 1.0308 - 0.26758 * (log_log + 2.0 / log);
    Normal::standard().sf(((1.0 - r_squared).ln() - mean) / deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_of_a_normal_distribution_lie_on_its_line() {
        let normal = Normal::new(5.0, 2.0).unwrap();
        let values: Vec<f64> = (0..100).map(|idx| normal.inverse_cdf((f64::from(idx) + 0.625) / 100.25)).collect();
        let line = normality(&values).unwrap();
        // Rounding of the quantiles, and nothing else.
        assert!(
            line.r_squared > 1.0 - 1e-12 && (line.intercept - 5.0).abs() < 1e-12 && (line.slope - 2.0).abs() < 1e-12
        );
        assert!(line.p_value.unwrap() > 0.99);
    }

    #[test]
    fn the_unit_of_the_values_does_not_matter() {
        let values: Vec<f64> = (1..=40).map(|t| f64::from(t * 7919 % 41).powi(3)).collect();
        let as_is = normality(&values).unwrap();
        for factor in [1e300, 1e-300] {
            let scaled: Vec<f64> = values.iter().map(|value| value / 1e5 * factor).collect();
            let scaled = normality(&scaled).unwrap();
            // Dividing by 1e5 rounds each value.
            assert!((scaled.r_squared - as_is.r_squared).abs() < 1e-12, "{factor}");
            assert!((scaled.slope / factor * 1e5 / as_is.slope - 1.0).abs() < 1e-12, "{factor}");
        }
    }

    #[test]
    fn what_has_no_line_is_refused() {
        let refused = |values: &[f64]| normality(values).unwrap_err().to_string();
        assert_eq!(refused(&[1.0, f64::NAN, 2.0]), "the quantile-quantile line needs at least 3 samples, but has 2");
        assert_eq!(refused(&[4.0; 5]), "the quantile-quantile line needs samples that vary, but every one is 4");
    }
}
