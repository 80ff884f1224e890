//! From samples to a model, and which models there are.

use numpy::PyReadonlyArray1;
use predict::Spec;
use pyo3::prelude::*;

use crate::error::raise;
use crate::model::Model;
use crate::motion::State;

/// A specification from its text.
pub(crate) fn read_spec(py: Python<'_>, text: &str) -> PyResult<Spec> {
    text.parse().map_err(|error: predict::SpecError| raise(py, &error))
}

/// Fit `spec` to a row of samples; `axis` continues the row's index.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    samples: PyReadonlyArray1<'_, f64>,
    spec: &str,
    axis: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let (spec, samples) = (read_spec(py, spec)?, samples.as_slice()?);
    let model = py.detach(|| predict::fit(&spec, samples)).map_err(|error| raise(py, &error))?;
    Ok(Model::new(State::new(model.predictor(), samples.len()), axis))
}

/// List every model there is: its text, and a sentence.
#[pyfunction]
pub(crate) fn models() -> Vec<(&'static str, &'static str)> {
    Spec::catalogue().to_vec()
}
