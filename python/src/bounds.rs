//! Bounds of a quantity, from the arguments `bounds=` and `non_negative=`.

use pyo3::prelude::*;

use crate::error::{InputError, raise};

/// Both ends included; infinite where there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    min: f64,
    max: f64,
}

/// Bounds as Python has them: None where there is none.
pub(crate) type Pair = (Option<f64>, Option<f64>);

impl Bounds {
    pub(crate) const NONE: Self = Self { min: f64::NEG_INFINITY, max: f64::INFINITY };

    /// Reads the bounds; the lower end is 0 at least if `is_non_negative`.
    pub(crate) fn read(py: Python<'_>, pair: Option<Pair>, is_non_negative: bool) -> PyResult<Self> {
        let (min, max) = pair.unwrap_or_default();
        let (min, max) = (min.unwrap_or(Self::NONE.min), max.unwrap_or(Self::NONE.max));
        let min = if is_non_negative && min < 0.0 { 0.0 } else { min };
        // Of a NaN this is false.
        let is_range = min <= max;
        is_range.then_some(Self { min, max }).ok_or_else(|| raise(py, &InputError::Bounds { given: (min, max) }))
    }

    pub(crate) fn cut(self, forecast: &mut predict::Forecast) {
        if self != Self::NONE {
            forecast.cut(self.min, self.max);
        }
    }

    /// Both ends.
    pub(crate) fn ends(self) -> (f64, f64) {
        (self.min, self.max)
    }

    /// Returns the ends in the form that [`Bounds::read`] takes.
    pub(crate) fn pair(self) -> Pair {
        (Some(self.min), Some(self.max))
    }
}
