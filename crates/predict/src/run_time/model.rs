//! Error of means over windows if errors were as the model states them.

/// The error variance of means over windows that follows from the standard errors of single leads.
///
/// The variance of lead `h` of a linear model is the sum of `psi_j^2` over `j < h`. Differences of neighbouring leads
/// so give the weights up to their signs, and with the weights the variance of any mean (Box and Jenkins, section
/// 5.1.1). Weights are taken to be positive, which is right where errors last, and errs towards wide windows where they
/// do not.
#[derive(Clone, Debug)]
pub(crate) struct ModelErrors {
    lag: usize,
    /// Sums of the first 0, 1, 2, … weights.
    weights: Vec<f64>,
    /// Sums of the squares of the first 0, 1, 2, … of those.
    squares: Vec<f64>,
    /// Variance of the lead that is known worst.
    worst: f64,
}

impl ModelErrors {
    /// `standard_errors` beyond `most` count as `most`. Windows start `lag` steps from the origin.
    pub(crate) fn of(standard_errors: &[f64], lag: usize, most: f64) -> Self {
        let (mut weights, mut squares) = (vec![0.0], vec![0.0]);
        let (mut variance, mut weight, mut square) = (0.0, 0.0, 0.0);
        for error in standard_errors {
            let error = if error.is_nan() { most } else { error.min(most) };
            weight += (error * error - variance).max(0.0).sqrt();
            variance = variance.max(error * error);
            square += weight * weight;
            weights.push(weight);
            squares.push(square);
        }
        Self { lag, weights, squares, worst: variance }
    }

    /// Returns a careful estimate of the variance of a window of `length` steps before its errors are known. A model
    /// does not count that it has estimated its own mean, which no window evens out: half-way to errors that are the
    /// same at all leads.
    pub(crate) fn careful_variance(&self, length: usize) -> f64 {
        0.5 * (self.variance(length) + self.worst)
    }

    /// The variance of the mean over a window of `length` steps, at least 1; beyond the last lead, of the longest
    /// window there is.
    pub(crate) fn variance(&self, length: usize) -> f64 {
        let n_leads = self.weights.len() - 1;
        let length = length.min(n_leads - self.lag).max(1);
        // What comes before the window adds to all of it.
        let before: f64 = (1..=self.lag).map(|m| (self.weights[m + length] - self.weights[m]).powi(2)).sum();
        (before + self.squares[length]) / (length * length) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Standard errors of AR(1) with this coefficient and unit innovations.
    fn ar1(coefficient: f64, n_leads: usize) -> Vec<f64> {
        let variances = (0..n_leads).scan((0.0, 1.0), |(variance, weight), _| {
            *variance += *weight * *weight;
            *weight *= coefficient;
            Some(*variance)
        });
        variances.map(f64::sqrt).collect()
    }

    #[test]
    fn a_mean_over_noise_is_known_better_the_longer_it_is() {
        let errors = ModelErrors::of(&[0.5; 100], 0, 1.0);
        for length in [1, 4, 100] {
            assert!((errors.variance(length) - 0.25 / length as f64).abs() < 1e-12, "{length}");
        }
    }

    #[test]
    fn a_mean_over_a_random_walk_is_off_by_what_is_in_textbooks() {
        let errors = ModelErrors::of(&ar1(1.0, 100), 0, 1e9);
        for length in [1_usize, 10, 100] {
            // The sum of the squares of 1 to n over n squared.
            let n = length as f64;
            let expected = (n + 1.0) * (2.0 * n + 1.0) / (6.0 * n);
            assert!((errors.variance(length) / expected - 1.0).abs() < 1e-9, "{length}");
        }
    }

    #[test]
    fn a_window_that_starts_later_is_known_worse() {
        // Two steps of a random walk from lead 2 on: innovations 1 and 2 in full, 3 by half.
        let errors = ModelErrors::of(&ar1(1.0, 3), 1, 1e9);
        assert!((errors.variance(2) - 2.25).abs() < 1e-12);
    }
}
