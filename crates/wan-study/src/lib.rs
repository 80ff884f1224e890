//! A study of collectives over sites, and of the emulator that they are measured on.
//!
//! It remakes the measurements of a paper and a report in L. A. Bongo's dissertation (Tromsø, 2007): conditional
//! allreduce (paper 3, called P3 here), and the WAN emulator Longcut. [`Settings::trials`] says what to run; whoever
//! runs it writes [`record`]s; [`report()`] and [`WanStudy`] show them beside the published figures.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod noise;
mod plan;
mod plot;
pub mod record;
mod relaxation;
mod report;
mod site;

use mpi_run::{MalformedRecord, Measurement, Outcome};
use picture::Picture;

pub use plan::{Case, DATA_SETS, EPSILON, Joined, Settings, Trial};
pub use report::report;
pub use site::{CLUSTERS, Cluster, Links, Topology};

/// The study as a measurement: its name, and how its results look.
#[derive(Clone, Copy, Debug)]
pub struct WanStudy;

impl Measurement for WanStudy {
    fn name(&self) -> &'static str {
        "wan"
    }

    fn assumptions(&self) -> &'static [&'static str] {
        &[
            "sites are on one machine, and messages of collectives between them are delayed as links say",
            "an iteration takes the time from a barrier to the last call's return on rank 0, by the number of iterations",
        ]
    }

    fn table(&self, outcome: &Outcome) -> Result<String, MalformedRecord> {
        Ok(report(outcome)?.to_text())
    }

    fn pictures(&self, outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
        plot::pictures(outcome)
    }
}
