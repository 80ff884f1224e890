//! Leaving the usual: what can be asked about a signal for which nobody has made a rule.

use statistics::{quantile_of_sorted, sorted};

use crate::question::Question;
use crate::statement::{Comparison, Subject};

/// The share of samples below the range, and above it.
const TAIL: f64 = 0.01;

/// Distance beyond the range that counts as left, as a share of the range's width: a series that stands still at its
/// end does not leave it by a rounding error.
const MARGIN: f64 = 0.05;

/// Moments of the past at which it is looked whether it came, within the time that is looked ahead.
const N_LOOKS: usize = 8;

/// The range that a series kept to but for a hundredth of the time below it and a hundredth above, a twentieth wider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usual {
    /// Lower end, below the 1st percentile.
    pub lower: f64,
    /// Upper end, above the 99th percentile.
    pub upper: f64,
}

impl Usual {
    /// Known samples without which a hundredth of them is not known.
    pub const N_MIN: usize = 100;

    /// Returns the usual range of these samples, NaN for a gap; `None` when fewer than 100 are known, or nearly all
    /// are the same.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let known: Vec<f64> = samples.iter().copied().filter(|sample| !sample.is_nan()).collect();
        if known.len() < Self::N_MIN {
            return None;
        }
        let known = sorted(&known);
        let at = |share| quantile_of_sorted(&known, share);
        let (lower, upper) = (at(TAIL)?, at(1.0 - TAIL)?);
        let margin = MARGIN * (upper - lower);
        (margin > 0.0).then_some(Self { lower: lower - margin, upper: upper + margin })
    }

    /// Whether the series falls below it, and whether it rises above, within so many steps.
    #[must_use]
    pub fn questions(&self, n_leads: usize) -> [Question; 2] {
        [(Comparison::Below, self.lower), (Comparison::Above, self.upper)].map(|(comparison, line)| Question {
            subject: Subject::Any,
            comparison,
            line,
            n_leads,
            n_sustained: 1,
        })
    }
}

/// The share of moments after which it came true, over the past; 0 where nothing can be told.
#[must_use]
pub fn base_rate(question: &Question, samples: &[f64]) -> f64 {
    let every = question.n_leads.div_ceil(N_LOOKS);
    let came = (0..samples.len()).step_by(every).filter_map(|idx| question.of_samples(&samples[idx..]));
    let (n, n_true) = came.fold((0_usize, 0_usize), |(n, n_true), came| (n + 1, n_true + usize::from(came.is_some())));
    if n == 0 { 0.0 } else { n_true as f64 / n as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_range_leaves_a_hundredth_out_on_either_side_and_is_a_twentieth_wider() {
        let samples: Vec<f64> = (0..=200).map(f64::from).collect();
        assert_eq!(Usual::of(&samples), Some(Usual { lower: 2.0 - 9.8, upper: 198.0 + 9.8 }));
        assert_eq!(Usual::of(&samples[..99]), None, "too few");
        assert_eq!(Usual::of(&[3.0; 200]), None, "a constant has no usual range");
    }

    #[test]
    fn a_base_rate_is_that_of_the_past() {
        let mut samples = vec![1.0; 400];
        samples[300..].fill(9.0);
        let [below, above] = Usual { lower: 0.5, upper: 5.0 }.questions(8);
        assert_eq!(base_rate(&below, &samples), 0.0);
        // From 293 on, of the moments that can be told of.
        let share = base_rate(&above, &samples);
        assert!((share - 100.0 / 393.0).abs() < 0.03, "{share}");
        assert_eq!(base_rate(&above, &[]), 0.0);
    }
}
