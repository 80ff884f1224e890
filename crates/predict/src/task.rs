//! Fits that are made elsewhere: handed out by a predictor when they are due, and taken back when they are done.

use crate::fit::{FitError, fit};
use crate::model::Model;
use crate::spec::Spec;

/// A fit that a predictor is due for, with the samples that it needs.
#[derive(Clone, Debug)]
pub struct Task {
    pub(crate) spec: Spec,
    pub(crate) samples: Vec<f64>,
    pub(crate) ticket: Ticket,
}

/// What a [`Task`] came to, for [`Predictor::install`](crate::Predictor::install) of the predictor that it is from.
#[derive(Clone, Debug)]
pub struct Done {
    pub(crate) spec: Spec,
    pub(crate) result: Result<Model, FitError>,
    pub(crate) ticket: Ticket,
}

/// Which fit of a predictor it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Which of its models.
    pub(crate) model_idx: usize,
    /// After which step.
    pub(crate) clock: u64,
}

impl Task {
    /// What is to be fitted.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Fits. The same task comes to the same end whenever and wherever it is run.
    #[must_use]
    pub fn run(self) -> Done {
        let result = fit(&self.spec, &self.samples);
        Done { spec: self.spec, result, ticket: self.ticket }
    }
}
