//! Correlation of a series with its own past.

use realfft::RealFftPlanner;

use crate::{mean, scaled};

/// Biased autocovariances at lags 0 to `lag_max`, by FFT: sums of products of deviations from the mean, divided by the
/// number of known samples. A product with a gap in it counts as 0.
///
/// Empty when no sample is known. Lags beyond the samples are 0.
#[must_use]
pub fn autocovariances(samples: &[f64], lag_max: usize) -> Vec<f64> {
    let known: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let mean = mean(&known);
    let deviations = samples.iter().map(|sample| if sample.is_finite() { sample - mean } else { 0.0 });
    let mut covariances = products(deviations, samples.len(), lag_max);
    covariances.iter_mut().for_each(|sum| *sum /= known.len() as f64);
    covariances
}

/// Autocorrelations at lags 0 to `lag_max`; NaN throughout for a series that does not vary.
#[must_use]
pub fn autocorrelations(samples: &[f64], lag_max: usize) -> Vec<f64> {
    let covariances = autocovariances(&scaled(samples), lag_max);
    covariances.iter().map(|covariance| covariance / covariances[0]).collect()
}

/// Computes [`autocorrelations`] by plain sums: for some tens of lags these take a part of the time of an FFT, and give
/// other last digits.
pub(super) fn autocorrelations_at_few_lags(samples: &[f64], lag_max: usize) -> Vec<f64> {
    let mut deviations = scaled(samples);
    let (n, sum) = deviations.iter().filter(|d| d.is_finite()).fold((0.0, 0.0), |(n, sum), d| (n + 1.0, sum + d));
    deviations.iter_mut().for_each(|d| *d = if d.is_finite() { *d - sum / n } else { 0.0 });
    let products: Vec<f64> = (0..=lag_max.min(deviations.len() - 1))
        .map(|lag| sum_of_products(&deviations[..deviations.len() - lag], &deviations[lag..]))
        .collect();
    products.iter().map(|product| product / products[0]).collect()
}

/// Computes the sum in eight parts, as many as the processor can add at once.
fn sum_of_products(left: &[f64], right: &[f64]) -> f64 {
    let ((left, left_end), (right, right_end)) = (left.as_chunks::<8>(), right.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (left, right) in left.iter().zip(right) {
        (0..8).for_each(|lane| sums[lane] += left[lane] * right[lane]);
    }
    sums.iter().sum::<f64>() + left_end.iter().zip(right_end).map(|(left, right)| left * right).sum::<f64>()
}

/// Partial autocorrelations at lags 1 to `lag_max`: the last coefficient of each Yule-Walker fit (Durbin-Levinson).
#[must_use]
pub fn partial_autocorrelations(samples: &[f64], lag_max: usize) -> Vec<f64> {
    let correlations = autocorrelations(samples, lag_max);
    let (mut coefficients, mut partials) = (Vec::<f64>::new(), Vec::new());
    let mut variance = 1.0;
    for lag in 1..correlations.len() {
        let explained: f64 = coefficients.iter().enumerate().map(|(i, phi)| phi * correlations[lag - 1 - i]).sum();
        let partial = (correlations[lag] - explained) / variance;
        let mirror: Vec<f64> = coefficients.iter().rev().copied().collect();
        coefficients.iter_mut().zip(mirror).for_each(|(phi, mirror)| *phi -= partial * mirror);
        coefficients.push(partial);
        partials.push(partial);
        variance *= 1.0 - partial * partial;
    }
    partials
}

/// Sums of products at each lag, through the power spectrum of the row padded so that its ends do not meet.
pub(super) fn products(deviations: impl Iterator<Item = f64>, n: usize, lag_max: usize) -> Vec<f64> {
    let size = (n + lag_max.min(n)).next_power_of_two().max(2);
    let mut planner = RealFftPlanner::<f64>::new();
    let (forward, inverse) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let mut row = forward.make_input_vec();
    row.iter_mut().zip(deviations).for_each(|(slot, deviation)| *slot = deviation);
    let mut spectrum = forward.make_output_vec();
    forward.process(&mut row, &mut spectrum).expect("buffers are of the plan's size");
    spectrum.iter_mut().for_each(|bin| *bin = (bin.norm_sqr()).into());
    inverse.process(&mut spectrum, &mut row).expect("a power spectrum is real at both ends");
    (0..=lag_max).map(|lag| if lag < n { row[lag] / size as f64 } else { 0.0 }).collect()
}
