//! A forecast of many series.

use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::forecast::{labels, reach};

/// What is to come of many series: means and standard errors, a row for each series, a column for each lead.
///
/// Column ``i`` of every array is for lead ``i + 1``: the next sample is lead 1. A series without a model has NaN.
#[pyclass(frozen, module = "foretop")]
pub(crate) struct FleetForecast {
    /// numpy.ndarray : The expected values, in the units of the series.
    #[pyo3(get)]
    mean: Py<PyArray2<f64>>,
    /// numpy.ndarray : The square roots of the expected squared errors of the means, as the models see them.
    #[pyo3(get)]
    standard_error: Py<PyArray2<f64>>,
    n_past: usize,
    axis: Option<Py<PyAny>>,
}

type Table<'py> = Bound<'py, PyArray2<f64>>;

/// What a pickle holds: means, standard errors, position, axis.
type Parts<'py> = (Py<PyArray2<f64>>, Py<PyArray2<f64>>, usize, Option<Py<PyAny>>);

impl FleetForecast {
    pub(crate) fn new(
        mean: Py<PyArray2<f64>>,
        standard_error: Py<PyArray2<f64>>,
        n_past: usize,
        axis: Option<Py<PyAny>>,
    ) -> Self {
        Self { mean, standard_error, n_past, axis }
    }
}

#[pymethods]
impl FleetForecast {
    /// numpy.ndarray or pandas.Index : Where the leads belong.
    ///
    /// Continues the index of the DataFrame that was fitted; positions counted from its first row otherwise.
    #[getter]
    fn index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        labels(py, self.axis.as_ref(), self.n_past, self.mean.bind(py).shape()[1])
    }

    /// Central prediction intervals, if errors are normal.
    ///
    /// Parameters
    /// ----------
    /// confidence : float
    ///     The probability with which each interval holds the value to come, between 0 and 1.
    ///
    /// Returns
    /// -------
    /// lower, upper : numpy.ndarray
    ///     The ends, both included, in the shape of :attr:`mean`.
    ///
    /// Raises
    /// ------
    /// ConfidenceError
    ///     If `confidence` is not strictly between 0 and 1.
    #[pyo3(signature = (confidence = 0.95))]
    fn interval<'py>(&self, py: Python<'py>, confidence: f64) -> PyResult<(Table<'py>, Table<'py>)> {
        let reach = reach(py, confidence)?;
        let (mean, error) = (self.mean.bind(py).readonly(), self.standard_error.bind(py).readonly());
        let (mean, error) = (mean.as_array(), error.as_array());
        let end = |sign: f64| PyArray2::from_owned_array(py, &mean + &(&error * (sign * reach)));
        Ok((end(-1.0), end(1.0)))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let shape = self.mean.bind(py).shape();
        format!("<foretop.FleetForecast: {} leads of {} series>", shape[1], shape[0])
    }

    #[staticmethod]
    fn _from_parts(
        mean: Py<PyArray2<f64>>,
        standard_error: Py<PyArray2<f64>>,
        n_past: usize,
        axis: Option<Py<PyAny>>,
    ) -> Self {
        Self::new(mean, standard_error, n_past, axis)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, Self { mean, standard_error, n_past, axis }) = (slf.py(), slf.get());
        let axis = axis.as_ref().map(|axis| axis.clone_ref(py));
        let parts = (mean.clone_ref(py), standard_error.clone_ref(py), *n_past, axis);
        Ok((slf.get_type().getattr("_from_parts")?, parts))
    }
}
