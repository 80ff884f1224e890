//! ACE, application communication emulation: what messages cost, how long applications should take as a result, and
//! how long they do.
//!
//! After Evans and Hood, "Application Communication Emulation for Performance Management of NOW Clusters". Phase one
//! measures what messages cost. Phase two runs emulated applications that compute and exchange messages in cycles.
//! Phase one predicts how long they should take; any excess is due to the network or the machine.
//!
//! A [`Plan`] says what to run, [`run()`] runs it under MPI, [`Ace`] shows the result, [`compare`] compares two, and
//! [`fit()`] makes an application from a recorded run. [`record`] describes the contents of a result.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod allotment;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod anomaly;
mod application;
#[cfg(feature = "mpi")]
mod benchmark;
mod comparison;
mod cycle_forecast;
#[cfg(feature = "mpi")]
mod emulation;
#[cfg(feature = "mpi")]
mod exchange;
mod fit;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod meter;
mod pattern;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod plan;
mod plot;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod prediction;
pub mod record;
#[cfg(feature = "mpi")]
mod run;
mod sizes;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod sweep;
mod table;

use mpi_run::{MalformedRecord, Measurement, Outcome};
use picture::Picture;

pub use application::{Application, ApplicationError, Applications, Load, Placement, Span};
pub use comparison::{Change, Comparison, ComparisonError, CyclePart, Figure, Subject, compare};
pub use cycle_forecast::CycleForecast;
pub use fit::{FitError, Fitted, PatternEvidence, fit};
pub use pattern::{Direction, Pattern, PatternError, Rounds, Step};
pub use plan::{Effort, Method, Plan};
#[cfg(feature = "mpi")]
pub use run::run;
pub use sizes::{Sizes, SizesError};
pub use sweep::Sweep;

/// The measurement: its name, and how its results look.
#[derive(Clone, Copy, Debug)]
pub struct Ace;

impl Measurement for Ace {
    fn name(&self) -> &'static str {
        "ace"
    }

    fn assumptions(&self) -> &'static [&'static str] {
        &[
            "each application was benchmarked by itself: what applications do to each other is part of the error",
            "T_comp is the same in all cycles; with sizes that differ it is made from the mean T_comm",
            "ping-pong is between the first two ranks of each application",
            "T_comm is the exchange on the rank that takes longest; ranks that are through earlier wait at the next barrier",
        ]
    }

    fn table(&self, outcome: &Outcome) -> Result<String, MalformedRecord> {
        table::table(outcome)
    }

    fn pictures(&self, outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
        plot::pictures(outcome)
    }
}
