//! Fits that are made elsewhere: handed out when they are due, and taken back when they are done.

use crate::effort::Cancel;
use crate::fit::{FitError, attempt};
use crate::model::Model;
use crate::outlook::periods_of;
use crate::spec::Spec;

/// A fit that is due, with the samples that it needs.
#[derive(Clone, Debug)]
pub struct Task {
    pub(crate) spec: Spec,
    pub(crate) samples: Vec<f64>,
    pub(crate) ticket: Ticket,
    /// Range of values that the quantity can have.
    pub(crate) range: (f64, f64),
    /// Limit on the cost of the fit, in operations.
    pub(crate) limit: u64,
}

/// Result of a [`Task`], for the `install` of the [`Live`](crate::Live) or [`Predictor`](crate::Predictor) that it is
/// from.
#[derive(Clone, Debug)]
pub struct Done {
    pub(crate) spec: Spec,
    pub(crate) result: Result<Model, FitError>,
    pub(crate) ticket: Ticket,
}

/// Identity of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Index of one of a predictor's models; [`Ticket::WHOLE`] for the model of a series.
    pub(crate) model_idx: usize,
    /// The step, or sample, that the fit comes after.
    pub(crate) clock: u64,
}

impl Ticket {
    /// Index in place of one of the models of a predictor.
    pub(crate) const WHOLE: usize = usize::MAX;

    /// The model of a season that is looked for first.
    pub(crate) const SEASON: usize = usize::MAX - 1;
}

impl Task {
    /// Returns the specification that is to be fitted.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Fits. The same task comes to the same end whenever and wherever it is run.
    #[must_use]
    pub fn run(self) -> Done {
        let result = self.attempt(None);
        Done { spec: self.spec, result, ticket: self.ticket }
    }

    /// Runs the fit as [`Task::run`] does; `None` when `cancel` cancelled it before its end.
    #[must_use]
    pub fn run_unless(self, cancel: &Cancel) -> Option<Done> {
        match self.attempt(Some(cancel)) {
            Err(FitError::Cancelled { .. }) => None,
            result => Some(Done { spec: self.spec, result, ticket: self.ticket }),
        }
    }

    fn attempt(&self, cancel: Option<&Cancel>) -> Result<Model, FitError> {
        let Self { spec, samples, ticket, range, limit } = self;
        if ticket.model_idx != Ticket::SEASON {
            return attempt(spec, samples, *range, *limit, cancel);
        }
        let periods = periods_of(samples).ok_or(FitError::NoSeason { n_samples: samples.len() })?;
        attempt(&Spec::Seasonal { periods }, samples, *range, *limit, cancel)
    }

    /// Returns the cost that the fit is taken to have, in operations; see [`Spec::fit_cost`].
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.spec.fit_cost(self.samples.len())
    }
}
