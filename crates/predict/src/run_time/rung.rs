//! The errors of means over windows of one length.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::scale::Scale;
use crate::intervals::Sorted;

/// Origins are this share of the length apart.
const N_ORIGINS_A_LENGTH: usize = 4;

/// Errors that the word of the model counts for. With 4 an interval of 95 % that is the model's alone reaches 1.4 times
/// as far as a normal one.
const N_OF_MODEL: f64 = 4.0;

/// Numbers of errors. With fewer than the first, quantiles are those of a t distribution; with as many as the second,
/// they are the errors' own; between them in between.
const N_OWN: (f64, f64) = (20.0, 60.0);

/// Forecasts under way and errors of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rung {
    length: usize,
    /// Time at which a forecast was noted last; 0 for never.
    noted: u64,
    /// Means said, and when their windows end.
    said: VecDeque<(u64, f64)>,
    errors: Sorted,
}

/// The errors of one length that are known at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) length: usize,
    /// Variance by the model.
    model_variance: f64,
    /// Number of independent errors that are known.
    n: f64,
    errors: Vec<f64>,
    /// Mean and variance of the errors, those that the model counts for included.
    mean: f64,
    variance: f64,
}

impl Rung {
    pub(crate) fn new(length: usize) -> Self {
        Self { length, noted: 0, said: VecDeque::new(), errors: Sorted::default() }
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    pub(crate) fn n(&self) -> usize {
        self.errors.ascending().len()
    }

    fn spacing(&self) -> usize {
        self.length.div_ceil(N_ORIGINS_A_LENGTH)
    }

    /// Whether a window ends with the sample of `clock`.
    pub(crate) fn is_due(&self, clock: u64) -> bool {
        self.said.front().is_some_and(|(end, _)| *end == clock)
    }

    /// Takes the mean over the window that ends, NaN if it is not known.
    pub(crate) fn learn(&mut self, mean: f64, scale: Scale) {
        if let Some((_, said)) = self.said.pop_front() {
            let error = scale.of(mean) - scale.of(said);
            if !error.is_nan() {
                self.errors.learn(error);
            }
        }
    }

    /// Takes the forecast over the window that begins `lag` steps after `clock`, if the last one is long enough ago.
    pub(crate) fn note(&mut self, clock: u64, lag: usize, means: &[f64]) {
        if self.noted > 0 && clock - self.noted < self.spacing() as u64 {
            return;
        }
        self.noted = clock;
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        self.said.push_back((clock + (lag + self.length) as u64, mean));
    }

    /// `ratio` is how many times larger than the model's the variance was at shorter lengths.
    pub(crate) fn known(&self, model_variance: f64, ratio: f64) -> Known {
        let errors = self.errors.ascending().to_vec();
        let n_all = errors.len() as f64;
        let n = n_all * (self.spacing() as f64 / self.length as f64);
        let n_sum = n + N_OF_MODEL;
        let share = n / n_sum;
        let (mut mean, mut square) = (0.0, 0.0);
        for error in &errors {
            mean += error / n_all;
            square += error * error / n_all;
        }
        let own_variance = (square - mean * mean).max(0.0);
        let prior = model_variance * ratio;
        // The model says that the mean is 0; that it is not adds to the variance.
        let variance = (1.0 - share) * prior + share * own_variance + share * (1.0 - share) * mean * mean;
        Known { length: self.length, model_variance, n, errors, mean: share * mean, variance }
    }
}

impl Known {
    /// Returns the ratio of the variance to the model's; 1 if the model has none.
    pub(crate) fn ratio(&self) -> f64 {
        let ratio = self.variance / self.model_variance;
        if ratio.is_finite() { ratio } else { 1.0 }
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Returns the value that an error lies below with probability `p`.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let share = ((self.n - N_OWN.0) / (N_OWN.1 - N_OWN.0)).clamp(0.0, 1.0);
        match share {
            0.0 => self.t_quantile(p),
            1.0 => self.own_quantile(p),
            _ => share * self.own_quantile(p) + (1.0 - share) * self.t_quantile(p),
        }
    }

    /// Returns the quantile of a next error, if errors are normal.
    fn t_quantile(&self, p: f64) -> f64 {
        let n_sum = self.n + N_OF_MODEL;
        let deviation = (self.variance * (1.0 + 1.0 / n_sum)).sqrt();
        let t = StudentsT::new(0.0, 1.0, n_sum).map_or(0.0, |t| t.inverse_cdf(p));
        self.mean + deviation * t
    }

    /// Returns the quantile of a next error, if all are exchangeable and as many as `n` independent: the rank `(n + 1)
    /// p`. Further out than the errors go, on from the last as far as it would be if they were normal, so that
    /// quantiles rise with `p`.
    fn own_quantile(&self, p: f64) -> f64 {
        let (n, last) = (self.n, self.errors.len() - 1);
        let rank = |p: f64| ((n + 1.0) * p - 0.5) / n * (last + 1) as f64 - 0.5;
        let p_of = |rank: f64| ((rank + 0.5) / (last + 1) as f64 * n + 0.5) / (n + 1.0);
        let within = rank(p).clamp(0.0, last as f64);
        let (below, above) = (within.floor() as usize, within.ceil() as usize);
        let known = self.errors[below] + within.fract() * (self.errors[above] - self.errors[below]);
        if within == rank(p) { known } else { known + self.t_quantile(p) - self.t_quantile(p_of(within)) }
    }
}
