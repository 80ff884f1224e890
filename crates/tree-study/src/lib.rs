//! A study of the trees of collectives: how much their shape matters, where the time goes in them, and what watching
//! them costs.
//!
//! It remakes the measurements of two papers by Bongo, Anshus and Bjørndalen: "Collective communication performance
//! analysis within the communication system" (P1, Euro-Par 2004), and "Low overhead high performance runtime monitoring
//! of collective communication" (P2, ICPP 2005). [`Settings::trials`] says what to run; whoever runs it writes
//! [`record`]s; [`report()`] and [`TreeStudy`] show them beside the papers' figures.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod configuration;
mod count;
mod plan;
mod plot;
pub mod record;
mod report;
mod table;

use mpi_run::{MalformedRecord, Measurement, Outcome};
use picture::Picture;

pub use configuration::{FIRST, configurations};
pub use plan::{
    Gate, Kind, Monitor, Pair, Settings, SettingsError, Subject, Topology, Trial, WATCHED, WATCHED_BYTES, Way, Workload,
};
pub use report::report;

/// The study as a measurement: its name, and how its results look.
#[derive(Clone, Copy, Debug)]
pub struct TreeStudy;

impl Measurement for TreeStudy {
    fn name(&self) -> &'static str {
        "trees"
    }

    fn assumptions(&self) -> &'static [&'static str] {
        &[
            "a call takes the time from a barrier to the last call's return on rank 0, by the number of calls",
            "an overhead is how much longer a call takes in a stretch of a run than in the one right before or after it that is the same but for one thing",
        ]
    }

    fn table(&self, outcome: &Outcome) -> Result<String, MalformedRecord> {
        Ok(report(outcome)?.to_text())
    }

    fn pictures(&self, outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
        plot::pictures(outcome)
    }
}
