//! A fitted model, and its predictor in motion.

use std::sync::{Arc, OnceLock};

use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use predict::{Inference, Spec};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::bounds::{Bounds, Pair};
use crate::confidences::Confidences;
use crate::error::{InputError, raise};
use crate::forecast::Forecast;
use crate::inference::inference_object;
use crate::intervals::name_of;
use crate::motion::{Motion, State};
use crate::predictor::Predictor;
use crate::said::damaged;
use crate::samples::read_row;

/// A fitted model: what a fit found, and a predictor that goes on where the samples of the fit end.
///
/// The attributes describe the fit and stay as they are; :meth:`step` moves the predictor, and with a ``REFIT`` the
/// coefficients in use move with it (see :attr:`Predictor.model`).
#[pyclass(frozen, module = "foretop")]
pub(crate) struct Model {
    /// Predictor at the end of the fit; never stepped.
    origin: State,
    motion: Motion,
    /// Samples of the fit; `None` for the model in use by a [`Predictor`].
    samples: Option<Arc<[f64]>>,
    inference: OnceLock<Option<Inference>>,
}

impl Model {
    pub(crate) fn new(origin: State, axis: Option<Py<PyAny>>, samples: Option<Arc<[f64]>>) -> Self {
        Self { motion: Motion::new(origin.clone(), axis), origin, samples, inference: OnceLock::new() }
    }

    pub(crate) fn found(&self) -> &predict::Model {
        self.origin.predictor.model()
    }

    fn samples(&self, py: Python<'_>) -> PyResult<&[f64]> {
        self.samples.as_deref().ok_or_else(|| raise(py, &InputError::NoSamples))
    }

    /// The samples of the fit, if they are those before position `origin`.
    pub(crate) fn samples_up_to(&self, py: Python<'_>, origin: usize) -> PyResult<&[f64]> {
        let (samples, n_samples) = (self.samples(py)?, self.origin.n_past);
        if origin == n_samples { Ok(samples) } else { Err(raise(py, &InputError::Origin { origin, n_samples })) }
    }

    /// Inference on the model from the samples of its fit; computed once.
    fn own_inference(&self, py: Python<'_>) -> PyResult<Option<&Inference>> {
        let samples = self.samples(py)?;
        Ok(py.detach(|| self.inference.get_or_init(|| Inference::of(self.found(), samples)).as_ref()))
    }

    fn criterion(&self, py: Python<'_>, criterion: fn(&Inference) -> Option<f64>) -> PyResult<Option<f64>> {
        Ok(self.own_inference(py)?.and_then(criterion))
    }
}

/// Contents of a pickle: the predictor after the fit, the predictor in motion, the axis, the bounds, the samples of the
/// fit.
type Parts<'py> = (Saved<'py>, Saved<'py>, Option<Py<PyAny>>, Pair, Option<Bound<'py, PyArray1<f64>>>);

/// A predictor and its position.
type Saved<'py> = (Bound<'py, PyBytes>, usize);

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

    /// dict of str to float : What was estimated, by name.
    ///
    /// ``phi1``, ``theta1``, ``d`` and ``mean`` of the Box-Jenkins family; ``window`` of a BM; ``alpha`` and others of
    /// an ETS; those of a TAR; lengths of seasons of a SEASONAL. Empty for LAST, NWS and AUTO (see :attr:`speakers`).
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (params, found) = (PyDict::new(py), self.found());
        match found.spec().inner() {
            Spec::Last | Spec::Nws { .. } | Spec::Auto { .. } => {}
            Spec::BestMean { .. } => params.set_item("window", found.coefficients().len())?,
            Spec::Seasonal { .. } => {
                for parameter in found.parameters() {
                    params.set_item(&parameter.name, parameter.value)?;
                }
            }
            Spec::Ets { .. } | Spec::Tar { .. } => {
                for parameter in self.own_inference(py)?.map_or(&[][..], |inference| &inference.parameters) {
                    params.set_item(&parameter.name, parameter.value)?;
                }
            }
            _ => {
                for (name, values) in [("phi", &found.coefficients()[..]), ("theta", found.moving_average())] {
                    for (number, value) in (1..).zip(values) {
                        params.set_item(format!("{name}{number}"), value)?;
                    }
                }
                if let Some(fraction) = found.fraction() {
                    params.set_item("d", fraction)?;
                }
                params.set_item("mean", found.mean())?;
            }
        }
        Ok(params)
    }

    /// float or None : The logarithm of the Gaussian likelihood of the samples; None for a model that has none.
    #[getter]
    fn log_likelihood(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.criterion(py, |inference| inference.log_likelihood)
    }

    /// float or None : Akaike's criterion: the lower the better; None for a model without a likelihood.
    #[getter]
    fn aic(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.criterion(py, Inference::aic)
    }

    /// float or None : Akaike's criterion corrected for few samples; None for a model without a likelihood.
    #[getter]
    fn aicc(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.criterion(py, Inference::aicc)
    }

    /// float or None : Schwarz's criterion; None for a model without a likelihood.
    #[getter]
    fn bic(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.criterion(py, Inference::bic)
    }

    /// numpy.ndarray : The one-step errors of the samples that the model was fitted to (see :meth:`one_step_errors`).
    #[getter]
    fn residuals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let samples = self.samples(py)?;
        Ok(PyArray1::from_vec(py, py.detach(|| self.found().one_step_errors(samples))))
    }

    /// str : Where the ends of intervals come from: ``"adaptive"``, ``"empirical"`` or ``"normal"`` (see :func:`fit`).
    #[getter]
    fn intervals(&self) -> &'static str {
        name_of(self.origin.predictor.intervals())
    }

    /// Say how sure the fit is.
    ///
    /// Parameters
    /// ----------
    /// y : array_like, optional
    ///     The samples that the model was fitted to, for a model that does not have them: one that
    ///     :attr:`Predictor.model` returned.
    ///
    /// Returns
    /// -------
    /// Inference or None
    ///     Standard errors, likelihood and criteria. None for a model that assumes no distribution (LAST, BM, NWS,
    ///     AUTO), and for samples that the model cannot have been fitted to.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     If the model does not have its samples and `y` is not given.
    #[pyo3(signature = (y = None))]
    fn inference<'py>(slf: &Bound<'py, Self>, y: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, this) = (slf.py(), slf.get());
        let Some(y) = y else {
            return this.own_inference(py)?.map(|inference| inference_object(slf, inference)).transpose();
        };
        let row = read_row(y)?;
        let samples = row.as_slice()?;
        let inference = py.detach(|| Inference::of(this.found(), samples));
        inference.map(|inference| inference_object(slf, &inference)).transpose()
    }

    /// Return a table of what was estimated, with standard errors, criteria, and what the residuals look like.
    ///
    /// Returns
    /// -------
    /// Summary
    ///     It prints as text.
    fn summary<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foretop._summary")?.call_method1("summary_of", (slf,))
    }

    /// Draw the end of the samples that the model was fitted to, and what is to come, with matplotlib.
    ///
    /// Parameters
    /// ----------
    /// horizon : int
    ///     How many steps to look ahead.
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
        signature = (horizon = 30, *, confidence = Confidences::Several(vec![0.5, 0.8, 0.95]), ax = None),
        text_signature = "($self, horizon=30, *, confidence=(0.5, 0.8, 0.95), ax=None)"
    )]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        horizon: isize,
        confidence: Confidences,
        ax: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let forecast = this.motion.forecast(py, horizon)?;
        let samples = this.samples.as_ref().map(|samples| samples.to_pyarray(py));
        let first = this.origin.n_past - this.samples.as_ref().map_or(0, |samples| samples.len());
        let plot = py.import("foretop._plot")?;
        plot.call_method1("model_axes", (forecast, samples, first, this.motion.axis(py), this.spec(), confidence, ax))
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

    /// Return a predictor of its own that stands at the end of the fit's samples.
    fn predictor(&self, py: Python<'_>) -> Predictor {
        Predictor::new(Motion::new(self.origin.clone(), self.motion.axis(py)))
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

    fn __str__(&self) -> String {
        self.found().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<foretop.Model: {}>", self.found())
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        let (origin, samples) = (self.origin.clone(), self.samples.clone());
        Self { origin, motion: self.motion.copy(py), samples, inference: self.inference.clone() }
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        self.__copy__(py)
    }

    #[staticmethod]
    fn _from_parts(
        py: Python<'_>,
        origin: Saved<'_>,
        moved: Saved<'_>,
        axis: Option<Py<PyAny>>,
        bounds: Pair,
        samples: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let bounds = Bounds::read(py, Some(bounds), false)?;
        let state = |(bytes, n_past): Saved<'_>| {
            let predictor = predict::Predictor::restore(bytes.as_bytes()).map_err(|error| raise(py, &error))?;
            Ok::<_, PyErr>(State::new(predictor, n_past, bounds))
        };
        let samples: Option<Arc<[f64]>> = samples.as_ref().map(PyReadonlyArray1::as_slice).transpose()?.map(Arc::from);
        if samples.as_ref().is_some_and(|samples| samples.len() != origin.1) {
            let n_bytes = origin.0.as_bytes().len();
            return Err(damaged(py, "model", n_bytes, "it has not as many samples as it was fitted to"));
        }
        let (origin, motion) = (state(origin)?, Motion::new(state(moved)?, axis));
        Ok(Self { origin, motion, samples, inference: OnceLock::new() })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, Self { origin, motion, samples, .. }) = (slf.py(), slf.get());
        let moved = motion.lock(py).clone();
        let saved = |state: &State| (PyBytes::new(py, &state.predictor.save()), state.n_past);
        let samples = samples.as_ref().map(|samples| samples.to_pyarray(py));
        let parts = (saved(origin), saved(&moved), motion.axis(py), origin.bounds.pair(), samples);
        Ok((slf.get_type().getattr("_from_parts")?, parts))
    }
}
