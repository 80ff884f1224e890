//! Values that a quantity can have: counts are whole numbers, and a sensor has so many digits.

use serde::{Deserialize, Serialize};

/// Samples that differ from the one before them and are multiples of a number, without which it may be chance.
const N_CONFIRMED: u32 = 32;

/// A number is no multiple when it is further from one than this share of the largest sample.
const TOLERANCE: f64 = 1e-9;

/// Digits of the largest sample to which multiples are rounded, so that a sample and its multiple are the same number.
const N_DIGITS: i32 = 12;

/// Share of the largest sample below which a grid is too fine to matter.
const FINE: f64 = 1e-4;

/// The largest number of which all samples are multiples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Grid {
    /// 0 before there is a sample that is not 0; `None` where there is no such number.
    step: Option<f64>,
    /// The largest sample, without its sign.
    most: f64,
    /// The power of ten to one of which multiples are rounded.
    per_unit: f64,
    last: f64,
    n_confirmed: u32,
}

impl Grid {
    pub(super) fn new() -> Self {
        Self { step: Some(0.0), most: 0.0, per_unit: 1.0, last: f64::NAN, n_confirmed: 0 }
    }

    /// Takes a sample; NaN is a gap.
    pub(super) fn learn(&mut self, sample: f64) {
        let Some(step) = self.step.filter(|_| sample.is_finite()) else { return };
        if sample.abs() > self.most {
            self.most = sample.abs();
            // Powers of ten are exact up to here, and a number over one of them is the decimal number itself.
            self.per_unit = 10_f64.powi((N_DIGITS - self.most.log10().ceil() as i32).clamp(0, 22));
        }
        let common = common_measure(step, sample.abs(), TOLERANCE * self.most);
        if common != step {
            (self.step, self.n_confirmed) = ((common > FINE * self.most).then_some(common), 0);
        } else if sample != self.last {
            self.n_confirmed = self.n_confirmed.saturating_add(1);
        }
        self.last = sample;
    }

    /// The nearest value that the quantity can have, as far as that is known.
    pub(super) fn nearest(&self, value: f64) -> f64 {
        match self.step {
            Some(step) if step > 0.0 && self.n_confirmed >= N_CONFIRMED => {
                ((value / step).round() * step * self.per_unit).round() / self.per_unit
            }
            _ => value,
        }
    }

    /// Whether samples can have led here.
    pub(super) fn is_sound(&self) -> bool {
        self.step.is_none_or(|step| step.is_finite() && step >= 0.0)
            && self.most.is_finite()
            && self.most >= 0.0
            && self.per_unit >= 1.0
    }
}

/// The largest number of which both are multiples (Euclid), the first where the second is one of it already.
fn common_measure(one: f64, other: f64, tolerance: f64) -> f64 {
    let (mut large, mut small) = (other, one);
    while small > tolerance {
        let rest = (large - (large / small).round() * small).abs();
        if rest <= tolerance {
            return small;
        }
        (large, small) = (small, rest);
    }
    large
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl IntoIterator<Item = f64>) -> Grid {
        let mut grid = Grid::new();
        samples.into_iter().for_each(|sample| grid.learn(sample));
        grid
    }

    #[test]
    fn counts_are_whole_and_shares_have_digits() {
        let counts = (0..200).map(|t| f64::from(t * 7919 % 13));
        assert_eq!(of(counts.clone()).nearest(4.4), 4.0);
        let shares = of(counts.clone().map(|count| (66.0 + 2.0 * count) / 1000.0));
        assert_eq!(shares.nearest(0.1349), 0.134, "{shares:?}");
        let bytes = of(counts.clone().map(|pages| -4096.0 * pages));
        assert_eq!(bytes.nearest(-5000.0), -4096.0);
        assert_eq!(of(counts.flat_map(|count| [count, f64::NAN])).nearest(4.4), 4.0);
    }

    #[test]
    fn where_values_lie_anywhere_there_is_no_grid() {
        for grid in [
            of((0..200).map(|t| f64::from(t).sin())),
            of((0..200).map(|t| 0.001 * f64::from(t * 7919 % 100_003))),
            // As long as few differ it may be chance.
            of([5.0; 200]),
            of([0.0; 200]),
            of([]),
        ] {
            assert_eq!(grid.nearest(4.4), 4.4, "{grid:?}");
        }
        let late = of((0..200).map(|t| f64::from(t % 5)).chain([0.5]).chain((0..20).map(f64::from)));
        assert_eq!(late.nearest(4.4), 4.4, "it is not known yet whether halves are all");
    }
}
