//! The largest errors and movements seen at a lead, in the unit of the series: no forecast goes far beyond them.

use serde::{Deserialize, Serialize};

/// No end is farther from the forecast than this multiple of the largest error seen at its lead.
const OF_LARGEST: f64 = 1.5;

/// Errors that do not overlap without which the largest is not known: the fewer there are, the more it counts for.
const N_KNOWN: f64 = 10.0;

/// The extremes of one lead, each at least 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Extremes {
    error: f64,
    fall: f64,
    rise: f64,
}

impl Extremes {
    /// Takes a sample, its forecast and the last sample when that was made.
    pub(super) fn learn(&mut self, sample: f64, forecast: f64, before: f64) {
        self.error = self.error.max((sample - forecast).abs());
        self.rise = self.rise.max(sample - before);
        self.fall = self.fall.max(before - sample);
    }

    /// The largest error to be stated after `n` errors that do not overlap; infinite after none.
    pub(super) fn error_max(&self, n: f64) -> f64 {
        if n > 0.0 { OF_LARGEST * (N_KNOWN / n).clamp(1.0, f64::MAX) * self.error } else { f64::INFINITY }
    }

    /// The largest fall and rise over the lead.
    pub(super) fn movement(&self) -> [f64; 2] {
        [self.fall, self.rise]
    }

    /// Whether samples can have led here.
    pub(super) fn is_sound(&self) -> bool {
        [self.error, self.fall, self.rise].iter().all(|extreme| extreme.is_finite() && *extreme >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_many_errors_counts_one_and_a_half_times() {
        let mut extremes = Extremes::default();
        extremes.learn(5.0, 3.0, 9.0);
        extremes.learn(7.0, 8.0, 6.5);
        assert_eq!([100.0, 10.0, 5.0].map(|n| extremes.error_max(n)), [3.0, 3.0, 6.0]);
        assert_eq!(extremes.movement(), [4.0, 0.5]);
    }
}
