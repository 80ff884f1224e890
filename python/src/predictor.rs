//! A predictor by itself.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bounds::{Bounds, Pair};
use crate::error::raise;
use crate::forecast::Forecast;
use crate::model::Model;
use crate::motion::{Motion, State};

/// A model in motion: takes one sample at a time, and forecasts any number of steps from where it stands.
#[pyclass(frozen, module = "foretop")]
pub(crate) struct Predictor {
    motion: Motion,
}

impl Predictor {
    pub(crate) fn new(motion: Motion) -> Self {
        Self { motion }
    }
}

/// Contents of a pickle: the saved predictor, its position, the axis, the bounds.
type Parts<'py> = (Bound<'py, PyBytes>, usize, Option<Py<PyAny>>, Pair);

#[pymethods]
impl Predictor {
    /// str : The model's specification.
    #[getter]
    fn spec(&self, py: Python<'_>) -> String {
        self.motion.lock(py).predictor.model().spec().to_string()
    }

    /// Model : The model in use, with a predictor of its own that stands where this one does.
    #[getter]
    fn model(&self, py: Python<'_>) -> Model {
        Model::new(self.motion.lock(py).clone(), self.motion.axis(py), None)
    }

    /// int : How many times a ``REFIT`` has replaced the model.
    #[getter]
    fn n_refits(&self, py: Python<'_>) -> u64 {
        self.motion.lock(py).predictor.n_refits()
    }

    /// int : How many times a ``REFIT`` was due and its fit failed.
    #[getter]
    fn n_failed_refits(&self, py: Python<'_>) -> u64 {
        self.motion.lock(py).predictor.n_failed_refits()
    }

    /// Table or None : Which models an ``AUTO`` combines, how often each was fitted, and which share it has in the
    /// forecast of each lead.
    ///
    /// Columns ``model``, ``n_fits``, ``weight_1``, ``weight_2`` and so on up to lead 256. None for any other model.
    #[getter]
    fn speakers<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let state = self.motion.lock(py).clone();
        state.speakers(py)
    }

    /// Table or None : What the season is worth that an ``AUTO`` found, a row for each lead up to 256.
    ///
    /// Columns ``model``, as ``SEASONAL(288)``; ``lead``; ``weight``, its share in the forecast; ``rival``, the best of
    /// the models that know no season; and ``error_ratio``, the root mean squared error of late over the rival's. None
    /// where no season was found, and for any other model.
    #[getter]
    fn season<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let state = self.motion.lock(py).clone();
        state.season(py)
    }

    /// Take the next sample, or several in their order.
    ///
    /// Parameters
    /// ----------
    /// samples : float or array_like
    ///     A number, or a row of them, oldest first, with NaN or None for a gap. A Series is placed by its index if the
    ///     series has one: labels that it leaves out are gaps. A Series that counts from 0 is a row like any other.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     If a sample is no finite number, or the index does not continue that of the series: labels already seen, of
    ///     another step, or out of order.
    #[pyo3(signature = (samples, /))]
    fn step(&self, samples: &Bound<'_, PyAny>) -> PyResult<()> {
        self.motion.step(samples)
    }

    /// Say what is to come, from where the steps have led.
    ///
    /// Parameters
    /// ----------
    /// horizon : int
    ///     How many steps to look ahead.
    ///
    /// Returns
    /// -------
    /// Forecast
    ///     Means, standard errors and intervals for leads 1 to `horizon`.
    fn forecast(&self, py: Python<'_>, horizon: isize) -> PyResult<Forecast> {
        self.motion.forecast(py, horizon)
    }

    /// Say what is to come: another name of :meth:`forecast`.
    ///
    /// Parameters
    /// ----------
    /// horizon : int
    ///     How many steps to look ahead.
    ///
    /// Returns
    /// -------
    /// Forecast
    ///     Means, standard errors and intervals for leads 1 to `horizon`.
    fn predict(&self, py: Python<'_>, horizon: isize) -> PyResult<Forecast> {
        self.motion.forecast(py, horizon)
    }

    /// Return the whole state as bytes, in the format that Rust's predictors share.
    ///
    /// The index of the series is not part of it; a pickle keeps that as well.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.motion.lock(py).predictor.save())
    }

    /// Read what :meth:`save` wrote.
    ///
    /// Parameters
    /// ----------
    /// state : bytes
    ///     The saved state.
    ///
    /// Returns
    /// -------
    /// Predictor
    ///     One that goes on to the same digits; it counts positions from here.
    ///
    /// Raises
    /// ------
    /// RestoreError
    ///     If the bytes are anything else.
    #[staticmethod]
    fn restore(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        Self::_from_parts(py, state, 0, None, Bounds::NONE.pair())
    }

    /// Return one that goes its own way from here.
    fn copy(&self, py: Python<'_>) -> Self {
        Self { motion: self.motion.copy(py) }
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        self.copy(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let state = self.motion.lock(py);
        format!("<foretop.Predictor: {} at position {}>", state.predictor.model().spec(), state.n_past)
    }

    #[staticmethod]
    fn _from_parts(
        py: Python<'_>,
        state: &[u8],
        n_past: usize,
        axis: Option<Py<PyAny>>,
        bounds: Pair,
    ) -> PyResult<Self> {
        let predictor = predict::Predictor::restore(state).map_err(|error| raise(py, &error))?;
        let bounds = Bounds::read(py, Some(bounds), false)?;
        Ok(Self { motion: Motion::new(State::new(predictor, n_past, bounds), axis) })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, motion) = (slf.py(), &slf.get().motion);
        let (n_past, bounds) = {
            let state = motion.lock(py);
            (state.n_past, state.bounds)
        };
        let parts = (slf.get().save(py), n_past, motion.axis(py), bounds.pair());
        Ok((slf.get_type().getattr("_from_parts")?, parts))
    }
}
