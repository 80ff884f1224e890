//! From samples to a model, and which models there are.

use numpy::PyReadonlyArray1;
use predict::{Criterion, Spec};
use pyo3::prelude::*;

use crate::error::{InputError, raise};
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

/// Rank the models that texts with ranges stand for, the best first; NaN for one without a score.
#[pyfunction]
pub(crate) fn select(
    py: Python<'_>,
    samples: PyReadonlyArray1<'_, f64>,
    candidates: Vec<String>,
    criterion: &str,
    n_fit: usize,
    lead: usize,
) -> PyResult<Vec<(String, f64)>> {
    let criterion = match criterion {
        "aic" => Criterion::Aic,
        "aicc" => Criterion::Aicc,
        "bic" => Criterion::Bic,
        "out_of_sample" => Criterion::OutOfSample { n_train: n_fit, lead },
        given => return Err(raise(py, &InputError::Criterion { given: given.to_owned() })),
    };
    let specs: Result<Vec<Vec<Spec>>, _> = candidates.iter().map(|text| Spec::expand(text)).collect();
    let (specs, samples) = (specs.map_err(|error| raise(py, &error))?.concat(), samples.as_slice()?);
    let ranked = py.detach(|| predict::select(&specs, samples, criterion));
    Ok(ranked.into_iter().map(|ranked| (ranked.spec.to_string(), ranked.score.unwrap_or(f64::NAN))).collect())
}
