//! Products of power series and correlations of rows, by discrete Fourier transforms of one length.
//!
//! All transforms of the house are planned in this crate: every crate that names a planner compiles each size of
//! butterfly anew.

use std::sync::Arc;

pub use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

/// The transform of a real row: one more than half as many numbers, the others being their mirror.
pub type Spectrum = Vec<Complex<f64>>;

/// Transforms there and back, long enough for products of rows of a given length not to wrap around.
pub struct Transform {
    length: usize,
    forward: Arc<dyn RealToComplex<f64>>,
    backward: Arc<dyn ComplexToReal<f64>>,
    scratch: Vec<Complex<f64>>,
}

impl Transform {
    /// Makes a transform for rows of up to `n` values.
    #[must_use]
    pub fn for_rows_of(n: usize) -> Self {
        Self::new((2 * n).next_power_of_two())
    }

    fn new(length: usize) -> Self {
        let mut planner = RealFftPlanner::new();
        let (forward, backward) = (planner.plan_fft_forward(length), planner.plan_fft_inverse(length));
        let n_scratch = forward.get_scratch_len().max(backward.get_scratch_len());
        Self { length, forward, backward, scratch: vec![Complex::default(); n_scratch] }
    }

    /// The spectrum of `row`, which is no longer than the transform, with zeros behind it.
    pub fn spectrum(&mut self, row: &[f64]) -> Spectrum {
        let mut padded = row.to_vec();
        padded.resize(self.length, 0.0);
        let mut spectrum = self.forward.make_output_vec();
        self.forward
            .process_with_scratch(&mut padded, &mut spectrum, &mut self.scratch)
            .expect("every buffer has the length that the transform asks for");
        spectrum
    }

    /// The first `n` values of the row with this spectrum.
    pub fn row(&mut self, mut spectrum: Spectrum, n: usize) -> Vec<f64> {
        let mut row = self.backward.make_output_vec();
        self.backward
            .process_with_scratch(&mut spectrum, &mut row, &mut self.scratch)
            .expect("every buffer has the length that the transform asks for, and a product of real rows is real");
        row.truncate(n);
        let scale = 1.0 / self.length as f64;
        row.iter_mut().for_each(|value| *value *= scale);
        row
    }
}

/// The spectrum of the product of two power series: value k of the row is the sum of one(i) other(k - i).
#[must_use]
pub fn product(one: &[Complex<f64>], other: &[Complex<f64>]) -> Spectrum {
    one.iter().zip(other).map(|(one, other)| one * other).collect()
}

/// The spectrum of a correlation: value k of the row is the sum of one(i) other(i + k).
#[must_use]
pub fn correlation(one: &[Complex<f64>], other: &[Complex<f64>]) -> Spectrum {
    one.iter().zip(other).map(|(one, other)| one.conj() * other).collect()
}

/// The mean squares over frequencies 2 pi j / n, j = 1, 2, … below n/2, whose sum over the circle is the row's power
/// (the periodogram times 2 pi); frequency 0, where the mean is, is left out.
#[must_use]
pub fn periodogram(row: &[f64]) -> Vec<f64> {
    let n = row.len();
    let spectrum = Transform::new(n).spectrum(row);
    spectrum[1..n.div_ceil(2)].iter().map(|value| value.norm_sqr() / n as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_close(ours: &[f64], expected: &[f64]) {
        assert_eq!(ours.len(), expected.len());
        // A transform of a few small numbers rounds in the last places.
        assert!(ours.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-13), "{ours:?}");
    }

    #[test]
    fn products_and_correlations_are_those_of_the_sums() {
        let (one, other) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
        let mut transform = Transform::for_rows_of(3);
        let (left, right) = (transform.spectrum(&one), transform.spectrum(&other));
        check_close(&transform.row(product(&left, &right), 3), &[4.0, 13.0, 28.0]);
        check_close(&transform.row(correlation(&left, &right), 3), &[32.0, 17.0, 6.0]);
    }

    #[test]
    fn a_periodogram_of_odd_length_holds_half_the_power() {
        let row = [1.0, -2.0, 0.5, 0.25, 0.25];
        let power: f64 = row.iter().map(|value| value * value).sum();
        assert!((2.0 * periodogram(&row).iter().sum::<f64>() - power).abs() < 1e-13);
    }
}
