//! Many series at once.

use std::sync::Mutex;

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use predict::{Intervals, Spec};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyList};
use rayon::prelude::*;

use crate::bounds::{Bounds, Pair};
use crate::error::{InputError, raise};
use crate::fit::read_spec;
use crate::fleet_forecast::FleetForecast;
use crate::motion::{Motion, State, UNBROKEN};
use crate::names::Names;
use crate::predictor::Predictor;
use crate::said::{Said, damaged};
use crate::samples::{check_finite, n_leads, read_row};

/// Many series under one specification, fitted, stepped and forecast at once, on all cores.
///
/// Each series forecasts what a predictor of its own would, to the last bit. A series whose fit failed keeps its place:
/// steps leave it alone, its forecasts are NaN, and :attr:`failures` says why.
///
/// The work is shared among threads that the first fleet of a process starts. They do not survive ``os.fork``: start
/// processes that are to use fleets by ``spawn`` or ``forkserver``.
///
/// Parameters
/// ----------
/// rows : array_like, dict, pandas.DataFrame or polars.DataFrame
///     A row of samples for each series, all as long as each other, oldest first, with NaN for a gap; one that began
///     later has gaps in front. Of a DataFrame, each column is a series with the column's name, and its index is
///     continued as a Series' is by :func:`fit`. A long one has columns ``unique_id``, ``ds`` and ``y``, in any order
///     of rows; series that end before the others have gaps at their ends. Of a polars frame, each column is a series.
///     Of a dictionary, each entry is a series, and shorter ones begin later.
/// spec : str
///     The model of all of them, as in ``"AR(16)"``; :func:`models` lists what there is.
/// bounds : tuple of float or None, optional
///     The least and the greatest value that the series can have; None where there is none. Forecasts and intervals
///     stay inside.
/// non_negative : bool
///     The same as a lower bound of 0.
///
/// Raises
/// ------
/// SpecError
///     If `spec` is no specification.
/// InputError
///     If `rows` is no table of numbers, or its moments are not evenly spaced.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import foretop
/// >>> rows = np.random.default_rng(1).normal(size=(1000, 100)).cumsum(axis=1)
/// >>> fleet = foretop.Fleet(rows, "AR(4)")
/// >>> fleet.step(np.zeros(1000))
/// >>> fleet.forecast(30).mean.shape
/// (1000, 30)
#[pyclass(frozen, module = "foretop")]
pub(crate) struct Fleet {
    state: Mutex<FleetState>,
    /// The exceptions of series without a model, by name.
    failures: Py<PyDict>,
    names: Names,
    bounds: Bounds,
    axis: Option<Py<PyAny>>,
}

struct FleetState {
    fleet: predict::Fleet,
    n_past: usize,
}

/// Contents of a pickle: specification, saved predictors (None without a model), their position, failures, axis, names
/// and bounds.
type Parts<'py> =
    (String, Bound<'py, PyList>, usize, Bound<'py, PyDict>, Option<Py<PyAny>>, (Option<Py<PyList>>, Pair));

impl Fleet {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut FleetState) -> T + Send) -> T {
        py.detach(|| work(&mut self.state.lock().expect(UNBROKEN)))
    }

    /// Whether intervals are learned, each series' by itself.
    fn is_learning(&self, py: Python<'_>) -> bool {
        matches!(self.state.lock_py_attached(py).expect(UNBROKEN).fleet.spec(), Spec::Auto { .. })
    }

    fn axis(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.axis.as_ref().map(|axis| axis.clone_ref(py))
    }

    /// The position of the series of this name.
    fn position(&self, series: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.names.position(series, self.__len__(series.py()))
    }
}

/// Returns the forecast of each series; NaN for a series without a model.
fn said(fleet: &predict::Fleet, n_leads: usize, bounds: Bounds) -> Vec<Said> {
    let one = |idx| match fleet.predictor(idx) {
        Ok(predictor) => Said::by(&predictor, n_leads, bounds),
        Err(_) => {
            let nothing = predict::Forecast::new(vec![f64::NAN; n_leads], vec![f64::NAN; n_leads]);
            Said::new(nothing, Intervals::Gaussian, bounds)
        }
    };
    (0..fleet.len()).into_par_iter().map(one).collect()
}

/// An array to be written to the last place, and therefore not zeroed before.
fn unwritten<'py>(py: Python<'py>, shape: (usize, usize)) -> PyResult<Bound<'py, PyArray2<f64>>> {
    Ok(py.import("numpy")?.call_method1("empty", (shape,))?.cast_into()?)
}

#[pymethods]
impl Fleet {
    #[new]
    #[pyo3(signature = (rows, spec = "AUTO", *, bounds = None, non_negative = false))]
    fn new(
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        spec: &str,
        bounds: Option<Pair>,
        non_negative: bool,
    ) -> PyResult<Self> {
        let spec = read_spec(py, spec)?;
        let bounds = Bounds::read(py, bounds, non_negative)?;
        let read = py.import("foretop._samples")?.call_method1("read_table", (rows,))?;
        let (table, axis, names): (PyReadonlyArray2<'_, f64>, Option<Py<PyAny>>, Option<Py<PyList>>) =
            read.extract()?;
        let names = Names::new(names);
        let (n_past, samples) = (table.shape()[1], table.as_slice()?);
        let rows: Vec<&[f64]> = (0..table.shape()[0]).map(|idx| &samples[idx * n_past..][..n_past]).collect();
        let fleet = py.detach(|| predict::Fleet::fit(&spec, &rows));
        let failures = PyDict::new(py);
        for (idx, failure) in (0..fleet.len()).filter_map(|idx| Some((idx, fleet.failure(idx)?))) {
            failures.set_item(names.name(py, idx)?, raise(py, failure))?;
        }
        let state = Mutex::new(FleetState { fleet, n_past });
        Ok(Self { state, failures: failures.unbind(), names, bounds, axis })
    }

    /// str : The model's specification.
    #[getter]
    fn spec(&self, py: Python<'_>) -> String {
        self.state.lock_py_attached(py).expect(UNBROKEN).fleet.spec().to_string()
    }

    /// list : What the series are called: the names of columns, ``unique_id`` or keys; their positions otherwise.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.names.list(py, self.__len__(py))
    }

    /// dict of FitError : Why series have no model, by their names.
    #[getter]
    fn failures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.failures.bind(py).copy()
    }

    /// Take the next sample of each series, or several.
    ///
    /// Parameters
    /// ----------
    /// samples : array_like, dict, pandas.Series or DataFrame
    ///     One for each series, in their order, with NaN or None for a gap. A dictionary, or of series with names a
    ///     Series, has samples by name; series that it leaves out have a gap. A DataFrame, wide or long as for the fit,
    ///     has any number of steps; they are placed by its index (see :meth:`Model.step`).
    ///
    /// Raises
    /// ------
    /// InputError
    ///     If there are more or fewer samples than series, one of a series that there is not, an infinite one, or an
    ///     index that does not continue that of the series.
    #[pyo3(signature = (samples, /))]
    fn step(&self, samples: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = samples.py();
        loop {
            // Reading runs Python code, and with it perhaps other threads that step: the lock is not held meanwhile.
            let at = self.with(py, |state| state.n_past);
            let steps = self.names.read_steps(samples, self.__len__(py), self.axis.as_ref(), at)?;
            let (n_steps, have, flat) = (steps.shape()[0], steps.shape()[1], steps.as_slice()?);
            check_finite(py, flat)?;
            let stepped = self.with(py, |FleetState { fleet, n_past }| {
                let need = fleet.len();
                if have != need {
                    return Err(InputError::Length { have, need });
                }
                let is_next = *n_past == at;
                if is_next {
                    (0..n_steps).for_each(|idx| fleet.step(&flat[idx * have..][..have]));
                    *n_past = at.saturating_add(n_steps);
                }
                Ok(is_next)
            });
            if stepped.map_err(|error| raise(py, &error))? {
                return Ok(());
            }
        }
    }

    /// Say what is to come of each series, from where the steps have led.
    ///
    /// Parameters
    /// ----------
    /// horizon : int
    ///     How many steps to look ahead.
    ///
    /// Returns
    /// -------
    /// FleetForecast
    ///     Means and standard errors, a row for each series, for leads 1 to `horizon`.
    fn forecast(&self, py: Python<'_>, horizon: isize) -> PyResult<FleetForecast> {
        let n_leads = n_leads(py, horizon)?;
        let (names, axis) = (self.names.clone_ref(py), self.axis(py));
        if self.bounds != Bounds::NONE || self.is_learning(py) {
            let bounds = self.bounds;
            let (rows, n_past) = self.with(py, |FleetState { fleet, n_past }| (said(fleet, n_leads, bounds), *n_past));
            return FleetForecast::of_rows(py, rows, n_leads, n_past, names, axis);
        }
        let shape = (self.__len__(py), n_leads);
        let (mean, standard_error) = (unwritten(py, shape)?, unwritten(py, shape)?);
        let n_past = {
            let (mut means, mut errors) = (mean.readwrite(), standard_error.readwrite());
            let (means, errors) = (means.as_slice_mut()?, errors.as_slice_mut()?);
            self.with(py, |FleetState { fleet, n_past }| {
                fleet.forecast_into(n_leads, means, errors);
                *n_past
            })
        };
        Ok(FleetForecast::new(mean.unbind(), standard_error.unbind(), None, n_past, names, axis))
    }

    /// Say what is to come of each series: another name of :meth:`forecast`.
    ///
    /// Parameters
    /// ----------
    /// horizon : int
    ///     How many steps to look ahead.
    ///
    /// Returns
    /// -------
    /// FleetForecast
    ///     Means and standard errors, a row for each series, for leads 1 to `horizon`.
    fn predict(&self, py: Python<'_>, horizon: isize) -> PyResult<FleetForecast> {
        self.forecast(py, horizon)
    }

    /// Return a predictor of its own that stands where a series does.
    ///
    /// Parameters
    /// ----------
    /// series : str or int
    ///     The name of the series, or its position.
    ///
    /// Raises
    /// ------
    /// FitError
    ///     If the series has no model.
    fn predictor(&self, series: &Bound<'_, PyAny>) -> PyResult<Predictor> {
        let (py, idx) = (series.py(), self.position(series)?);
        if let Some(failure) = self.failures.bind(py).get_item(self.names.name(py, idx)?)? {
            return Err(PyErr::from_value(failure));
        }
        let (predictor, n_past) = self.with(py, |state| (state.fleet.predictor(idx), state.n_past));
        let predictor = predictor.map_err(|error| raise(py, &error))?;
        Ok(Predictor::new(Motion::new(State::new(predictor, n_past, self.bounds), self.axis(py))))
    }

    /// Fit one series anew; it goes on where the samples end.
    ///
    /// Parameters
    /// ----------
    /// series : str or int
    ///     The name of the series, or its position.
    /// samples : array_like
    ///     Its samples up to where the fleet stands, oldest first, with NaN for a gap.
    ///
    /// Raises
    /// ------
    /// FitError
    ///     If the fit fails. The series then keeps what it has.
    fn refit(&self, series: &Bound<'_, PyAny>, samples: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, idx, row) = (series.py(), self.position(series)?, read_row(samples)?);
        let row = row.as_slice()?;
        self.with(py, |state| state.fleet.refit(idx, row)).map_err(|error| raise(py, &error))?;
        let (failures, name) = (self.failures.bind(py), self.names.name(py, idx)?);
        if failures.contains(&name)? { failures.del_item(name) } else { Ok(()) }
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.state.lock_py_attached(py).expect(UNBROKEN).fleet.len()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<foretop.Fleet: {} series of {}>", self.__len__(py), self.spec(py))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        let (fleet, n_past) = self.with(py, |state| (state.fleet.clone(), state.n_past));
        Ok(Self {
            state: Mutex::new(FleetState { fleet, n_past }),
            failures: self.failures(py)?.unbind(),
            names: self.names.clone_ref(py),
            bounds: self.bounds,
            axis: self.axis(py),
        })
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__(py)
    }

    #[staticmethod]
    fn _from_parts(
        py: Python<'_>,
        spec: &str,
        saved: Vec<Option<Bound<'_, PyBytes>>>,
        n_past: usize,
        failures: Py<PyDict>,
        axis: Option<Py<PyAny>>,
        named: (Option<Py<PyList>>, Pair),
    ) -> PyResult<Self> {
        let n_bytes = saved.iter().flatten().map(|bytes| bytes.as_bytes().len()).sum();
        let damaged = |problem| damaged(py, "fleet", n_bytes, problem);
        if named.0.as_ref().is_some_and(|names| names.bind(py).len() != saved.len()) {
            return Err(damaged("it has not as many names as series"));
        }
        let mut fleet = predict::Fleet::vacant(&read_spec(py, spec)?, saved.len());
        for (idx, bytes) in saved.iter().enumerate().filter_map(|(idx, bytes)| Some((idx, bytes.as_ref()?))) {
            let predictor = predict::Predictor::restore(bytes.as_bytes()).map_err(|error| raise(py, &error))?;
            if predictor.model().spec() != fleet.spec() {
                return Err(damaged("not all of its series are of its model"));
            }
            fleet.replace(idx, predictor);
        }
        let (state, bounds) = (Mutex::new(FleetState { fleet, n_past }), Bounds::read(py, Some(named.1), false)?);
        Ok(Self { state, failures, names: Names::new(named.0), bounds, axis })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, this) = (slf.py(), slf.get());
        let (saved, n_past) = this.with(py, |FleetState { fleet, n_past }| {
            let save = |idx| fleet.predictor(idx).ok().map(|predictor| predictor.save());
            ((0..fleet.len()).map(save).collect::<Vec<_>>(), *n_past)
        });
        let saved = saved.iter().map(|bytes| bytes.as_ref().map(|bytes| PyBytes::new(py, bytes)));
        let named = (this.names.given(py), this.bounds.pair());
        let parts = (this.spec(py), PyList::new(py, saved)?, n_past, this.failures(py)?, this.axis(py), named);
        Ok((slf.get_type().getattr("_from_parts")?, parts))
    }
}
