//! Fits of models to samples, and the list of models.

use std::time::Duration;

use numpy::PyReadonlyArray1;
use predict::{Criterion, FitError, Intervals, Periods, Predictor, Spec};
use pyo3::prelude::*;

use crate::bounds::{Bounds, Pair};
use crate::error::{InputError, raise};
use crate::intervals::read_intervals;
use crate::model::Model;
use crate::motion::State;

/// The longest window that the text of a `REFIT` takes.
const WINDOW_MAX: usize = 1_000_000;

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
    intervals: Option<&str>,
    bounds: Option<Pair>,
    non_negative: bool,
) -> PyResult<Model> {
    let (spec, samples) = (read_spec(py, spec)?, samples.as_slice()?);
    let intervals = intervals.map(|word| read_intervals(py, word)).transpose()?;
    let bounds = Bounds::read(py, bounds, non_negative)?;
    let predictor =
        py.detach(|| fitted(&spec, samples, bounds.ends(), intervals)).map_err(|error| raise(py, &error))?;
    Ok(Model::new(State::new(predictor, samples.len(), bounds), axis, Some(samples.into())))
}

/// A predictor that stands at the end of `samples`, with intervals of a kind, or of the model's own.
///
/// Intervals are learned from forecasts of what was not fitted to: the model is fitted to the first half, stepped over
/// the other, and fitted anew to all samples at the end, by a `REFIT` around it unless it fits itself anew.
fn fitted(
    spec: &Spec,
    samples: &[f64],
    range: (f64, f64),
    intervals: Option<Intervals>,
) -> Result<Predictor, FitError> {
    let whole = predict::fit_bounded(spec, samples, range)?.predictor();
    let intervals = match intervals {
        Some(intervals) if intervals != whole.intervals() => intervals,
        _ => return Ok(whole),
    };
    let n_first = n_first(spec, samples);
    let n_rest = samples.len() - n_first;
    if intervals == Intervals::Gaussian || n_rest == 0 {
        return Ok(whole.with_intervals(intervals));
    }
    let spec = match spec {
        Spec::Refit { .. } | Spec::Auto { .. } => spec.clone(),
        plain => plain.clone().refit(n_rest.min(WINDOW_MAX), samples.len().min(WINDOW_MAX)),
    };
    let mut predictor = predict::fit_bounded(&spec, &samples[..n_first], range)?.predictor().with_intervals(intervals);
    samples[n_first..].iter().for_each(|sample| predictor.step(*sample));
    Ok(predictor)
}

/// Half of the samples that are no gaps, or as many as `spec` needs.
fn n_first(spec: &Spec, samples: &[f64]) -> usize {
    let known = || samples.iter().enumerate().filter(|(_, sample)| !sample.is_nan());
    let n_known = (known().count() / 2).max(spec.n_samples_min());
    known().nth(n_known.saturating_sub(1)).map_or(samples.len(), |(idx, _)| idx + 1)
}

/// Write the text of an AUTO with the seasons that a step suggests, as far as so many samples are long enough for them.
#[pyfunction]
pub(crate) fn auto_with_seasons(step_seconds: f64, n_samples: usize) -> String {
    let step = Duration::try_from_secs_f64(step_seconds).unwrap_or(Duration::MAX);
    Spec::auto_with(Periods::of_calendar(step).known_in(n_samples)).to_string()
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
