//! MEAN: the running mean and variance of all that was seen (RPS section 5.2.1).

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use crate::inference::{Inference, Parameter};

/// Welford's running sums: exact to rounding however many samples come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mean {
    n: u64,
    mean: f64,
    squares: f64,
}

/// `samples` holds at least two known ones.
pub(crate) fn fit(samples: &[f64]) -> Mean {
    let mut sums = Mean { n: 0, mean: 0.0, squares: 0.0 };
    samples.iter().filter(|sample| !sample.is_nan()).for_each(|sample| sums.step(*sample));
    sums
}

/// Computes the errors of forecasts by the running mean of the samples before.
pub(crate) fn one_step_errors(samples: &[f64]) -> Vec<f64> {
    let mut sums = Mean { n: 0, mean: 0.0, squares: 0.0 };
    let error = |sample: &f64| {
        let error = if sums.n > 0 { sample - sums.mean } else { f64::NAN };
        if !sample.is_nan() {
            sums.step(*sample);
        }
        error
    };
    samples.iter().map(error).collect()
}

/// The mean with its standard error, and the likelihood of independent samples about it.
pub(crate) fn inference(samples: &[f64]) -> Option<Inference> {
    let mean = fit(samples);
    let n = mean.n as f64;
    let log_likelihood = -0.5 * n * ((TAU * mean.squares / n).ln() + 1.0);
    let variance = mean.variance() / n;
    let parameter = Parameter { name: "mean".to_owned(), value: mean.mean, standard_error: Some(variance.sqrt()) };
    log_likelihood.is_finite().then(|| Inference {
        parameters: vec![parameter],
        covariances: vec![variance],
        log_likelihood: Some(log_likelihood),
        n_samples: mean.n as usize,
    })
}

impl Mean {
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// Divides by n - 1, as the mean is estimated too.
    pub(crate) fn variance(&self) -> f64 {
        self.squares / (self.n.max(2) - 1) as f64
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.n > 0 && self.mean.is_finite() && self.variance().is_finite() && self.squares >= 0.0
    }

    pub(crate) fn step(&mut self, sample: f64) {
        self.n += 1;
        let before = sample - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (sample - self.mean);
    }

    pub(crate) fn forecast_into(&self, means: &mut [f64], standard_errors: &mut [f64]) {
        means.fill(self.mean);
        // A value to come differs from the true mean by its own deviation, and the estimate does too.
        standard_errors.fill((self.variance() * (1.0 + 1.0 / self.n as f64)).sqrt());
    }
}
