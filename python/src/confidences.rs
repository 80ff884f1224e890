//! One confidence or several, and arrays of the ends of their intervals.

use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use statistics::Interval;
use units::Confidence;

use crate::error::raise;

/// Argument `confidence=`: one number or several.
#[derive(Clone, FromPyObject, IntoPyObject)]
pub(crate) enum Confidences {
    One(f64),
    Several(Vec<f64>),
}

/// The lower and the upper ends.
pub(crate) type Ends<'py> = (Bound<'py, PyArrayDyn<f64>>, Bound<'py, PyArrayDyn<f64>>);

impl Confidences {
    /// The ends of the intervals that `intervals` gives for each confidence, in arrays of `shape`; of several
    /// confidences the arrays have one dimension more, the first.
    pub(crate) fn ends<'py, I: IntoIterator<Item = Interval>>(
        &self,
        py: Python<'py>,
        shape: &[usize],
        intervals: impl Fn(Confidence) -> I,
    ) -> PyResult<Ends<'py>> {
        let (given, shape) = match self {
            Self::One(confidence) => (std::slice::from_ref(confidence), shape.to_vec()),
            Self::Several(confidences) => (&confidences[..], [&[confidences.len()], shape].concat()),
        };
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for confidence in given {
            let confidence = Confidence::new(*confidence).map_err(|error| raise(py, &error))?;
            for interval in intervals(confidence) {
                lower.push(interval.lower);
                upper.push(interval.upper);
            }
        }
        let array = |ends| PyArray1::from_vec(py, ends).reshape(shape.clone());
        Ok((array(lower)?, array(upper)?))
    }
}
