//! Whether one forecaster is better than another, or was only luckier: the test of Diebold and Mariano (1995).

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::loss::Loss;

/// Difference between the errors of two forecasters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Moments at which both have an error.
    pub n: usize,
    /// Mean loss of the first less that of the second: negative when the first is better. In the unit of the loss.
    pub difference: f64,
    /// The difference over its standard error, with the small-sample correction of Harvey, Leybourne and Newbold
    /// (1997).
    pub statistic: f64,
    /// The probability of a statistic this far or farther from 0 on either side if both were equally good, by Student's
    /// distribution with n - 1 degrees of freedom.
    pub p_value: f64,
    /// Estimator of the variance of the difference.
    pub variance: Variance,
}

/// Estimator of the variance of a mean of correlated differences, from their autocovariances below the lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variance {
    /// Their plain sum, as published.
    Rectangular,
    /// Their sum with falling weights, taken where the plain one is not positive.
    Bartlett,
}

/// The reason why two rows of errors cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// Rows that are not of the same moments.
    #[error("errors of the same moments are needed, but there are {first} of one forecaster and {second} of the other")]
    Unequal {
        /// Errors of the first.
        first: usize,
        /// Errors of the second.
        second: usize,
    },
    /// A forecast of the present.
    #[error("a lead of 0 is the sample itself; it must be at least 1")]
    NoLead,
    /// Too few moments for the lead.
    #[error("forecasts of lead {lead} need at least {need} moments with both errors, and have {have}")]
    TooShort {
        /// Steps ahead.
        lead: usize,
        /// Moments with both errors.
        have: usize,
        /// Moments needed.
        need: usize,
    },
    /// No luck in the differences.
    #[error("the losses differ by the same amount at every moment, so there is no randomness to test it against")]
    Constant,
}

/// Minimum number of moments; with fewer, even the correction does not help.
const N_MIN: usize = 8;

/// Compares the errors that two forecasters made at the same moments, `lead` steps ahead. A moment at which either is
/// not finite is a gap.
///
/// Errors of good forecasts `lead` steps ahead are correlated over less than `lead` steps, and the autocovariances of
/// the differences up to there make the variance of their mean.
///
/// ```
/// use predict::{Loss, compare};
/// let steady: Vec<f64> = (0..50).map(|t| f64::from(t * 7919 % 13) - 6.0).collect();
/// let wild: Vec<f64> = steady.iter().map(|error| 3.0 * error).collect();
/// let comparison = compare(&steady, &wild, 1, Loss::Absolute)?;
/// assert!(comparison.difference < 0.0 && comparison.p_value < 0.01);
/// # Ok::<(), predict::CompareError>(())
/// ```
///
/// # Errors
/// See [`CompareError`].
pub fn compare(first: &[f64], second: &[f64], lead: usize, loss: Loss) -> Result<Comparison, CompareError> {
    if first.len() != second.len() {
        return Err(CompareError::Unequal { first: first.len(), second: second.len() });
    }
    if lead == 0 {
        return Err(CompareError::NoLead);
    }
    let differences = Differences::of(first, second, loss);
    let need = N_MIN.max(lead.saturating_mul(2));
    if differences.n < need {
        return Err(CompareError::TooShort { lead, have: differences.n, need });
    }
    let (variance, how) = differences.variance_of_mean(lead).ok_or(CompareError::Constant)?;
    let (n, h) = (differences.n as f64, lead as f64);
    let correction = ((n + 1.0 - 2.0 * h + h * (h - 1.0) / n) / n).sqrt();
    let statistic = correction * differences.mean / variance.sqrt();
    let student = StudentsT::new(0.0, 1.0, n - 1.0).expect("there are several moments");
    Ok(Comparison {
        n: differences.n,
        difference: differences.mean * differences.unit,
        statistic,
        p_value: 2.0 * student.cdf(-statistic.abs()),
        variance: how,
    })
}

/// The first one's losses less the second one's.
struct Differences {
    /// Deviation of each difference from the mean, NaN in a gap.
    deviations: Vec<f64>,
    n: usize,
    mean: f64,
    /// Unit of `mean` and `deviations`.
    unit: f64,
}

impl Differences {
    fn of(first: &[f64], second: &[f64], loss: Loss) -> Self {
        let pairs = || first.iter().zip(second).map(|(first, second)| Some((*first, *second)).filter(is_finite));
        // In units of the largest error, no loss overflows and not all of them vanish.
        let largest = pairs().flatten().fold(0.0_f64, |most, (first, second)| most.max(first.abs()).max(second.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let cost = |error: f64| match loss {
            Loss::Squared => (error / scale).powi(2),
            Loss::Absolute => (error / scale).abs(),
        };
        let differences: Vec<f64> =
            pairs().map(|pair| pair.map_or(f64::NAN, |(first, second)| cost(first) - cost(second))).collect();
        let known = differences.iter().filter(|difference| !difference.is_nan());
        let (n, sum) = known.fold((0, 0.0), |(n, sum), difference| (n + 1, sum + difference));
        let mean = if n == 0 { 0.0 } else { sum / n as f64 };
        let deviations = differences.iter().map(|difference| difference - mean).collect();
        let unit = match loss {
            Loss::Squared => scale * scale,
            Loss::Absolute => scale,
        };
        Self { deviations, n, mean, unit }
    }

    /// `None` for differences that do not vary beyond rounding.
    fn variance_of_mean(&self, lead: usize) -> Option<(f64, Variance)> {
        let n = self.n as f64;
        let covariances: Vec<f64> = (0..lead).map(|lag| self.sum_of_products(lag) / n).collect();
        // The losses are at most 1, and the rounding of each is at most this.
        if covariances[0] <= f64::EPSILON * f64::EPSILON {
            return None;
        }
        let sum = |weight: &dyn Fn(usize) -> f64| {
            (1..lead).fold(covariances[0], |sum, lag| sum + 2.0 * weight(lag) * covariances[lag])
        };
        let rectangular = sum(&|_| 1.0) / n;
        if rectangular > 0.0 {
            return Some((rectangular, Variance::Rectangular));
        }
        let bartlett = sum(&|lag| 1.0 - lag as f64 / lead as f64) / n;
        (bartlett > 0.0).then_some((bartlett, Variance::Bartlett))
    }

    fn sum_of_products(&self, lag: usize) -> f64 {
        let pairs = self.deviations.iter().zip(self.deviations.iter().skip(lag));
        pairs.map(|(earlier, later)| earlier * later).filter(|product| !product.is_nan()).sum()
    }
}

fn is_finite(pair: &(f64, f64)) -> bool {
    pair.0.is_finite() && pair.1.is_finite()
}
