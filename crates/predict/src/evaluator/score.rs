//! Scores of an evaluator for a lead time.

/// The score of one lead time.
#[derive(Clone, Debug, PartialEq)]
pub struct LeadScore {
    /// Steps ahead.
    pub lead: usize,
    /// Errors that the statistics are over.
    pub n: usize,
    /// Forecasts that came due in a gap and could not be scored, since the beginning.
    pub n_unscored: u64,
    /// `None` while nothing was scored.
    pub errors: Option<Errors>,
    /// The mean of the squared standard errors of the forecasts that were scored: what the predictor took its mean
    /// squared error to be. `None` while nothing was scored.
    pub expected_mean_squared: Option<f64>,
    /// `None` while nothing was scored.
    pub coverage: Option<Coverage>,
    /// `None` while nothing was scored.
    pub interval_scores: Option<IntervalScores>,
    /// The mean continuous ranked probability score of the normal distribution with the forecast's mean and standard
    /// error (Gneiting and Raftery 2007, section 4.2), in the unit of the series: a mean absolute error that also knows
    /// of the error bar. Lower is better. `None` while nothing was scored.
    pub crps: Option<f64>,
    /// The mean absolute error over that of LAST at one step (Hyndman and Koehler 2006), whose errors are those on the
    /// samples that the evaluator saw, no more than are scored, or on the samples given to [`scaled_on`]. `None` while
    /// nothing was scored, and where LAST has no error.
    ///
    /// [`scaled_on`]: crate::Evaluator::scaled_on
    pub mean_absolute_scaled: Option<f64>,
}

/// Statistics of errors, in the unit of the series (`mean_squared` in its square).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Least error.
    pub min: f64,
    /// Median error; the mean of the middle two when their number is even.
    pub median: f64,
    /// Greatest error.
    pub max: f64,
    /// Mean error: the bias.
    pub mean: f64,
    /// Mean of the errors' magnitudes.
    pub mean_absolute: f64,
    /// Mean of the errors' squares.
    pub mean_squared: f64,
}

/// The share of samples that fell inside the central intervals, each in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// Coverage of 50 % intervals.
    pub p50: f64,
    /// Coverage of 80 % intervals.
    pub p80: f64,
    /// Coverage of 95 % intervals.
    pub p95: f64,
}

/// Mean interval scores (Gneiting and Raftery 2007, section 6.2), in the unit of the series: the width of the interval,
/// and for a sample outside 2 / (1 - confidence) times its distance from the nearer end. Lower is better. Good to six
/// digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalScores {
    /// Score of 50 % intervals.
    pub p50: f64,
    /// Score of 80 % intervals.
    pub p80: f64,
    /// Score of 95 % intervals.
    pub p95: f64,
}

impl Errors {
    /// Computes the statistics of at least one error, all finite.
    pub(super) fn of(mut errors: Vec<f64>) -> Self {
        errors.sort_by(f64::total_cmp);
        let (n, middle) = (errors.len() as f64, errors.len() / 2);
        let is_even = errors.len().is_multiple_of(2);
        Self {
            min: errors[0],
            median: if is_even { f64::midpoint(errors[middle - 1], errors[middle]) } else { errors[middle] },
            max: errors[errors.len() - 1],
            mean: errors.iter().sum::<f64>() / n,
            mean_absolute: errors.iter().map(|error| error.abs()).sum::<f64>() / n,
            mean_squared: errors.iter().map(|error| error * error).sum::<f64>() / n,
        }
    }

    /// The square root of the mean of the errors' squares, in the unit of the series.
    #[must_use]
    pub fn root_mean_squared(&self) -> f64 {
        self.mean_squared.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_the_errors() {
        let errors = Errors::of(vec![3.0, -1.0, 0.0, 2.0]);
        let expected = Errors { min: -1.0, median: 1.0, max: 3.0, mean: 1.0, mean_absolute: 1.5, mean_squared: 3.5 };
        assert_eq!(errors, expected);
    }
}
