//! Playback that slows down: laws on traces of arrival, by a virtual clock.

use ::playback::{Kind, Law, Limits, Outcome, Setting, Step, TierCosts, Trace, requested, simulate};
use numpy::{PyReadonlyArray1, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The step in seconds and the rates of a trace that is made.
#[pyfunction]
pub(crate) fn made_trace(py: Python<'_>, kind: &str, seconds: f64, seed: u64) -> PyResult<(f64, Py<PyAny>)> {
    let kind: Kind = kind.parse().map_err(value_error)?;
    let trace = Trace::made(kind, at_most_a_day("seconds", seconds)?, seed);
    Ok((trace.step_seconds(), trace.rates().to_pyarray(py).into_any().unbind()))
}

/// The names of all laws.
#[pyfunction]
pub(crate) fn playback_laws() -> Vec<&'static str> {
    Law::ALL.map(Law::name).into()
}

/// The figures of a run, and its moments as arrays.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python side names them")]
pub(crate) fn simulate_playback<'py>(
    py: Python<'py>,
    rates: PyReadonlyArray1<'py, f64>,
    step_seconds: f64,
    law: &str,
    speed: f64,
    limits: (f64, f64),
    start_seconds: f64,
    capacity_seconds: f64,
    live: bool,
    model: Option<&str>,
    cpu: Option<(PyReadonlyArray1<'py, f64>, f64)>,
) -> PyResult<Bound<'py, PyDict>> {
    let law: Law = law.parse().map_err(value_error)?;
    let step_seconds = at_most_a_day("step", step_seconds)?;
    let mut trace = Trace::of_rates("rates", step_seconds, rates.as_slice()?).map_err(value_error)?;
    if let Some((shares, speed)) = cpu {
        let shares = Trace::of_rates("cpu", step_seconds, shares.as_slice()?).map_err(value_error)?;
        trace = trace.on_processor(&shares, at_most_a_day("cpu_speed", speed)?);
    }
    let setting = Setting {
        law,
        limits: Limits::new(limits.0, limits.1).map_err(value_error)?,
        requested_rate: requested(speed).map_err(value_error)?,
        start_seconds: at_most_a_day("start", start_seconds)?,
        capacity_seconds: at_most_a_day("capacity", capacity_seconds)?.max(start_seconds),
        media_seconds: None,
        is_live: live,
        policy: model.map(str::parse).transpose().map_err(value_error)?,
        heeds_processor: true,
        costs: TierCosts::PLAYER,
    };
    let outcome = py.detach(|| simulate(&trace, &setting));
    let found = PyDict::new(py);
    let Outcome { start_up_seconds, stalled_seconds, n_stalls, seconds, lost_seconds, .. } = outcome;
    found.set_item("start_up_seconds", start_up_seconds)?;
    found.set_item("stalled_seconds", stalled_seconds)?;
    found.set_item("n_stalls", n_stalls)?;
    found.set_item("seconds", seconds)?;
    found.set_item("lost_seconds", lost_seconds)?;
    found.set_item("mean_deviation", outcome.mean_deviation)?;
    found.set_item("rms_deviation", outcome.rms_deviation)?;
    found.set_item("least_stalled_seconds", outcome.least_stalled_seconds)?;
    found.set_item("least_mean_deviation", outcome.least_mean_deviation)?;
    found.set_item("slew_per_second", outcome.slew_per_second)?;
    let array = |of: fn(&Step) -> f64| outcome.steps.iter().map(of).collect::<Vec<_>>().to_pyarray(py);
    found.set_item("times", array(|step| step.seconds))?;
    found.set_item("rates", array(|step| step.rate))?;
    found.set_item("buffer_seconds", array(|step| step.buffer_seconds))?;
    found.set_item("ahead_seconds", array(|step| step.ahead_seconds))?;
    found.set_item("least_rates", array(|step| step.forecast.0))?;
    found.set_item("expected_rates", array(|step| step.forecast.1))?;
    Ok(found)
}

fn at_most_a_day(name: &str, value: f64) -> PyResult<f64> {
    let is_right = value > 0.0 && value <= 86_400.0;
    is_right.then_some(value).ok_or_else(|| value_error(format!("{name} is {value}; it is above 0 and at most 86400")))
}
