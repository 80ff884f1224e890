//! Operating system noise: the time that the system takes from parallel programs, and from single cores.
//!
//! - On several ranks, under MPI ([`run()`]) or as threads of one process ([`run_threads`]): work of known length and
//!   an allreduce, repeatedly. An iteration in which any rank is late delays all of them; how many there are, what they
//!   cost and on which hosts they begin is Bongo's Table 14 (thesis of 2007, section 8.2).
//! - On one host ([`run_alone`]): quanta of fixed work and of fixed time (Sottile and Minnich, "Analysis of
//!   Microbenchmarks for Performance Tuning of Clusters", Cluster 2004) on each core. Their detours have a length, a
//!   moment, often a period (`spectrum`, `train`) and sometimes a cause (`cause`, `tracing`).
//! - Noise made on purpose (`injector`) shows whether the measurement can be trusted.
//!
//! No figure goes beyond what the clock can resolve: a detour is longer than the spread of undisturbed quanta and the
//! clock's steps explain.
//!
//! A [`JointPlan`] or [`LocalPlan`] says what to measure, and [`Noise`] shows the result. [`record`] describes its
//! contents.
#![warn(unreachable_pub)]

mod cause;
mod counter;
mod detour;
mod injector;
mod lateness;
mod plan;
mod plot;
mod quanta;
pub mod record;
mod run;
mod spectrum;
mod table;
mod tracing;
mod train;
mod watch;

use mpi_run::{MalformedRecord, Measurement, Outcome};
use picture::Picture;

pub use cause::Cause;
pub use injector::Injected;
pub use plan::{Injection, JointPlan, LocalPlan, Method, PlanError, Work, cpus};
#[cfg(feature = "mpi")]
pub use run::run;
pub use run::{LocalError, run_alone, run_threads, threads};
pub use spectrum::Peak;
pub use train::{Estimate, Train};

/// The measurement: its name, and how its results look.
#[derive(Clone, Copy, Debug)]
pub struct Noise;

impl Measurement for Noise {
    fn name(&self) -> &'static str {
        "noise"
    }

    fn assumptions(&self) -> &'static [&'static str] {
        &[
            "undisturbed work always takes the same time, but for the core's frequency, which moves slowly",
            "a quarter of the quanta of each thousand, at least, are undisturbed",
            "an iteration with a late rank delays all ranks, and what they lose is what they take beyond their medians",
        ]
    }

    fn table(&self, outcome: &Outcome) -> Result<String, MalformedRecord> {
        table::table(outcome)
    }

    fn pictures(&self, outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
        plot::pictures(outcome)
    }
}
