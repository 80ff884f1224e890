//! Fits that are made elsewhere: handed out when they are due, and taken back when they are done.

use crate::effort::Cancel;
use crate::fit::{FitError, attempt};
use crate::model::Model;
use crate::spec::Spec;

/// A fit that is due, with the samples that it needs.
#[derive(Clone, Debug)]
pub struct Task {
    pub(crate) spec: Spec,
    pub(crate) samples: Vec<f64>,
    pub(crate) ticket: Ticket,
    /// What it may cost, in operations.
    pub(crate) limit: u64,
}

/// What a [`Task`] came to, for the `install` of the [`Live`](crate::Live) or [`Predictor`](crate::Predictor) that it is from.
#[derive(Clone, Debug)]
pub struct Done {
    pub(crate) spec: Spec,
    pub(crate) result: Result<Model, FitError>,
    pub(crate) ticket: Ticket,
}

/// Which fit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Which of a predictor's models; [`Ticket::WHOLE`] for the model of a series.
    pub(crate) model_idx: usize,
    /// After which step, or sample.
    pub(crate) clock: u64,
}

impl Ticket {
    /// In place of one of the models of a predictor.
    pub(crate) const WHOLE: usize = usize::MAX;
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
        let result = attempt(&self.spec, &self.samples, self.limit, None);
        Done { spec: self.spec, result, ticket: self.ticket }
    }

    /// As [`Task::run`]; `None` when `cancel` cancelled it before its end.
    #[must_use]
    pub fn run_unless(self, cancel: &Cancel) -> Option<Done> {
        match attempt(&self.spec, &self.samples, self.limit, Some(cancel)) {
            Err(FitError::Cancelled { .. }) => None,
            result => Some(Done { spec: self.spec, result, ticket: self.ticket }),
        }
    }

    /// What the fit is taken to cost, in operations; see [`Spec::fit_cost`].
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.spec.fit_cost(self.samples.len())
    }
}
