//! BM(p) and LAST: the mean of the last N samples, for every lead (RPS section 5.2.1).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::effort::spend;
use crate::error_growth::ErrorGrowth;

/// A window length, and how wrong its mean was at each lead over the samples of the fit.
///
/// RPS leaves the errors of longer leads to the unit roots of `1/phi(B)`: they grow without bound even where
/// the series returns to its mean. The ones here are measured, so an interval at 30 steps is as
/// honest as one at 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Window {
    sliding: Sliding,
    growth: ErrorGrowth,
    /// Mean of the samples of the fit.
    mean: f64,
}

/// Chooses the length from 1 to `length_max` with the least mean squared one-step error. All lengths are
/// judged on the same targets: those for which the longest of them is full. Ties go to the shorter.
///
/// `samples` holds at least two known ones; no length above half of them is tried.
pub(crate) fn fit(samples: &[f64], length_max: usize) -> Window {
    let known: Vec<f64> = samples.iter().copied().filter(|sample| !sample.is_nan()).collect();
    let length = best_length(&known, length_max.min(known.len() / 2).max(1));
    let mut sliding = Sliding::new(length);
    let means: Vec<f64> = samples.iter().map(|sample| sliding.step(*sample).unwrap_or(f64::NAN)).collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    Window { sliding, growth: ErrorGrowth::measure(samples, &means), mean }
}

fn best_length(known: &[f64], length_max: usize) -> usize {
    if length_max == 1 {
        return 1;
    }
    // Distances from one sample, because a large offset would eat the digits of a running sum.
    let offset = known[0];
    let mut sums = vec![0.0; known.len() + 1];
    for (t, sample) in known.iter().enumerate() {
        sums[t + 1] = sums[t] + (sample - offset);
    }
    let squared_error = |length: usize| -> f64 {
        let error = |t: usize| (known[t] - offset) - (sums[t] - sums[t - length]) / length as f64;
        (length_max..known.len()).map(|t| error(t).powi(2)).sum()
    };
    let errors = (1..=length_max).map(|length| (length, squared_error(length)));
    errors
        .take_while(|_| spend(2 * known.len()))
        .reduce(|best, next| if next.1 < best.1 { next } else { best })
        .map_or(1, |(length, _)| length)
}

impl Window {
    pub(crate) fn length(&self) -> usize {
        self.sliding.length
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    pub(crate) fn innovation_variance(&self) -> f64 {
        self.growth.one_step()
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.growth.is_sound() && self.mean.is_finite() && self.sliding.is_sound()
    }

    pub(crate) fn step(&mut self, sample: f64) {
        self.sliding.step(sample);
    }

    /// Computes the errors of forecasts from the means of the samples before, once there are enough to fill the window.
    pub(crate) fn one_step_errors(&self, samples: &[f64]) -> Vec<f64> {
        let mut sliding = Sliding::new(self.sliding.length);
        let mut mean = None;
        let error = |sample: &f64| {
            let error = sample - mean.unwrap_or(f64::NAN);
            mean = sliding.step(*sample);
            error
        };
        samples.iter().map(error).collect()
    }

    /// `n_missing` is how many samples are missing since the last known one.
    pub(crate) fn forecast_into(&self, n_missing: usize, means: &mut [f64], standard_errors: &mut [f64]) {
        means.fill(self.sliding.mean());
        self.growth.standard_errors_into(n_missing, standard_errors);
    }
}

/// The last known samples and their sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sliding {
    length: usize,
    /// The latest samples, at most `length`, oldest first.
    history: VecDeque<f64>,
    sum: f64,
    /// Steps until the sum is made anew, once a window, so that rounding does not pile up.
    until_renewal: usize,
}

impl Sliding {
    fn new(length: usize) -> Self {
        Self { length, history: VecDeque::with_capacity(length), sum: 0.0, until_renewal: length }
    }

    /// The mean once the window is full. A NaN leaves everything as it is.
    fn step(&mut self, sample: f64) -> Option<f64> {
        if !sample.is_nan() {
            self.push(sample);
        }
        (self.history.len() == self.length).then(|| self.mean())
    }

    fn push(&mut self, sample: f64) {
        if self.history.len() == self.length {
            self.sum -= self.history.pop_front().unwrap_or(0.0);
        }
        self.history.push_back(sample);
        self.sum += sample;
        self.until_renewal -= 1;
        if self.until_renewal == 0 {
            self.sum = self.history.iter().sum();
            self.until_renewal = self.length;
        }
    }

    fn mean(&self) -> f64 {
        self.sum / self.history.len() as f64
    }

    fn is_sound(&self) -> bool {
        let range = 1..=self.length;
        range.contains(&self.history.len()) && range.contains(&self.until_renewal) && self.sum.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_length(samples: &[f64], length_max: usize, expected: usize) {
        assert_eq!(fit(samples, length_max).length(), expected);
    }

    #[test]
    fn a_random_walk_is_best_told_by_its_last_value() {
        let ramp: Vec<f64> = (0..50).map(f64::from).collect();
        check_length(&ramp, 32, 1);
    }

    #[test]
    fn an_alternation_is_best_told_by_two_values() {
        let alternating: Vec<f64> = (0..50).map(|t| f64::from(t % 2)).collect();
        check_length(&alternating, 32, 2);
    }

    #[test]
    fn no_window_is_longer_than_half_of_what_is_known() {
        check_length(&[1.0, f64::NAN, 2.0, f64::NAN], 1000, 1);
    }

    #[test]
    fn the_choice_does_not_depend_on_a_large_offset() {
        let alternating: Vec<f64> = (0..50).map(|t| 1e12 + f64::from(t % 2)).collect();
        check_length(&alternating, 32, 2);
    }
}
