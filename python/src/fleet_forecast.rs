//! A forecast of many series.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use predict::half_width;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use statistics::Interval;
use units::Confidence;

use crate::confidences::{Confidences, Ends};
use crate::forecast::labels;
use crate::names::Names;
use crate::said::{Said, damaged, pickled, unpickled};

/// Forecasts of many series: means, standard errors and intervals, a row for each series, a column for each lead.
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
    /// Forecast of each series; `None` if errors are normal and without bounds.
    rows: Option<Vec<Said>>,
    n_past: usize,
    names: Names,
    axis: Option<Py<PyAny>>,
}

/// Contents of a pickle: means, standard errors, the forecast of each series, position, names, axis.
type Parts<'py> =
    (Py<PyArray2<f64>>, Py<PyArray2<f64>>, Option<Bound<'py, PyBytes>>, usize, Option<Py<PyList>>, Option<Py<PyAny>>);

impl FleetForecast {
    pub(crate) fn new(
        mean: Py<PyArray2<f64>>,
        standard_error: Py<PyArray2<f64>>,
        rows: Option<Vec<Said>>,
        n_past: usize,
        names: Names,
        axis: Option<Py<PyAny>>,
    ) -> Self {
        Self { mean, standard_error, rows, n_past, names, axis }
    }

    /// Builds the tables from the forecast of each series.
    pub(crate) fn of_rows(
        py: Python<'_>,
        rows: Vec<Said>,
        n_leads: usize,
        n_past: usize,
        names: Names,
        axis: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let table = |row: fn(&Said) -> &[f64]| {
            let values: Vec<f64> = rows.iter().flat_map(row).copied().collect();
            PyArray1::from_vec(py, values).reshape((rows.len(), n_leads)).map(Bound::unbind)
        };
        let (mean, standard_error) = (table(Said::means)?, table(Said::standard_errors)?);
        Ok(Self::new(mean, standard_error, Some(rows), n_past, names, axis))
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

    /// list : What the series are called, as in :attr:`Fleet.names`.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.names.list(py, self.__len__(py))
    }

    /// Central prediction intervals, of an ``AUTO`` learned by each series.
    ///
    /// Parameters
    /// ----------
    /// confidence : float or sequence of float
    ///     The probability with which each interval holds the value to come, between 0 and 1.
    ///
    /// Returns
    /// -------
    /// lower, upper : numpy.ndarray
    ///     The ends, both included, in the shape of :attr:`mean`. Of several confidences, one such table for each.
    ///
    /// Raises
    /// ------
    /// ConfidenceError
    ///     If a confidence is not strictly between 0 and 1.
    #[pyo3(signature = (confidence = Confidences::One(0.95)), text_signature = "($self, confidence=0.95)")]
    fn interval<'py>(&self, py: Python<'py>, confidence: Confidences) -> PyResult<Ends<'py>> {
        let (mean, error) = (self.mean.bind(py).readonly(), self.standard_error.bind(py).readonly());
        let (means, errors) = (mean.as_slice()?, error.as_slice()?);
        let intervals = |confidence: Confidence| match &self.rows {
            Some(rows) => rows.iter().flat_map(|said| said.intervals_of(confidence)).collect(),
            None => normal(means, errors, half_width(confidence)),
        };
        confidence.ends(py, mean.shape(), intervals)
    }

    /// Return everything as a long pandas table, a row for each series and lead.
    ///
    /// Parameters
    /// ----------
    /// confidence : float or sequence of float
    ///     That of the interval in the columns `lower` and `upper`. Of several, the columns are `lower_80`, `upper_80`
    ///     and so on.
    ///
    /// Returns
    /// -------
    /// pandas.DataFrame
    ///     Columns `unique_id`, `ds`, `mean`, `standard_error` and the ends of intervals.
    #[pyo3(signature = (*, confidence = Confidences::One(0.95)), text_signature = "($self, *, confidence=0.95)")]
    fn to_frame<'py>(slf: &Bound<'py, Self>, confidence: Confidences) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foretop._tables")?.call_method1("fleet_frame", (slf, confidence))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.mean.bind(py).shape()[0]
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let shape = self.mean.bind(py).shape();
        format!("<foretop.FleetForecast: {} leads of {} series>", shape[1], shape[0])
    }

    #[staticmethod]
    fn _from_parts(
        py: Python<'_>,
        mean: Py<PyArray2<f64>>,
        standard_error: Py<PyArray2<f64>>,
        rows: Option<&[u8]>,
        n_past: usize,
        names: Option<Py<PyList>>,
        axis: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let n_bytes = 8 * (mean.bind(py).len() + standard_error.bind(py).len()) + rows.map_or(0, <[u8]>::len);
        let rows: Option<Vec<Said>> = rows.map(|rows| unpickled(py, rows)).transpose()?;
        let &[n_series, n_leads] = mean.bind(py).shape() else { unreachable!("a table has two dimensions") };
        let of_rows = |rows: &Vec<Said>| rows.len() == n_series && rows.iter().all(|said| said.n_leads() == n_leads);
        let of_names = |names: &Py<PyList>| names.bind(py).len() == n_series;
        if standard_error.bind(py).shape() != [n_series, n_leads]
            || !rows.as_ref().is_none_or(of_rows)
            || !names.as_ref().is_none_or(of_names)
        {
            return Err(damaged(py, "fleet forecast", n_bytes, "its parts differ in their numbers of series or leads"));
        }
        Ok(Self::new(mean, standard_error, rows, n_past, Names::new(names), axis))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, this) = (slf.py(), slf.get());
        let rows = this.rows.as_ref().map(|rows| pickled(py, rows));
        let axis = this.axis.as_ref().map(|axis| axis.clone_ref(py));
        let (mean, standard_error) = (this.mean.clone_ref(py), this.standard_error.clone_ref(py));
        Ok((
            slf.get_type().getattr("_from_parts")?,
            (mean, standard_error, rows, this.n_past, this.names.given(py), axis),
        ))
    }
}

fn normal(means: &[f64], errors: &[f64], half_width: f64) -> Vec<Interval> {
    let interval =
        |(mean, error): (&f64, &f64)| Interval { lower: mean - half_width * error, upper: mean + half_width * error };
    means.iter().zip(errors).map(interval).collect()
}
