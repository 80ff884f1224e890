//! Models against what came: forecasts at every step, scored per lead, and compared.

use numpy::{PyArray1, PyReadonlyArray1};
use predict::{CompareError, Comparison, Evaluator, FitError, Forecast, LeadScore, Loss, Spec};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use statistics::Residuals;

use crate::error::{InputError, raise};
use crate::fit::read_spec;
use crate::samples::n_leads;

/// Function from the score of a lead to one of its statistics; `None` if the score has no such statistic.
type Statistic = fn(&LeadScore) -> Option<f64>;

/// The columns of a table of scores, after the counts.
const STATISTICS: [(&str, Statistic); 14] = [
    ("mean_squared", |score| score.errors.map(|errors| errors.mean_squared)),
    ("mean_absolute", |score| score.errors.map(|errors| errors.mean_absolute)),
    ("mean_absolute_scaled", |score| score.mean_absolute_scaled),
    ("crps", |score| score.crps),
    ("mean", |score| score.errors.map(|errors| errors.mean)),
    ("min", |score| score.errors.map(|errors| errors.min)),
    ("median", |score| score.errors.map(|errors| errors.median)),
    ("max", |score| score.errors.map(|errors| errors.max)),
    ("coverage_50", |score| score.coverage.map(|coverage| coverage.p50)),
    ("coverage_80", |score| score.coverage.map(|coverage| coverage.p80)),
    ("coverage_95", |score| score.coverage.map(|coverage| coverage.p95)),
    ("interval_score_50", |score| score.interval_scores.map(|scores| scores.p50)),
    ("interval_score_80", |score| score.interval_scores.map(|scores| scores.p80)),
    ("interval_score_95", |score| score.interval_scores.map(|scores| scores.p95)),
];

/// Function from the comparison at a lead to one of its figures.
type Finding = fn(&Comparison) -> f64;

/// The columns of a table of comparisons, after the counts.
const FINDINGS: [(&str, Finding); 3] = [
    ("difference", |comparison| comparison.difference),
    ("statistic", |comparison| comparison.statistic),
    ("p_value", |comparison| comparison.p_value),
];

/// Fit `spec` to the first `n_fit` samples and score its forecasts for leads 1 to `horizon` on the others.
#[pyfunction]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    samples: PyReadonlyArray1<'py, f64>,
    spec: &str,
    n_fit: usize,
    horizon: isize,
) -> PyResult<Bound<'py, PyDict>> {
    let (spec, horizon) = (read_spec(py, spec)?, n_leads(py, horizon)?);
    let (known, coming) = samples.as_slice()?.split_at(n_fit);
    let scores = py.detach(|| score(&spec, known, coming, horizon)).map_err(|error| raise(py, &error))?;
    let columns = PyDict::new(py);
    columns.set_item("lead", PyArray1::from_iter(py, scores.iter().map(|score| score.lead as i64)))?;
    columns.set_item("n", PyArray1::from_iter(py, scores.iter().map(|score| score.n as i64)))?;
    columns.set_item("n_unscored", PyArray1::from_iter(py, scores.iter().map(|score| score.n_unscored as i64)))?;
    for (name, statistic) in STATISTICS {
        let column = scores.iter().map(|score| statistic(score).unwrap_or(f64::NAN));
        columns.set_item(name, PyArray1::from_iter(py, column))?;
    }
    Ok(columns)
}

/// Fit `spec` to the first `n_fit` samples and test its errors one step ahead on the others: their number, the lags
/// looked at, the share of correlations beyond the bound, the p-values for correlation, turning points and rises, and
/// R^2 and p-value of the quantile-quantile line.
#[pyfunction]
pub(crate) fn residuals(
    py: Python<'_>,
    samples: PyReadonlyArray1<'_, f64>,
    spec: &str,
    n_fit: usize,
) -> PyResult<(usize, usize, [f64; 6])> {
    let spec = read_spec(py, spec)?;
    let (known, coming) = samples.as_slice()?.split_at(n_fit);
    let errors = py.detach(|| errors(&spec, known, coming, 1)).map_err(|error| raise(py, &error))?.remove(0);
    let found = py.detach(|| Residuals::test(&errors, None, 0));
    let noise = found.whiteness.map_err(|error| raise(py, &error))?;
    let line = found.normality.map_err(|error| raise(py, &error))?;
    let figures = [
        noise.significant_share,
        noise.ljung_box.p_value,
        noise.turning_points.p_value,
        noise.rises.p_value,
        line.r_squared,
        line.p_value.unwrap_or(f64::NAN),
    ];
    Ok((found.n, noise.n_lags, figures))
}

/// Fit both specifications to the first `n_fit` samples and compare the errors of their forecasts on the others.
#[pyfunction]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    samples: PyReadonlyArray1<'py, f64>,
    specs: (String, String),
    n_fit: usize,
    horizon: isize,
    loss: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let (first, second, horizon) = (read_spec(py, &specs.0)?, read_spec(py, &specs.1)?, n_leads(py, horizon)?);
    let loss = match loss {
        "squared" => Loss::Squared,
        "absolute" => Loss::Absolute,
        given => return Err(raise(py, &InputError::Loss { given: given.to_owned() })),
    };
    let (known, coming) = samples.as_slice()?.split_at(n_fit);
    let errors = py.detach(|| Ok((errors(&first, known, coming, horizon)?, errors(&second, known, coming, horizon)?)));
    let (first, second) = errors.map_err(|error: FitError| raise(py, &error))?;
    let leads = 1..=horizon;
    let comparisons: Result<Vec<Comparison>, CompareError> =
        leads.clone().map(|lead| predict::compare(&first[lead - 1], &second[lead - 1], lead, loss)).collect();
    let comparisons = comparisons.map_err(|error| raise(py, &error))?;
    let columns = PyDict::new(py);
    columns.set_item("lead", PyArray1::from_iter(py, leads.map(|lead| lead as i64)))?;
    columns.set_item("n", PyArray1::from_iter(py, comparisons.iter().map(|comparison| comparison.n as i64)))?;
    for (name, finding) in FINDINGS {
        columns.set_item(name, PyArray1::from_iter(py, comparisons.iter().map(finding)))?;
    }
    Ok(columns)
}

fn score(spec: &Spec, known: &[f64], coming: &[f64], horizon: usize) -> Result<Vec<LeadScore>, FitError> {
    let mut evaluator = Evaluator::new(horizon).scaled_on(known);
    walk(spec, known, coming, horizon, |sample, forecast| evaluator.step(sample, Some(forecast)))?;
    Ok(evaluator.scores())
}

/// Returns a row of errors for each lead, with one error for each sample that was forecast at that lead; NaN in gaps.
fn errors(spec: &Spec, known: &[f64], coming: &[f64], horizon: usize) -> Result<Vec<Vec<f64>>, FitError> {
    let mut errors = vec![Vec::new(); horizon];
    let mut n_past = 0;
    walk(spec, known, coming, horizon, |_, forecast| {
        let targets = coming[n_past..].iter().zip(forecast.means());
        errors.iter_mut().zip(targets).for_each(|(errors, (sample, mean))| errors.push(sample - mean));
        n_past += 1;
    })?;
    Ok(errors)
}

/// Shows `visit` the forecast after the fit, beside a gap since nothing was said of the last sample, and then each
/// sample to come with the forecast made of it.
fn walk(
    spec: &Spec,
    known: &[f64],
    coming: &[f64],
    horizon: usize,
    mut visit: impl FnMut(f64, &Forecast),
) -> Result<(), FitError> {
    let mut predictor = predict::fit(spec, known)?.predictor();
    let mut forecast = predictor.forecast(horizon);
    visit(f64::NAN, &forecast);
    for sample in coming {
        predictor.step(*sample);
        predictor.forecast_into(horizon, &mut forecast);
        visit(*sample, &forecast);
    }
    Ok(())
}
