//! A model against what came: forecasts at every step, scored per lead.

use numpy::{PyArray1, PyReadonlyArray1};
use predict::{Coverage, Errors, Evaluator, FitError, Forecast, LeadScore, Spec};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;
use crate::fit::read_spec;
use crate::samples::n_leads;

/// Fit `spec` to the first `n_fit` samples and score its forecasts for leads 1 to `horizon` on the others.
#[pyfunction]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    samples: PyReadonlyArray1<'py, f64>,
    spec: &str,
    n_fit: usize,
    horizon: isize,
) -> PyResult<Bound<'py, PyDict>> {
    let (spec, samples, horizon) = (read_spec(py, spec)?, samples.as_slice()?, n_leads(py, horizon)?);
    let scores = py.detach(|| score(&spec, samples, n_fit, horizon)).map_err(|error| raise(py, &error))?;
    table(py, &scores)
}

fn score(spec: &Spec, samples: &[f64], n_fit: usize, horizon: usize) -> Result<Vec<LeadScore>, FitError> {
    let (known, coming) = samples.split_at(n_fit.min(samples.len()));
    let mut predictor = predict::fit(spec, known)?.predictor();
    let mut evaluator = Evaluator::new(horizon);
    let mut forecast = Forecast::default();
    predictor.forecast_into(horizon, &mut forecast);
    // The last sample of the fit is where the first forecast starts from; nothing was said of it.
    evaluator.step(f64::NAN, Some(&forecast));
    for sample in coming {
        predictor.step(*sample);
        predictor.forecast_into(horizon, &mut forecast);
        evaluator.step(*sample, Some(&forecast));
    }
    Ok(evaluator.scores())
}

/// A column for each statistic, NaN where nothing was scored.
fn table<'py>(py: Python<'py>, scores: &[LeadScore]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let counts = |count: fn(&LeadScore) -> i64| PyArray1::from_iter(py, scores.iter().map(count));
    columns.set_item("lead", counts(|score| score.lead as i64))?;
    columns.set_item("n", counts(|score| score.n as i64))?;
    columns.set_item("n_unscored", counts(|score| score.n_unscored as i64))?;
    let errors: [(&str, fn(&Errors) -> f64); 6] = [
        ("mean_squared", |errors| errors.mean_squared),
        ("mean_absolute", |errors| errors.mean_absolute),
        ("mean", |errors| errors.mean),
        ("min", |errors| errors.min),
        ("median", |errors| errors.median),
        ("max", |errors| errors.max),
    ];
    for (name, statistic) in errors {
        let column = scores.iter().map(|score| score.errors.as_ref().map_or(f64::NAN, statistic));
        columns.set_item(name, PyArray1::from_iter(py, column))?;
    }
    let coverages: [(&str, fn(&Coverage) -> f64); 3] = [
        ("coverage_50", |coverage| coverage.p50),
        ("coverage_80", |coverage| coverage.p80),
        ("coverage_95", |coverage| coverage.p95),
    ];
    for (name, share) in coverages {
        let column = scores.iter().map(|score| score.coverage.as_ref().map_or(f64::NAN, share));
        columns.set_item(name, PyArray1::from_iter(py, column))?;
    }
    Ok(columns)
}
