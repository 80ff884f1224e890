//! The first figures of a series.

use crate::{mean, scale};

/// Counts and moments of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Known samples.
    pub n: usize,
    /// Gaps.
    pub n_gaps: usize,
    /// Mean of the known samples, in their unit.
    pub mean: f64,
    /// Mean squared deviation from the mean (divided by n), in the unit's square; infinite where that overflows.
    pub variance: f64,
    /// Least known sample.
    pub min: f64,
    /// Greatest known sample.
    pub max: f64,
}

/// `None` when no sample is finite.
#[must_use]
pub fn summary(samples: &[f64]) -> Option<Summary> {
    let scale = scale(samples);
    let known: Vec<f64> = samples.iter().filter(|sample| sample.is_finite()).map(|sample| sample / scale).collect();
    if known.is_empty() {
        return None;
    }
    let mean = mean(&known);
    let variance = known.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / known.len() as f64;
    Some(Summary {
        n: known.len(),
        n_gaps: samples.len() - known.len(),
        mean: mean * scale,
        variance: variance * scale * scale,
        min: known.iter().copied().fold(f64::INFINITY, f64::min) * scale,
        max: known.iter().copied().fold(f64::NEG_INFINITY, f64::max) * scale,
    })
}

/// The longest stretch of samples without a gap, the first of several: what statistics of an unbroken row can be had
/// of. Its position, and the stretch; empty when no sample is known.
#[must_use]
pub fn longest_stretch(samples: &[f64]) -> (usize, &[f64]) {
    let mut longest = (0, &samples[..0]);
    let mut start = 0;
    for stretch in samples.split(|sample| !sample.is_finite()) {
        if stretch.len() > longest.1.len() {
            longest = (start, stretch);
        }
        start += stretch.len() + 1;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_and_no_more() {
        let summary = summary(&[1.0, f64::NAN, 3.0, 5.0]).unwrap();
        assert_eq!((summary.n, summary.n_gaps, summary.mean, summary.min, summary.max), (3, 1, 3.0, 1.0, 5.0));
        // 8/3 to rounding.
        assert!((summary.variance - 8.0 / 3.0).abs() < 1e-15);
        assert_eq!(super::summary(&[f64::NAN]), None);
    }

    #[test]
    fn huge_samples_have_a_mean() {
        let huge = summary(&[1.5e308, 1.0e308]).unwrap();
        assert!((huge.mean / 1.25e308 - 1.0).abs() < 1e-15 && huge.variance == f64::INFINITY);
    }

    #[test]
    fn the_longest_stretch_is_the_first_of_its_length() {
        let samples = [1.0, f64::NAN, 2.0, 3.0, f64::NAN, f64::NAN, 4.0, 5.0];
        assert_eq!(longest_stretch(&samples), (2, &[2.0, 3.0][..]));
        assert_eq!(longest_stretch(&[f64::NAN]), (0, &[][..]));
    }
}
