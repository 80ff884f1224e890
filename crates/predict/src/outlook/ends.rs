//! Ends that a series comes back to and never passes: an empty queue, an idle core, a full share.

use serde::{Deserialize, Serialize};

/// Returns to the least value without which a lesser one may still come: a series that goes down by steps stays at its
/// least value for long, but does not come back to it.
const N_RETURNS: u32 = 20;

/// The least and the largest value so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ends {
    lower: End,
    /// End of the values with their signs changed.
    upper: End,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct End {
    least: f64,
    /// Number of times that the end was reached from other values.
    n_returns: u32,
    is_there: bool,
}

impl Ends {
    pub(super) fn new() -> Self {
        let end = End { least: f64::INFINITY, n_returns: 0, is_there: false };
        Self { upper: end.clone(), lower: end }
    }

    /// Takes a sample; NaN is a gap.
    pub(super) fn learn(&mut self, sample: f64) {
        if !sample.is_nan() {
            self.lower.learn(sample);
            self.upper.learn(-sample);
        }
    }

    /// The nearest value that is within them, as far as they are known.
    pub(super) fn nearest(&self, value: f64) -> f64 {
        value.max(self.lower.bound()).min(-self.upper.bound())
    }

    /// The least and the largest value so far.
    pub(super) fn seen(&self) -> (f64, f64) {
        (self.lower.least, -self.upper.least)
    }

    /// Whether samples can have led here.
    pub(super) fn is_sound(&self) -> bool {
        !self.lower.least.is_nan() && !self.upper.least.is_nan() && self.lower.bound() <= -self.upper.bound()
    }
}

impl End {
    fn learn(&mut self, sample: f64) {
        if sample < self.least {
            *self = Self { least: sample, n_returns: 0, is_there: true };
            return;
        }
        let is_there = sample == self.least;
        self.n_returns = self.n_returns.saturating_add(u32::from(is_there && !self.is_there));
        self.is_there = is_there;
    }

    fn bound(&self) -> f64 {
        if self.n_returns < N_RETURNS { f64::NEG_INFINITY } else { self.least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl IntoIterator<Item = f64>) -> Ends {
        let mut ends = Ends::new();
        samples.into_iter().for_each(|sample| ends.learn(sample));
        assert!(ends.is_sound());
        ends
    }

    #[test]
    fn what_a_series_comes_back_to_and_never_passes_is_an_end() {
        let queue = (0..200).map(|t| f64::from(t % 7 * (t % 13)));
        let ends = of(queue.clone());
        assert_eq!((ends.nearest(-0.5), ends.nearest(0.5), ends.nearest(100.0)), (0.0, 0.5, 100.0));
        let shares = of((0..100).map(|t| if t % 3 == 0 { 1.0 } else { f64::from(t).sin() / 2.0 }));
        assert_eq!((shares.nearest(1.2), shares.nearest(-0.6)), (1.0, -0.6));
        let passed = of(queue.chain([f64::NAN, -1.0, 0.0]));
        assert_eq!(passed.nearest(-0.5), -0.5, "it was passed");
    }

    #[test]
    fn stairs_have_no_end() {
        let stairs = of((0..400).map(|t| f64::from(-(t / 40))));
        assert_eq!((stairs.nearest(-99.0), stairs.nearest(9.0)), (-99.0, 9.0));
        assert_eq!(of([]).nearest(3.0), 3.0);
    }
}
