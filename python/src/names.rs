//! Names of the series of a fleet.

use numpy::{PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

use crate::samples::contiguous;

/// Names as they were given; positions where there are none.
pub(crate) struct Names(Option<Py<PyList>>);

impl Names {
    pub(crate) fn new(given: Option<Py<PyList>>) -> Self {
        Self(given)
    }

    pub(crate) fn given(&self, py: Python<'_>) -> Option<Py<PyList>> {
        self.0.as_ref().map(|names| names.clone_ref(py))
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self(self.given(py))
    }

    /// All of `n_series`, in a list of the caller's own.
    pub(crate) fn list<'py>(&self, py: Python<'py>, n_series: usize) -> PyResult<Bound<'py, PyList>> {
        match &self.0 {
            Some(names) => PyList::new(py, names.bind(py)),
            None => PyList::new(py, 0..n_series),
        }
    }

    pub(crate) fn name<'py>(&self, py: Python<'py>, idx: usize) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            Some(names) => names.bind(py).get_item(idx),
            None => Ok(idx.into_pyobject(py)?.into_any()),
        }
    }

    /// The position of the series of this name, or at this position if there is no such name.
    pub(crate) fn position(&self, series: &Bound<'_, PyAny>, n_series: usize) -> PyResult<usize> {
        if let Some(names) = &self.0 {
            let names = names.bind(series.py());
            if names.contains(series)? {
                return names.index(series);
            }
        }
        let refusal = format!("there is no series {} among {n_series}", series.repr()?);
        match series.cast::<PyInt>() {
            Ok(idx) => idx.extract().ok().filter(|idx| *idx < n_series).ok_or_else(|| PyIndexError::new_err(refusal)),
            Err(_) => Err(PyKeyError::new_err(refusal)),
        }
    }

    /// Samples from position `n_past` on, a row with one for each series and each step, from a row, a frame or samples
    /// by name.
    pub(crate) fn read_steps<'py>(
        &self,
        samples: &Bound<'py, PyAny>,
        n_series: usize,
        axis: Option<&Py<PyAny>>,
        n_past: usize,
    ) -> PyResult<PyReadonlyArray2<'py, f64>> {
        let (py, is_named) = (samples.py(), self.0.is_some());
        if let Some(row) = contiguous(samples) {
            return Ok(row.reshape([1, row.as_slice()?.len()])?.readonly());
        }
        let names = self.list(py, n_series)?;
        py.import("foretop._frames")?.call_method1("read_steps", (samples, names, is_named, axis, n_past))?.extract()
    }
}
