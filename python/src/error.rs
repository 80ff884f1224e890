//! Refusals as Python exceptions: one class for each Rust enum, its fields as attributes.
//!
//! The classes are written in Python (`lib/foretop/_errors.py`), where they can be documented, subclassed and pickled.

use std::error::Error;
use std::fmt::Debug;
use std::iter::successors;

use predict::{CompareError, FitError, RestoreError, SpecError};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use statistics::StatisticError;
use units::ConfidenceError;

/// An error that Python has a class for.
pub(crate) trait Refusal: Error {
    /// The name of the class.
    const CLASS: &'static str;

    /// The variant's fields that are of use to a program, as attributes of the exception.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>>;
}

/// The exception to raise for `refusal`; its attribute `kind` is the variant's name.
pub(crate) fn raise(py: Python<'_>, refusal: &(impl Refusal + 'static)) -> PyErr {
    exception(py, refusal).unwrap_or_else(|failure| failure)
}

fn exception<R: Refusal + 'static>(py: Python<'_>, refusal: &R) -> PyResult<PyErr> {
    let attributes = PyDict::new(py);
    attributes.set_item("kind", kind(refusal))?;
    for (name, value) in refusal.fields(py)? {
        attributes.set_item(name, value)?;
    }
    let class = py.import("foretop._errors")?.getattr(R::CLASS)?;
    Ok(PyErr::from_value(class.call((message(refusal),), Some(&attributes))?))
}

/// The refusal and what it came from, since Python shows no chain of Rust errors.
fn message(refusal: &(dyn Error + 'static)) -> String {
    // A reference to an error is an error too, one that lives too short.
    successors(Some(refusal), |error| (**error).source()).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A variant is debugged as its name and then its fields, so a variant added elsewhere has its name here as well.
fn kind(refusal: &impl Debug) -> String {
    let text = format!("{refusal:?}");
    text.chars().take_while(|letter| letter.is_alphanumeric()).collect()
}

/// The fields with the values that Python sees.
macro_rules! fields {
    ($py:expr, $($name:ident = $value:expr),+) => {
        Ok(vec![$((stringify!($name), $value.into_bound_py_any($py)?)),+])
    };
}
pub(crate) use fields;

impl Refusal for FitError {
    const CLASS: &'static str = "FitError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        match self {
            Self::TooShort { spec, have, need } | Self::TooBroken { spec, have, need } => {
                fields!(py, spec = spec.to_string(), have = *have, need = *need)
            }
            Self::Constant { spec, value } => fields!(py, spec = spec.to_string(), value = *value),
            Self::DidNotConverge { spec } | Self::NoThreshold { spec } | Self::Explosive { spec } => {
                fields!(py, spec = spec.to_string())
            }
            Self::FractionOutside { spec, d } => fields!(py, spec = spec.to_string(), d = *d),
            Self::Infinite { idx, value } => fields!(py, idx = *idx, value = *value),
            Self::TooSmall { spec, spread } => fields!(py, spec = spec.to_string(), spread = *spread),
            Self::TooLarge { spec, largest } => fields!(py, spec = spec.to_string(), largest = *largest),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for SpecError {
    const CLASS: &'static str = "SpecError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        match self {
            Self::UnknownModel { given } | Self::FixedFraction { given } | Self::BadRange { given } => {
                fields!(py, given = given)
            }
            Self::Malformed { text, problem } => fields!(py, given = text, problem = problem),
            Self::Missing { model, argument, .. } => fields!(py, model = model, argument = argument),
            Self::UnknownArgument { model, given, .. } => fields!(py, model = model, given = given),
            Self::UnknownWord { model, argument, given, .. } => {
                fields!(py, model = model, argument = argument, given = given)
            }
            Self::TooMany { text, n_specs, n_specs_max } => {
                fields!(py, given = text, have = *n_specs, max = *n_specs_max)
            }
            Self::OutOfRange { model, argument, given, min, max } => {
                fields!(py, model = model, argument = argument, given = given, min = *min, max = *max)
            }
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for RestoreError {
    const CLASS: &'static str = "RestoreError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        match self {
            Self::NotAPredictor { n_bytes } | Self::NotASeries { n_bytes } => fields!(py, n_bytes = *n_bytes),
            Self::UnknownVersion { given, .. } => fields!(py, given = *given),
            Self::Damaged { n_bytes, problem, .. } => fields!(py, n_bytes = *n_bytes, problem = problem),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for StatisticError {
    const CLASS: &'static str = "StatisticError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        match self {
            Self::TooShort { statistic, have, need } | Self::TooBroken { statistic, have, need } => {
                fields!(py, statistic = statistic, have = *have, need = *need)
            }
            Self::TooLarge { statistic, largest } => fields!(py, statistic = statistic, largest = *largest),
            Self::Broken { statistic, idx, value } => fields!(py, statistic = statistic, idx = *idx, value = *value),
            Self::Constant { statistic, value } => fields!(py, statistic = statistic, value = *value),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for CompareError {
    const CLASS: &'static str = "CompareError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        match self {
            Self::TooShort { lead, have, need } => fields!(py, lead = *lead, have = *have, need = *need),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for ConfidenceError {
    const CLASS: &'static str = "ConfidenceError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        fields!(py, given = self.given.as_str())
    }
}

/// An argument that is no array of samples, or no number of leads.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// A horizon that no array of forecasts is made for.
    #[error("the horizon is {given} steps; it must be from 0 to {max}")]
    Leads { given: isize, max: isize },
    /// A horizon that an outlook cannot have.
    #[error("the horizon is {given} steps; it must be from 1 to {max}")]
    Horizon { given: isize, max: isize },
    /// A share of futures that is none.
    #[error("{given} is no share of futures; it must be from 0 to 1")]
    Share { given: f64 },
    /// An answer from before the last one.
    #[error("the answer of step {given} comes after that of step {last}; give them in the order of time")]
    Order { given: usize, last: usize },
    /// Steps of one length that make none of the next.
    #[error(
        "there is a step of {given} samples; each must be of 1 or more, and of several times as many as the one before"
    )]
    StepLength { given: usize },
    /// A step of another length than the fleet.
    #[error("{have} samples do not make a step of {need} series; give one for each")]
    Length { have: usize, need: usize },
    /// A sample of a step that no gap stands for.
    #[error("sample {idx} of the step is {value}; samples must be finite, with NaN or None for a gap")]
    Infinite { idx: usize, value: f64 },
    /// A word where one of two was expected.
    #[error("the loss is `{given}`; it must be squared or absolute")]
    Loss { given: String },
    /// A word where one of a few was expected.
    #[error("the criterion is `{given}`; it must be aic, aicc, bic or out_of_sample")]
    Criterion { given: String },
    /// A word where one of four was expected.
    #[error("the metric is `{given}`; it must be mse, mae, crps or interval")]
    Metric { given: String },
    /// A word where one of three was expected.
    #[error("the intervals are `{given}`; they must be adaptive, empirical or normal")]
    Intervals { given: String },
    /// Ends that nothing is between.
    #[error("the bounds are {given:?}; they must be a lower and an upper one, None where there is none")]
    Bounds { given: (f64, f64) },
    /// A share that no value lies below.
    #[error("{given} is not the probability of a quantile; it must be above 0 and below 1")]
    Probability { given: f64 },
    /// More values than there is memory for.
    #[error("{n_paths} paths of {horizon} steps are too many; together they may have {max} values")]
    Paths { n_paths: usize, horizon: usize, max: usize },
    /// Seasons that a series cannot have.
    #[error(transparent)]
    Periods(predict::PeriodsError),
    /// Inference, or a wider forecast, of a model that has no samples.
    #[error("this model does not have the samples that it was fitted to; pass them as y")]
    NoSamples,
    /// A forecast from elsewhere than where the samples of the fit end.
    #[error(
        "the forecast begins after sample {origin} and the model was fitted to {n_samples}; pass the samples up to there as y"
    )]
    Origin { origin: usize, n_samples: usize },
    /// A word where one of four was expected.
    #[error("the method is `{given}`; it must be rescaled_range, aggregated_variance, whittle or gph")]
    HurstMethod { given: String },
}

impl Refusal for InputError {
    const CLASS: &'static str = "InputError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        match self {
            Self::Leads { given, max } | Self::Horizon { given, max } => fields!(py, given = *given, max = *max),
            Self::Probability { given } | Self::Share { given } => fields!(py, given = *given),
            Self::Order { given, last } => fields!(py, given = *given, last = *last),
            Self::StepLength { given } => fields!(py, given = *given),
            Self::Paths { n_paths, horizon, max } => fields!(py, have = *n_paths * *horizon, max = *max),
            Self::Length { have, need } => fields!(py, have = *have, need = *need),
            Self::Infinite { idx, value } => fields!(py, idx = *idx, value = *value, given = *value),
            Self::Loss { given }
            | Self::Criterion { given }
            | Self::Metric { given }
            | Self::HurstMethod { given }
            | Self::Intervals { given } => fields!(py, given = given),
            Self::Bounds { given } => fields!(py, given = *given),
            Self::NoSamples | Self::Periods(_) => Ok(Vec::new()),
            Self::Origin { origin, n_samples } => fields!(py, given = *origin, have = *n_samples),
        }
    }
}
