//! A fitted model, and its predictor in motion.

use numpy::{PyArray1, PyArrayMethods, ToPyArray};
use predict::{Inference, Parameter};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::raise;
use crate::forecast::Forecast;
use crate::motion::{Motion, State};
use crate::predictor::Predictor;
use crate::samples::read_row;

/// A fitted model: what a fit found, and a predictor that goes on where the samples of the fit end.
///
/// The attributes describe the fit and stay as they are; :meth:`step` moves the predictor, and with a ``REFIT`` the
/// coefficients in use move with it (see :attr:`Predictor.model`).
#[pyclass(frozen, module = "foretop")]
pub(crate) struct Model {
    /// As the fit left it; never stepped.
    origin: State,
    motion: Motion,
}

impl Model {
    pub(crate) fn new(origin: State, axis: Option<Py<PyAny>>) -> Self {
        Self { motion: Motion::new(origin.clone(), axis), origin }
    }

    fn found(&self) -> &predict::Model {
        self.origin.predictor.model()
    }
}

/// What a pickle holds: the predictor after the fit and its position, the predictor in motion and its position, the axis.
type Parts<'py> = (Bound<'py, PyBytes>, usize, Bound<'py, PyBytes>, usize, Option<Py<PyAny>>);

#[pymethods]
impl Model {
    /// str : What was asked for, in its canonical spelling.
    #[getter]
    fn spec(&self) -> String {
        self.found().spec().to_string()
    }

    /// numpy.ndarray : phi(1), phi(2), ...: the weights of past deviations from the mean, newest first.
    ///
    /// Of the differenced series where there are differences. Empty for MEAN, N times 1/N for a window of N.
    #[getter]
    fn ar<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.found().coefficients().to_pyarray(py)
    }

    /// numpy.ndarray : theta(1), theta(2), ...: the weights of past one-step errors, newest first, with the signs of R.
    #[getter]
    fn ma<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.found().moving_average().to_pyarray(py)
    }

    /// float or None : The fraction d by which the series is differenced, of an ARFIMA.
    #[getter]
    fn fraction(&self) -> Option<f64> {
        self.found().fraction()
    }

    /// float : The mean of the samples, in their unit.
    #[getter]
    fn mean(&self) -> f64 {
        self.found().mean()
    }

    /// float : The variance of one-step errors as the fit estimates it.
    #[getter]
    fn innovation_variance(&self) -> f64 {
        self.found().innovation_variance()
    }

    /// int : How many samples that are not gaps the fit used.
    #[getter]
    fn n_samples(&self) -> usize {
        self.found().n_samples()
    }

    /// Say how sure the fit is.
    ///
    /// Parameters
    /// ----------
    /// y : array_like
    ///     The samples that the model was fitted to; it does not keep them.
    ///
    /// Returns
    /// -------
    /// Inference or None
    ///     Standard errors, likelihood and criteria. None for a model that assumes no distribution (LAST, BM), and for samples that
    ///     the model cannot have been fitted to.
    fn inference<'py>(&self, y: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, row) = (y.py(), read_row(y)?);
        let samples = row.as_slice()?;
        let inference = py.detach(|| Inference::of(self.found(), samples));
        inference.map(|inference| inference_object(py, &inference)).transpose()
    }

    /// Say what each sample differs by from the forecast made one step before, by these coefficients.
    ///
    /// Parameters
    /// ----------
    /// y : array_like
    ///     Samples, oldest first, of which the first is the first that the forecasts know of.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     An error for each sample; NaN where there was no forecast yet, and in gaps.
    fn one_step_errors<'py>(&self, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (py, row) = (y.py(), read_row(y)?);
        let samples = row.as_slice()?;
        Ok(PyArray1::from_vec(py, py.detach(|| self.found().one_step_errors(samples))))
    }

    /// Return a predictor of its own that stands at the end of the fit's samples.
    fn predictor(&self, py: Python<'_>) -> Predictor {
        Predictor::new(Motion::new(self.origin.clone(), self.motion.axis(py)))
    }

    /// Take the next sample, or several in their order.
    ///
    /// Parameters
    /// ----------
    /// samples : float or array_like
    ///     A number, or a row of them, oldest first. What is not finite is a gap.
    #[pyo3(signature = (samples, /))]
    fn step(&self, samples: &Bound<'_, PyAny>) -> PyResult<()> {
        self.motion.step(samples)
    }

    /// Say what is to come, from where the steps have led.
    ///
    /// Parameters
    /// ----------
    /// n_leads : int
    ///     How many steps to look ahead.
    ///
    /// Returns
    /// -------
    /// Forecast
    ///     Means and standard errors for leads 1 to `n_leads`.
    fn forecast(&self, py: Python<'_>, n_leads: isize) -> PyResult<Forecast> {
        self.motion.forecast(py, n_leads)
    }

    fn __str__(&self) -> String {
        self.found().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<foretop.Model: {}>", self.found())
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        Self { origin: self.origin.clone(), motion: self.motion.copy(py) }
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        self.__copy__(py)
    }

    #[staticmethod]
    fn _from_parts(
        py: Python<'_>,
        origin: &[u8],
        n_fitted: usize,
        moved: &[u8],
        n_past: usize,
        axis: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let restore = |bytes| predict::Predictor::restore(bytes).map_err(|error| raise(py, &error));
        let moved = State::new(restore(moved)?, n_past);
        Ok(Self { origin: State::new(restore(origin)?, n_fitted), motion: Motion::new(moved, axis) })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, Self { origin, motion }) = (slf.py(), slf.get());
        let (moved, n_past) = {
            let state = motion.lock(py);
            (state.predictor.save(), state.n_past)
        };
        let origin_bytes = PyBytes::new(py, &origin.predictor.save());
        let parts = (origin_bytes, origin.n_past, PyBytes::new(py, &moved), n_past, motion.axis(py));
        Ok((slf.get_type().getattr("_from_parts")?, parts))
    }
}

fn inference_object<'py>(py: Python<'py>, inference: &Inference) -> PyResult<Bound<'py, PyAny>> {
    let (parameters, errors) = (PyDict::new(py), PyDict::new(py));
    for Parameter { name, value, standard_error } in &inference.parameters {
        parameters.set_item(name, value)?;
        errors.set_item(name, standard_error.unwrap_or(f64::NAN))?;
    }
    let size = if inference.covariances.is_empty() { 0 } else { inference.parameters.len() };
    let covariance = inference.covariances.to_pyarray(py).reshape([size, size])?;
    let class = py.import("foretop._inference")?.getattr("Inference")?;
    class.call1((
        parameters,
        errors,
        covariance,
        inference.log_likelihood,
        inference.n_samples,
        inference.aic(),
        inference.aicc(),
        inference.bic(),
    ))
}
