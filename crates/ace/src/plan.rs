//! What a run is to do: the applications, and how they are measured and predicted.

use std::fmt::Display;

use predict::Spec;
use program::Failure;
use units::Rank;

use crate::allotment::allot;
use crate::application::Applications;
use crate::pattern::Pattern;
use crate::record::Basis;
use crate::sizes::SIZE_BYTES_LIMIT;

/// What is to be run, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The applications.
    pub applications: Applications,
    /// How they are measured and predicted.
    pub method: Method,
    /// Number of the cell, in a sweep.
    pub cell: Option<u32>,
}

/// How applications are measured and predicted.
#[derive(Clone, Debug)]
pub struct Method {
    /// What T_comm is predicted by.
    pub basis: Basis,
    /// Forecasts the coming cycles as the run goes.
    pub forecast_model: Spec,
    /// Of sizes, permutations and intervals.
    pub seed: u64,
    /// How much phase one measures.
    pub effort: Effort,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Batches whose means a span is the median of.
    pub(crate) n_batches: u64,
    /// Exchanges in a batch at least.
    pub(crate) n_batch_min: u64,
    /// Exchanges in a batch at most.
    pub(crate) n_batch_max: u64,
    /// From one size of ping-pong to the next, in powers of two.
    pub(crate) power_step: usize,
}

impl Effort {
    /// So many batches that some disturbed ones do not move their median, and a mean in each that is one of more than hardly anything.
    pub const FULL: Self = Self { n_batches: 15, n_batch_min: 3, n_batch_max: 100, power_step: 1 };
    /// For a first look: whatever disturbs is in the figures.
    pub const QUICK: Self = Self { n_batches: 3, n_batch_min: 1, n_batch_max: 5, power_step: 3 };

    /// How many exchanges of about this span make a batch.
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
