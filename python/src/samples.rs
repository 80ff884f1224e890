//! Samples as Python hands them over: a float, or anything that `foretop._samples` reads as a row.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyFloat;

use crate::error::{InputError, raise};

/// More leads than anyone asks for, and few enough to have memory for.
const N_LEADS_MAX: isize = 1_000_000;

/// Samples that a predictor is stepped with.
pub(crate) enum Samples<'py> {
    One(f64),
    Row(PyReadonlyArray1<'py, f64>),
}

impl<'py> Samples<'py> {
    /// Reads the samples from position `n_past` on; those that have an index are placed by it if `axis` continues one.
    ///
    /// Numbers first, because a single sample is what has to be fast.
    ///
    /// # Errors
    ///
    /// An `InputError` if they are not numbers, not finite, or their index does not continue that of the series.
    pub(crate) fn read(given: &Bound<'py, PyAny>, axis: Option<&Py<PyAny>>, n_past: usize) -> PyResult<Self> {
        let samples = Self::read_any(given, axis, n_past)?;
        match &samples {
            Self::One(sample) => check_finite(given.py(), &[*sample])?,
            Self::Row(row) => check_finite(given.py(), row.as_slice()?)?,
        }
        Ok(samples)
    }

    fn read_any(given: &Bound<'py, PyAny>, axis: Option<&Py<PyAny>>, n_past: usize) -> PyResult<Self> {
        if let Ok(number) = given.cast::<PyFloat>() {
            return Ok(Self::One(number.value()));
        }
        if let Some(row) = contiguous(given) {
            return Ok(Self::Row(row));
        }
        let read = given.py().import("foretop._samples")?.call_method1("read_step", (given, axis, n_past))?;
        match read.cast::<PyFloat>() {
            Ok(number) => Ok(Self::One(number.value())),
            Err(_) => Ok(Self::Row(read.extract()?)),
        }
    }
}

/// Refuses infinite samples, as a fit does; NaN is a gap.
pub(crate) fn check_finite(py: Python<'_>, samples: &[f64]) -> PyResult<()> {
    match samples.iter().position(|sample| sample.is_infinite()) {
        Some(idx) => Err(raise(py, &InputError::Infinite { idx, value: samples[idx] })),
        None => Ok(()),
    }
}

/// A row of samples.
pub(crate) fn read_row<'py>(given: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray1<'py, f64>> {
    match contiguous(given) {
        Some(row) => Ok(row),
        None => given.py().import("foretop._samples")?.call_method1("row", (given,))?.extract(),
    }
}

/// The row itself, where it is already one that Rust can read in place. Not of subclasses, such as arrays with a mask.
pub(crate) fn contiguous<'py>(given: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, f64>> {
    let array = given.cast_exact::<PyArray1<f64>>().ok()?.readonly();
    array.as_slice().is_ok().then_some(array)
}

/// A horizon that there is memory for.
pub(crate) fn n_leads(py: Python<'_>, given: isize) -> PyResult<usize> {
    let max = N_LEADS_MAX;
    usize::try_from(given).ok().filter(|_| given <= max).ok_or_else(|| raise(py, &InputError::Leads { given, max }))
}
