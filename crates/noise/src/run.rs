//! The two ways of a run: all ranks together, or this host alone.

mod local;
#[cfg(feature = "mpi")]
mod together;

pub use local::{LocalError, run_alone};
#[cfg(feature = "mpi")]
pub use together::run;
