//! A predictor between two steps, and where in its series it stands.

use std::sync::{Mutex, MutexGuard};

use numpy::PyArray1;
use predict::{SeasonStanding, Spec};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyList};

use crate::bounds::Bounds;
use crate::forecast::Forecast;
use crate::said::Said;
use crate::samples::{Samples, n_leads};

/// Common part of models and predictors: they are stepped, and asked for forecasts, from any thread.
pub(crate) struct Motion {
    state: Mutex<State>,
    /// Continues the index of the series (`foretop._axis`); absent where positions count.
    axis: Option<Py<PyAny>>,
    /// Whether a step is a matter of nanoseconds: one of a `REFIT` or an `AUTO` may be a fit.
    is_quick: bool,
}

/// Up to here a forecast takes less time than letting other threads have the interpreter and taking it back.
const N_LEADS_HELD_MAX: usize = 1000;

/// State that a step changes.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) predictor: predict::Predictor,
    /// Position of the next sample, from the first one that was fitted to.
    pub(crate) n_past: usize,
    pub(crate) bounds: Bounds,
}

impl State {
    pub(crate) fn new(predictor: predict::Predictor, n_past: usize, bounds: Bounds) -> Self {
        Self { predictor, n_past, bounds }
    }

    /// Takes samples that belong at position `n_past`. Returns false, and takes none, if the series has moved on since.
    fn step(&mut self, row: &[f64], n_past: usize) -> bool {
        let is_next = self.n_past == n_past;
        if is_next {
            row.iter().for_each(|sample| self.predictor.step(*sample));
            self.n_past = n_past.saturating_add(row.len());
        }
        is_next
    }

    /// Returns the forecast, and the position of the first lead.
    fn forecast(&self, n_leads: usize) -> (Said, usize) {
        (Said::by(&self.predictor, n_leads, self.bounds), self.n_past)
    }

    /// Ensemble weights of an AUTO: a `Table` with a column for each lead; None for any other model.
    pub(crate) fn speakers<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let standings = self.predictor.standings();
        let Some(first) = standings.first() else { return Ok(None) };
        let columns = PyDict::new(py);
        let names = PyList::new(py, standings.iter().map(|standing| standing.spec.to_string()))?;
        columns.set_item("model", py.import("numpy")?.call_method1("array", (names,))?)?;
        columns.set_item("n_fits", PyArray1::from_iter(py, standings.iter().map(|standing| standing.n_fits as i64)))?;
        for (idx, lead) in first.leads.iter().map(|standing| standing.lead).enumerate() {
            let weights = standings.iter().map(|standing| standing.leads[idx].weight);
            columns.set_item(format!("weight_{lead}"), PyArray1::from_iter(py, weights))?;
        }
        py.import("foretop._tables")?.call_method1("Table", (columns,)).map(Some)
    }

    /// Weight and error ratio of the season that an AUTO found: a `Table` with a row for each lead; None if it found no
    /// season, and for any other model.
    pub(crate) fn season<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(SeasonStanding { spec, leads, .. }) = self.predictor.model().season() else { return Ok(None) };
        let columns = PyDict::new(py);
        let names = |names: Vec<String>| py.import("numpy")?.call_method1("array", (names,));
        columns.set_item("model", names(vec![spec.to_string(); leads.len()])?)?;
        columns.set_item("lead", PyArray1::from_iter(py, leads.iter().map(|lead| lead.lead as i64)))?;
        columns.set_item("weight", PyArray1::from_iter(py, leads.iter().map(|lead| lead.weight)))?;
        columns.set_item("rival", names(leads.iter().map(|lead| lead.rival.to_string()).collect())?)?;
        columns.set_item("error_ratio", PyArray1::from_iter(py, leads.iter().map(|lead| lead.error_ratio)))?;
        py.import("foretop._tables")?.call_method1("Table", (columns,)).map(Some)
    }
}

impl Motion {
    pub(crate) fn new(state: State, axis: Option<Py<PyAny>>) -> Self {
        let is_quick = !matches!(state.predictor.model().spec(), Spec::Refit { .. } | Spec::Auto { .. });
        Self { state: Mutex::new(state), axis, is_quick }
    }

    pub(crate) fn step(&self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = given.py();
        loop {
            // Reading runs Python code, and with it perhaps other threads that step: the lock is not held meanwhile.
            let n_past = self.lock(py).n_past;
            let is_done = match Samples::read(given, self.axis.as_ref(), n_past)? {
                Samples::One(sample) if self.is_quick => self.lock(py).step(&[sample], n_past),
                Samples::One(sample) => self.detached(py, |state| state.step(&[sample], n_past)),
                Samples::Row(row) => {
                    let row = row.as_slice()?;
                    self.detached(py, |state| state.step(row, n_past))
                }
            };
            if is_done {
                return Ok(());
            }
        }
    }

    pub(crate) fn forecast(&self, py: Python<'_>, horizon: isize) -> PyResult<Forecast> {
        let n_leads = n_leads(py, horizon)?;
        let (said, n_past) = match n_leads {
            0..=N_LEADS_HELD_MAX => self.lock(py).forecast(n_leads),
            _ => self.detached(py, |state| state.forecast(n_leads)),
        };
        Ok(Forecast::new(said, n_past, self.axis(py)))
    }

    /// Works while other threads have the interpreter.
    fn detached<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> T + Send) -> T {
        py.detach(|| work(&mut self.state.lock().expect(UNBROKEN)))
    }

    pub(crate) fn lock(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        self.state.lock_py_attached(py).expect(UNBROKEN)
    }

    pub(crate) fn axis(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.axis.as_ref().map(|axis| axis.clone_ref(py))
    }

    /// One that goes its own way from here.
    pub(crate) fn copy(&self, py: Python<'_>) -> Self {
        Self::new(self.lock(py).clone(), self.axis(py))
    }
}

/// The reason why a lock is not poisoned.
pub(crate) const UNBROKEN: &str = "a predictor does not panic";
