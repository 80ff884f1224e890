//! Small programs under MPI that live on allreduce, as workloads for whoever measures or changes collectives.
//!
//! - *gsum*: global sums, one after the other. *compute-gsum*: a sum, integer sorting, a sum, and so on (Bongo, Anshus
//!   and Bjørndalen, "Low overhead high performance runtime monitoring of collective communication", ICPP 2005).
//! - *sor*: red-black successive over-relaxation, borders point to point, and an allreduce that tests for convergence.
//! - *noise-allreduce*: work of the same length on all ranks and an allreduce, plain or conditional, in turn.
//!
//! Each checks its sums, and any rank can be made a straggler. A [`Plan`] says what to run, [`run()`] runs it under
//! MPI, and [`Miniapp`] shows the result. [`record`] describes its contents.
#![warn(unreachable_pub)]

mod contribution;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod grid;
mod plan;
mod plot;
pub mod record;
#[cfg(feature = "mpi")]
mod run;
mod table;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod times;

use mpi_run::{MalformedRecord, Measurement, Outcome};
use picture::Picture;

pub use contribution::Changes;
pub use grid::relaxation;
pub use plan::{
    App, Contributions, ConvergenceTest, Data, Length, NoisePlan, Plan, PlanError, SorPlan, Straggler, SumPlan, share,
};
#[cfg(feature = "mpi")]
pub use run::run;

/// The measurement: its name, and how its results look.
#[derive(Clone, Copy, Debug)]
pub struct Miniapp;

impl Measurement for Miniapp {
    fn name(&self) -> &'static str {
        "miniapp"
    }

    fn assumptions(&self) -> &'static [&'static str] {
        &[
            "a call takes from its beginning to its return on the same rank, waiting for late ranks included",
            "the share of communication is that of calls and exchanges in what they and the work take, in the mean over ranks",
        ]
    }

    fn table(&self, outcome: &Outcome) -> Result<String, MalformedRecord> {
        table::table(outcome)
    }

    fn pictures(&self, outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
        plot::pictures(outcome)
    }
}
