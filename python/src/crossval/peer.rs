//! Forecasters written in Python, as peers of a campaign: `lib/foretop/crossval/peers.py` says what is asked of them.

use std::sync::Arc;

use ::crossval::{Peer, PeerError};
use numpy::{PyArray1, PyReadonlyArray1};
use predict::{Forecast, Forecaster};
use pyo3::prelude::*;

/// Largest number of characters kept of an exception's text, which is in every row of the case.
const N_CHARACTERS_MAX: usize = 300;

/// An object with `name`, `n_coefficients` (0 unless it has it) and `fit`.
#[derive(Debug)]
struct PythonPeer {
    name: String,
    n_coefficients: usize,
    object: Py<PyAny>,
}

/// Result of `fit`: an object with `step` and `forecast`.
struct PythonModel(Py<PyAny>);

/// Peers as campaigns have them.
pub(super) fn read_peers(objects: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Arc<dyn Peer>>> {
    let peer = |object: Bound<'_, PyAny>| -> PyResult<Arc<dyn Peer>> {
        let name = object.getattr("name")?.extract()?;
        let n_coefficients = object.getattr_opt("n_coefficients")?.map_or(Ok(0), |number| number.extract())?;
        Ok(Arc::new(PythonPeer { name, n_coefficients, object: object.unbind() }))
    };
    objects.into_iter().map(peer).collect()
}

impl Peer for PythonPeer {
    fn name(&self) -> &str {
        &self.name
    }

    fn n_coefficients(&self) -> usize {
        self.n_coefficients
    }

    fn fit(&self, samples: &[f64]) -> Result<Box<dyn Forecaster<Error = PeerError>>, PeerError> {
        let model = attached(|py| {
            // A copy: behind a part of an array Python could find the rest of it, and in it what is to come.
            let samples = PyArray1::from_slice(py, samples);
            Ok(self.object.bind(py).call_method1("fit", (samples,))?.unbind())
        })?;
        Ok(Box::new(PythonModel(model)))
    }
}

impl Forecaster for PythonModel {
    type Error = PeerError;

    fn forecast_into(&mut self, n_leads: usize, forecast: &mut Forecast) -> Result<(), PeerError> {
        let (means, standard_errors) = attached(|py| {
            let given = self.0.bind(py).call_method1("forecast", (n_leads,))?;
            let (means, standard_errors): (Bound<'_, PyAny>, Option<Bound<'_, PyAny>>) = given.extract()?;
            let means = read_row(&means)?;
            let none = || Ok(vec![f64::NAN; means.len()]);
            let standard_errors = standard_errors.map_or_else(none, |errors| read_row(&errors))?;
            Ok((means, standard_errors))
        })?;
        if means.len() != n_leads || standard_errors.len() != n_leads {
            let (n_means, n_errors) = (means.len(), standard_errors.len());
            let message =
                format!("it gave {n_means} means and {n_errors} standard errors where {n_leads} were asked for");
            return Err(PeerError { message });
        }
        if let Some(negative) = standard_errors.iter().find(|error| **error < 0.0) {
            return Err(PeerError { message: format!("it gave the standard error {negative}, which is below 0") });
        }
        *forecast = Forecast::new(means, standard_errors);
        Ok(())
    }

    fn step(&mut self, sample: f64) -> Result<(), PeerError> {
        attached(|py| self.0.bind(py).call_method1("step", (sample,)).map(drop))
    }
}

fn read_row(given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let row: PyReadonlyArray1<'_, f64> =
        given.py().import("foretop._samples")?.call_method1("row", (given,))?.extract()?;
    Ok(row.as_slice()?.to_vec())
}

/// An exception is the peer's failure, and the campaign goes on.
fn attached<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, PeerError> {
    Python::attach(work).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        PeerError { message: line.chars().take(N_CHARACTERS_MAX).collect() }
    })
}
