//! Refusals of campaigns, runs and result files, as Python exceptions.

use ::crossval::{CampaignError, ComparisonError, ResultsError, RunError, TemplateError, TraceError, TraceFileError};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::error::{Refusal, fields};

type Fields<'py> = PyResult<Vec<(&'static str, Bound<'py, PyAny>)>>;

impl Refusal for TemplateError {
    const CLASS: &'static str = "TemplateError";

    fn fields<'py>(&self, py: Python<'py>) -> Fields<'py> {
        match self {
            Self::Model { text, .. } | Self::NoMember { text } => fields!(py, given = text),
            Self::ListLength { key, n, .. } => fields!(py, key = key, given = *n),
            Self::Twice { key, given } | Self::OutOfRange { key, given, .. } => fields!(py, key = key, given = given),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for TraceError {
    const CLASS: &'static str = "TraceError";

    fn fields<'py>(&self, py: Python<'py>) -> Fields<'py> {
        match self {
            Self::Infinite { name, idx, value } => fields!(py, name = name, idx = *idx, value = *value),
            Self::Empty { name, .. } => fields!(py, name = name),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for TraceFileError {
    const CLASS: &'static str = "TraceError";

    fn fields<'py>(&self, py: Python<'py>) -> Fields<'py> {
        match self {
            Self::Io { path, .. }
            | Self::EmptyFolder { path }
            | Self::UnknownFormat { path }
            | Self::Csv { path, .. }
            | Self::Parquet { path, .. }
            | Self::Columns { path, .. }
            | Self::TooLong { path, .. }
            | Self::Trace { path, .. } => fields!(py, path = path.as_path()),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for CampaignError {
    const CLASS: &'static str = "CampaignError";

    fn fields<'py>(&self, py: Python<'py>) -> Fields<'py> {
        match self {
            Self::TraceCount { n } | Self::PeerCount { n } => fields!(py, have = *n),
            Self::SameName { name } | Self::PeerName { name } => fields!(py, name = name),
            Self::NoRoom { need, name, n_samples } => fields!(py, need = *need, name = name, have = *n_samples),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for RunError {
    const CLASS: &'static str = "RunError";

    fn fields<'py>(&self, py: Python<'py>) -> Fields<'py> {
        match self {
            Self::CaseCount { given } => fields!(py, given = *given),
            Self::Exists { path } | Self::NoFileName { path } | Self::Io { path, .. } | Self::Identity { path, .. } => {
                fields!(py, path = path.as_path())
            }
            Self::OtherCampaign { folder, what } => fields!(py, path = folder.as_path(), what = what),
            Self::Busy { folder } => fields!(py, path = folder.as_path()),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for ResultsError {
    const CLASS: &'static str = "ResultsError";

    fn fields<'py>(&self, py: Python<'py>) -> Fields<'py> {
        match self {
            Self::Io { path, .. }
            | Self::Parquet { path, .. }
            | Self::Damaged { path, .. }
            | Self::NoIdentity { path }
            | Self::Template { path, .. }
            | Self::Row { path, .. } => fields!(py, path = path.as_path()),
            _ => Ok(Vec::new()),
        }
    }
}

impl Refusal for ComparisonError {
    const CLASS: &'static str = "ComparisonError";

    fn fields<'py>(&self, _py: Python<'py>) -> Fields<'py> {
        Ok(Vec::new())
    }
}
