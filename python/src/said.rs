//! The forecast of a predictor, with its bounds, and its encoding in a pickle.

use predict::{Intervals, RestoreError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use statistics::Interval;
use units::Confidence;

use crate::bounds::Bounds;
use crate::error::raise;

/// A forecast inside its bounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Said {
    forecast: predict::Forecast,
    pub(crate) intervals: Intervals,
}

impl Said {
    pub(crate) fn new(mut forecast: predict::Forecast, intervals: Intervals, bounds: Bounds) -> Self {
        bounds.cut(&mut forecast);
        Self { forecast, intervals }
    }

    /// Returns the forecast of `predictor` from its current position.
    pub(crate) fn by(predictor: &predict::Predictor, n_leads: usize, bounds: Bounds) -> Self {
        Self::new(predictor.forecast(n_leads), predictor.intervals(), bounds)
    }

    pub(crate) fn means(&self) -> &[f64] {
        self.forecast.means()
    }

    pub(crate) fn standard_errors(&self) -> &[f64] {
        self.forecast.standard_errors()
    }

    pub(crate) fn n_leads(&self) -> usize {
        self.forecast.n_leads()
    }

    /// All leads, lead 1 first.
    pub(crate) fn intervals_of(&self, confidence: Confidence) -> impl Iterator<Item = Interval> {
        self.forecast.intervals(confidence)
    }

    /// The same with what `inference` adds to the standard errors.
    pub(crate) fn widened(&self, inference: &predict::Inference, model: &predict::Model, samples: &[f64]) -> Self {
        let mut wider = self.clone();
        inference.widen(model, samples, &mut wider.forecast);
        wider
    }
}

/// One [`Said`] or several, for a pickle.
pub(crate) fn pickled<'py>(py: Python<'py>, said: &impl Serialize) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &postcard::to_allocvec(said).expect("numbers and lists can be encoded"))
}

/// Decodes the value that [`pickled`] encoded.
pub(crate) fn unpickled<T: DeserializeOwned>(py: Python<'_>, bytes: &[u8]) -> PyResult<T> {
    let problem = "it is cut off or its fields do not decode";
    postcard::from_bytes(bytes).map_err(|_| damaged(py, "forecast", bytes.len(), problem))
}

/// The exception for parts of a pickle, `n_bytes` of them, that do not go together.
pub(crate) fn damaged(py: Python<'_>, what: &'static str, n_bytes: usize, problem: &'static str) -> PyErr {
    raise(py, &RestoreError::Damaged { what, n_bytes, problem })
}
