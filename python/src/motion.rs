//! A predictor between two steps, and where in its series it stands.

use std::sync::{Mutex, MutexGuard};

use predict::Spec;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::forecast::Forecast;
use crate::samples::{Samples, n_leads};

/// What models and predictors have in common: they are stepped, and asked for forecasts, from any thread.
pub(crate) struct Motion {
    state: Mutex<State>,
    /// Continues the index of the series (`foretop._axis`); absent where positions count.
    axis: Option<Py<PyAny>>,
    /// Whether a step is a matter of nanoseconds: one of a `REFIT` or an `AUTO` may be a fit.
    is_quick: bool,
}

/// Up to here a forecast takes less time than letting other threads have the interpreter and taking it back.
const N_LEADS_HELD_MAX: usize = 1000;

/// What a step changes.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) predictor: predict::Predictor,
    /// Position of the next sample, from the first one that was fitted to.
    pub(crate) n_past: usize,
    /// Memory that one forecast leaves to the next.
    scratch: predict::Forecast,
}

impl State {
    pub(crate) fn new(predictor: predict::Predictor, n_past: usize) -> Self {
        Self { predictor, n_past, scratch: predict::Forecast::default() }
    }

    fn step(&mut self, row: &[f64]) {
        row.iter().for_each(|sample| self.predictor.step(*sample));
        self.n_past += row.len();
    }

    /// Means, then standard errors, and the position of the first.
    fn forecast(&mut self, n_leads: usize) -> (Box<[f64]>, usize) {
        self.predictor.forecast_into(n_leads, &mut self.scratch);
        ([self.scratch.means(), self.scratch.standard_errors()].concat().into(), self.n_past)
    }
}

impl Motion {
    pub(crate) fn new(state: State, axis: Option<Py<PyAny>>) -> Self {
        let is_quick = !matches!(state.predictor.model().spec(), Spec::Refit { .. } | Spec::Auto { .. });
        Self { state: Mutex::new(state), axis, is_quick }
    }

    pub(crate) fn step(&self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = given.py();
        match Samples::read(given)? {
            Samples::One(sample) if self.is_quick => self.lock(py).step(&[sample]),
            Samples::One(sample) => self.detached(py, |state| state.step(&[sample])),
            Samples::Row(row) => {
                let row = row.as_slice()?;
                self.detached(py, |state| state.step(row));
            }
        }
        Ok(())
    }

    pub(crate) fn forecast(&self, py: Python<'_>, leads: isize) -> PyResult<Forecast> {
        let leads = n_leads(py, leads)?;
        let (values, n_past) = match leads {
            0..=N_LEADS_HELD_MAX => self.lock(py).forecast(leads),
            _ => self.detached(py, |state| state.forecast(leads)),
        };
        Ok(Forecast::new(values, n_past, self.axis(py)))
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

/// Why a lock is not poisoned.
pub(crate) const UNBROKEN: &str = "a predictor does not panic";
