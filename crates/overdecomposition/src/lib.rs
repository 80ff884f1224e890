//! Overdecomposition: more ranks than processors, so that one rank computes while another waits.
//!
//! A sweep runs the same program with 1, 2, 4 … ranks a processor. [`SweepSettings`] plan it, [`record`]s hold its
//! runs, and [`SweepVerdict`] is the ratio that pays, with an interval and with the limits of the gain. Source: L. A.
//! Bongo's thesis (Tromsø 2007), sections 8.2 and 8.3, and its paper on overdecomposition and SMT; "Table 2" and the
//! like are of the latter.
//!
//! Floor 4: no process, no clock, no file. Callers start the runs and pass the texts that ranks wrote.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod advice;
mod choice;
mod cost;
mod phase;
mod plan;
mod plot;
mod profile;
mod published;
pub mod record;
mod report;
mod share;
mod speedup;
mod verdict;
mod wait_file;

use mpi_run::{MalformedRecord, Measurement, Outcome};
use picture::Picture;

pub use advice::{PublishedFinding, SweepAdvice, latency_bound};
pub use choice::{HostWeights, rank_placing, wait_mode};
pub use cost::account;
pub use mpi_trace::{RankPlacing, WaitMode};
pub use phase::PhaseTotals;
pub use plan::{SweepError, SweepSettings, SweepTrial, grid, substituted};
pub use profile::{CommunicationProfile, MessageSize, MessageTraffic};
pub use published::{KERNELS, PublishedKernel};
pub use report::report;
pub use share::shares;
pub use speedup::{Speedup, speedups};
pub use verdict::{GainLimit, Limiter, SweepVerdict};
pub use wait_file::{CallWait, RankWait, WaitFileError};

/// The measurement: its name, and how its results look.
#[derive(Clone, Copy, Debug)]
pub struct Overdecomposition;

impl Measurement for Overdecomposition {
    fn name(&self) -> &'static str {
        "overdecomposition"
    }

    fn assumptions(&self) -> &'static [&'static str] {
        &[
            "the program does the same work with any number of ranks, as far as its answer shows",
            "each round has one run at every ratio, in random order, so that slow drift of the hosts cancels",
            "run time is that from MPI_Init to MPI_Finalize of the longest rank where ranks report it, else the launcher's",
        ]
    }

    fn table(&self, outcome: &Outcome) -> Result<String, MalformedRecord> {
        Ok(report(outcome)?.to_text())
    }

    fn pictures(&self, outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
        plot::pictures(outcome)
    }
}
