//! A stretch of a trace: what a model is fitted to, and what it is tested on.

use series::bucket_means;

use crate::template::Transformation;

/// The place of a window, and the transformation of its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The number of the window in the campaign, from 0.
    pub number: u64,
    /// The index of the trace in the campaign.
    pub trace_idx: usize,
    /// The transformation of the samples.
    pub transformation: Transformation,
    /// The first sample of the trace that is in it, from 0.
    pub start: usize,
    /// Transformed samples that models are fitted to.
    pub n_fit: usize,
    /// Transformed samples after those that forecasts are scored against.
    pub n_test: usize,
}

impl Window {
    /// Returns the number of samples of the trace that the window takes.
    #[must_use]
    pub fn n_raw(&self) -> usize {
        (self.n_fit + self.n_test + self.transformation.n_differences) * self.transformation.aggregate
    }

    /// The samples of the trace that forecasts are scored against, transformed or not.
    #[must_use]
    pub fn raw_test(&self) -> std::ops::Range<usize> {
        let end = self.start + self.n_raw();
        end - self.n_test * self.transformation.aggregate..end
    }

    /// The transformed samples: first [`Window::n_fit`], then [`Window::n_test`] of them.
    ///
    /// Buckets are counted from the start of the window and differences reach back only, so that no value knows of a
    /// sample after its own.
    ///
    /// # Panics
    /// When the window does not lie within `trace`.
    #[must_use]
    pub fn cut(&self, trace: &[f64]) -> Vec<f64> {
        let raw = &trace[self.start..self.start + self.n_raw()];
        let mut samples = match self.transformation.aggregate {
            1 => raw.to_vec(),
            factor => bucket_means(raw, factor),
        };
        for _ in 0..self.transformation.n_differences {
            samples = samples.windows(2).map(|pair| pair[1] - pair[0]).collect();
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(aggregate: usize, n_differences: usize) -> Window {
        let transformation = Transformation { aggregate, n_differences };
        Window { number: 0, trace_idx: 0, transformation, start: 1, n_fit: 2, n_test: 1 }
    }

    #[test]
    fn a_window_is_as_long_as_said_whatever_is_done_to_it() {
        let squares: Vec<f64> = (0..20).map(|t| f64::from(t * t)).collect();
        assert_eq!(window(1, 0).cut(&squares), [1.0, 4.0, 9.0]);
        assert_eq!(window(2, 0).cut(&squares), [2.5, 12.5, 30.5]);
        assert_eq!(window(1, 1).cut(&squares), [3.0, 5.0, 7.0]);
        assert_eq!(window(2, 2).cut(&squares), [8.0, 8.0, 8.0]);
    }

    #[test]
    fn the_test_part_is_at_the_end() {
        assert_eq!(window(1, 0).raw_test(), 3..4);
        assert_eq!(window(2, 1).raw_test(), 7..9);
    }

    #[test]
    fn a_gap_stays_where_it_is() {
        let samples = window(1, 1).cut(&[0.0, 1.0, f64::NAN, 3.0, 4.0]);
        assert!(samples[0].is_nan() && samples[1].is_nan());
        assert_eq!(samples[2], 1.0);
    }
}
