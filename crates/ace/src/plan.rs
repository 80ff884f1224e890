//! Plan of a run: the applications, and the method of their measurement and prediction.

use std::fmt::Display;

use predict::Spec;
use program::Failure;
use units::Rank;

use crate::allotment::allot;
use crate::application::Applications;
use crate::pattern::Pattern;
use crate::record::Basis;
use crate::sizes::SIZE_BYTES_LIMIT;

/// Plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The applications.
    pub applications: Applications,
    /// Method of measurement and prediction.
    pub method: Method,
    /// Number of the cell, in a sweep.
    pub cell: Option<u32>,
}

/// Method by which applications are measured and predicted.
#[derive(Clone, Debug)]
pub struct Method {
    /// Basis of the predicted T_comm.
    pub basis: Basis,
    /// Forecasts the coming cycles as the run goes.
    pub forecast_model: Spec,
    /// Seed of sizes, permutations and intervals.
    pub seed: u64,
    /// Effort of the measurement in phase one.
    pub effort: Effort,
}

/// Effort of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Batches whose means a span is the median of.
    pub(crate) n_batches: u64,
    /// Exchanges in a batch at least.
    pub(crate) n_batch_min: u64,
    /// Exchanges in a batch at most.
    pub(crate) n_batch_max: u64,
    /// Step from one size of ping-pong to the next, in powers of two.
    pub(crate) power_step: usize,
}

impl Effort {
    /// Full effort: so many batches that some disturbed ones do not move their median, and a mean in each that is one
    /// of more than hardly anything.
    pub const FULL: Self = Self { n_batches: 15, n_batch_min: 3, n_batch_max: 100, power_step: 1 };
    /// Effort for a first look: the figures include all disturbances.
    pub const QUICK: Self = Self { n_batches: 3, n_batch_min: 1, n_batch_max: 5, power_step: 3 };

    /// Returns the number of exchanges of about this span in a batch.
    pub(crate) fn n_batch(self, span_ns: f64, budget_ns: f64) -> u64 {
        ((budget_ns / self.n_batches as f64 / span_ns.max(1.0)) as u64).clamp(self.n_batch_min, self.n_batch_max)
    }
}

impl Plan {
    /// Whether so many ranks can run it, without measuring anything. Hands back each application's ranks.
    ///
    /// # Errors
    /// What does not fit, and what would.
    pub fn check(&self, n_ranks: u32) -> Result<Vec<Vec<Rank>>, Failure> {
        let Self { applications, method, .. } = self;
        applications.check().map_err(Failure::usage)?;
        let allotted = allot(applications, n_ranks).map_err(Failure::usage)?;
        for (application, ranks) in applications.applications.iter().zip(&allotted) {
            let named = |cause: &dyn Display| Failure::usage(format!("application `{}`: {cause}", application.name));
            application.pattern.check(application.mode, ranks.len() as u32).map_err(|cause| named(&cause))?;
            let sizes = application.size.draw(method.seed).map_err(|cause| named(&cause))?;
            let size_max = sizes.into_iter().max().unwrap_or(0);
            check_counts(application.pattern, ranks.len() as u32, size_max).map_err(|cause| named(&cause))?;
        }
        Ok(allotted)
    }
}

/// Whether MPI can count what the ranks of a collective hold together.
///
/// # Errors
/// When it cannot, with the largest message that it can.
fn check_counts(pattern: Pattern, n_ranks: u32, size_max: u64) -> Result<(), Failure> {
    let all = size_max.saturating_mul(u64::from(n_ranks));
    if !pattern.is_collective() || pattern == Pattern::Allreduce || all < SIZE_BYTES_LIMIT {
        return Ok(());
    }
    let most = (SIZE_BYTES_LIMIT - 1) / u64::from(n_ranks);
    Err(Failure::usage(format!(
        "{pattern} of {size_max} bytes among {n_ranks} ranks needs a buffer of {all} bytes, and MPI counts them with 32 bits; the limit is {most} bytes"
    )))
}
