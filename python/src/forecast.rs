//! A forecast as Python sees it: arrays, made when they are asked for.

use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use units::Confidence;

use crate::error::raise;

/// What is to come: a mean and a standard error for each lead.
///
/// Element ``i`` of every array is for lead ``i + 1``: the next sample is lead 1. Each access makes an array of its own.
#[pyclass(frozen, module = "foretop")]
pub(crate) struct Forecast {
    /// The means, then the standard errors.
    values: Box<[f64]>,
    n_past: usize,
    axis: Option<Py<PyAny>>,
}

impl Forecast {
    /// `values` are the means, then as many standard errors.
    pub(crate) fn new(values: Box<[f64]>, n_past: usize, axis: Option<Py<PyAny>>) -> Self {
        Self { values, n_past, axis }
    }

    fn means(&self) -> &[f64] {
        &self.values[..self.values.len() / 2]
    }

    fn standard_errors(&self) -> &[f64] {
        &self.values[self.values.len() / 2..]
    }
}

type Array<'py> = Bound<'py, PyArray1<f64>>;

/// What a pickle holds: means, standard errors, position, axis.
type Parts<'py> = (Array<'py>, Array<'py>, usize, Option<Py<PyAny>>);

#[pymethods]
impl Forecast {
    /// numpy.ndarray : The expected values, in the unit of the series.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.means().to_pyarray(py)
    }

    /// numpy.ndarray : The square roots of the expected squared errors of the means, as the model sees them.
    #[getter]
    fn standard_error<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.standard_errors().to_pyarray(py)
    }

    /// numpy.ndarray or pandas.Index : Where the leads belong.
    ///
    /// Continues the index of the pandas object that was fitted; positions counted from its first sample otherwise.
    #[getter]
    fn index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        labels(py, self.axis.as_ref(), self.n_past, self.__len__())
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
    ///     The ends, both included.
    ///
    /// Raises
    /// ------
    /// ConfidenceError
    ///     If `confidence` is not strictly between 0 and 1.
    #[pyo3(signature = (confidence = 0.95))]
    fn interval<'py>(&self, py: Python<'py>, confidence: f64) -> PyResult<(Array<'py>, Array<'py>)> {
        let reach = reach(py, confidence)?;
        let end = |sign: f64| {
            let ends = self.means().iter().zip(self.standard_errors()).map(|(mean, error)| mean + sign * reach * error);
            PyArray1::from_vec(py, ends.collect())
        };
        Ok((end(-1.0), end(1.0)))
    }

    /// Everything as a pandas table, a row for each lead.
    ///
    /// Parameters
    /// ----------
    /// confidence : float
    ///     That of the interval in the columns `lower` and `upper`.
    ///
    /// Returns
    /// -------
    /// pandas.DataFrame
    ///     Columns `mean`, `standard_error`, `lower` and `upper`, indexed by :attr:`index`.
    #[pyo3(signature = (*, confidence = 0.95))]
    fn to_frame<'py>(slf: &Bound<'py, Self>, confidence: f64) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foretop._tables")?.call_method1("forecast_frame", (slf, confidence))
    }

    fn __len__(&self) -> usize {
        self.values.len() / 2
    }

    fn __repr__(&self) -> String {
        let n_leads = self.__len__();
        match (self.means().first(), self.standard_errors().first()) {
            (Some(mean), Some(error)) => format!("<foretop.Forecast: {n_leads} leads, from {mean:.6} +- {error:.6}>"),
            _ => "<foretop.Forecast: 0 leads>".to_owned(),
        }
    }

    #[staticmethod]
    fn _from_parts(
        mean: PyReadonlyArray1<'_, f64>,
        standard_error: PyReadonlyArray1<'_, f64>,
        n_past: usize,
        axis: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (means, standard_errors) = (mean.as_slice()?, standard_error.as_slice()?);
        assert_eq!(means.len(), standard_errors.len(), "a pickled forecast has an error for each mean");
        Ok(Self::new([means, standard_errors].concat().into(), n_past, axis))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, forecast) = (slf.py(), slf.get());
        let axis = forecast.axis.as_ref().map(|axis| axis.clone_ref(py));
        let parts = (forecast.mean(py), forecast.standard_error(py), forecast.n_past, axis);
        Ok((slf.get_type().getattr("_from_parts")?, parts))
    }
}

/// Half the width of an interval, in standard errors.
pub(crate) fn reach(py: Python<'_>, confidence: f64) -> PyResult<f64> {
    Confidence::new(confidence).map(predict::half_width).map_err(|error| raise(py, &error))
}

/// The labels of `n` samples from position `n_past`.
pub(crate) fn labels<'py>(
    py: Python<'py>,
    axis: Option<&Py<PyAny>>,
    n_past: usize,
    n: usize,
) -> PyResult<Bound<'py, PyAny>> {
    match axis {
        Some(axis) => axis.bind(py).call_method1("labels", (n_past, n)),
        None => {
            let first = i64::try_from(n_past)?;
            Ok(PyArray1::arange(py, first, first + i64::try_from(n)?, 1).into_any())
        }
    }
}
