//! Common parts of programs under MPI: their session, the head of their results and the results themselves, calibrated
//! work, launchers.
//!
//! Each measurement is a crate built on this one, and says by [`Measurement`] how its results are shown. All calls to
//! MPI are behind the feature `mpi`; results, launchers and calibrated work are not.
//!
//! Floor 3: reads the clock and the host, and writes result files. It does not print: it returns text and pictures.
#![warn(unreachable_pub)]

mod document;
mod ending;
mod header;
mod launcher;
mod measurement;
mod neighbour;
mod outcome;
mod presence;
mod survey;
mod work;

#[cfg(feature = "mpi")]
mod offset;
#[cfg(feature = "mpi")]
mod session;

pub use document::{Document, Section};
pub use ending::Ending;
pub use header::{Header, Offset, Placement, allowed_cpus, available_bytes, host_name};
pub use launcher::{Flavour, LAUNCHER_VARIABLE, Launcher, LauncherError, Placing};
pub use measurement::Measurement;
pub use neighbour::{Neighbour, Neighbours};
pub use outcome::{MalformedRecord, Outcome, OutcomeError, Writer};
pub use presence::{AWAY_RATIO_MAX, Presence};
#[cfg(feature = "mpi")]
pub use session::{Session, broadcast, gather, library, n_ranks_of, rank_of};
pub use survey::ClockQuality;
pub use work::{Calibration, turn};
