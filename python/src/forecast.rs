//! A forecast as Python sees it: arrays, made when they are asked for.

use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::confidences::{Confidences, Ends};
use crate::inference::read_inference;
use crate::intervals::name_of;
use crate::model::Model;
use crate::said::{Said, pickled, unpickled};
use crate::samples::read_row;

/// Forecast of a series: a mean, a standard error and intervals for each lead.
///
/// Element ``i`` of every array is for lead ``i + 1``: the next sample is lead 1. Each access makes an array of its
/// own.
#[pyclass(frozen, module = "foretop")]
pub(crate) struct Forecast {
    said: Said,
    n_past: usize,
    axis: Option<Py<PyAny>>,
}

impl Forecast {
    pub(crate) fn new(said: Said, n_past: usize, axis: Option<Py<PyAny>>) -> Self {
        Self { said, n_past, axis }
    }
}

type Array<'py> = Bound<'py, PyArray1<f64>>;

/// Contents of a pickle: the encoded forecast, its position, the axis.
type Parts<'py> = (Bound<'py, PyBytes>, usize, Option<Py<PyAny>>);

#[pymethods]
impl Forecast {
    /// numpy.ndarray : The expected values, in the unit of the series.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.said.means().to_pyarray(py)
    }

    /// numpy.ndarray : The square roots of the expected squared errors of the means, as the model sees them.
    #[getter]
    fn standard_error<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.said.standard_errors().to_pyarray(py)
    }

    /// numpy.ndarray or pandas.Index : Where the leads belong.
    ///
    /// Continues the index of the pandas object that was fitted; positions counted from its first sample otherwise.
    #[getter]
    fn index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        labels(py, self.axis.as_ref(), self.n_past, self.__len__())
    }

    /// str : Where the ends of intervals come from: ``"adaptive"``, ``"empirical"`` or ``"normal"`` (see :func:`fit`).
    #[getter]
    fn intervals(&self) -> &'static str {
        name_of(self.said.intervals)
    }

    /// Central prediction intervals.
    ///
    /// Parameters
    /// ----------
    /// confidence : float or sequence of float
    ///     The probability with which each interval holds the value to come, between 0 and 1.
    ///
    /// Returns
    /// -------
    /// lower, upper : numpy.ndarray
    ///     The ends, both included. Of several confidences, a row for each.
    ///
    /// Raises
    /// ------
    /// ConfidenceError
    ///     If a confidence is not strictly between 0 and 1.
    #[pyo3(signature = (confidence = Confidences::One(0.95)), text_signature = "($self, confidence=0.95)")]
    fn interval<'py>(&self, py: Python<'py>, confidence: Confidences) -> PyResult<Ends<'py>> {
        confidence.ends(py, &[self.__len__()], |confidence| self.said.intervals_of(confidence))
    }

    /// Return everything as a pandas table, a row for each lead.
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
    ///     Columns `mean`, `standard_error` and the ends of intervals, indexed by :attr:`index`.
    #[pyo3(signature = (*, confidence = Confidences::One(0.95)), text_signature = "($self, *, confidence=0.95)")]
    fn to_frame<'py>(slf: &Bound<'py, Self>, confidence: Confidences) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foretop._tables")?.call_method1("forecast_frame", (slf, confidence))
    }

    /// Draw means and intervals with matplotlib.
    ///
    /// Parameters
    /// ----------
    /// history : array_like or pandas.Series, optional
    ///     The samples up to the forecast, to be drawn in front of it. A Series is drawn at its index.
    /// confidence : float or sequence of float
    ///     Those of the bands.
    /// ax : matplotlib.axes.Axes, optional
    ///     Where to draw; in a new figure unless given.
    ///
    /// Returns
    /// -------
    /// matplotlib.axes.Axes
    ///     Where it was drawn.
    ///
    /// Raises
    /// ------
    /// ImportError
    ///     If matplotlib is not installed.
    #[pyo3(
        signature = (history = None, *, confidence = Confidences::Several(vec![0.5, 0.8, 0.95]), ax = None),
        text_signature = "($self, history=None, *, confidence=(0.5, 0.8, 0.95), ax=None)"
    )]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        history: Option<Bound<'py, PyAny>>,
        confidence: Confidences,
        ax: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foretop._plot")?.call_method1("forecast_axes", (slf, history, confidence, ax))
    }

    fn __len__(&self) -> usize {
        self.said.n_leads()
    }

    fn __repr__(&self) -> String {
        let n_leads = self.__len__();
        match (self.said.means().first(), self.said.standard_errors().first()) {
            (Some(mean), Some(error)) => format!("<foretop.Forecast: {n_leads} leads, from {mean:.6} +- {error:.6}>"),
            _ => "<foretop.Forecast: 0 leads>".to_owned(),
        }
    }

    /// Return the forecast with wider standard errors, for :meth:`Inference.widen`.
    fn _widened(&self, inference: &Bound<'_, PyAny>, model: &Model, y: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = inference.py();
        let found = read_inference(inference)?;
        let row = y.map(read_row).transpose()?;
        let samples = match &row {
            Some(row) => row.as_slice()?,
            None => model.samples_up_to(py, self.n_past)?,
        };
        let said = py.detach(|| self.said.widened(&found, model.found(), samples));
        Ok(Self::new(said, self.n_past, self.axis.as_ref().map(|axis| axis.clone_ref(py))))
    }

    #[staticmethod]
    fn _from_parts(py: Python<'_>, said: &[u8], n_past: usize, axis: Option<Py<PyAny>>) -> PyResult<Self> {
        Ok(Self::new(unpickled(py, said)?, n_past, axis))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, this) = (slf.py(), slf.get());
        let axis = this.axis.as_ref().map(|axis| axis.clone_ref(py));
        Ok((slf.get_type().getattr("_from_parts")?, (pickled(py, &this.said), this.n_past, axis)))
    }
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
            let (first, end) = (i64::try_from(n_past)?, i64::try_from(n_past.saturating_add(n))?);
            Ok(PyArray1::arange(py, first, end, 1).into_any())
        }
    }
}
