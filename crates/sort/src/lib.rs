//! A parallel sort under MPI after SESAME's sesame-sort: deliberately inefficient, so that each of its phases drives
//! one part of the system.
//!
//! Each rank reads its section of one file of random numbers by MPI-IO, sorts it by heap sort, and trades with its
//! neighbours whatever overlaps, until nothing does; then all write their sections to one file. [`run()`] does that
//! under MPI and stamps each change of activity on the monotonic clock of the host, so that the stamps merge with
//! measurements of its kernel; [`records`] describes them as records `sort-summary` and `sort-trace`.
#![warn(unreachable_pub)]

#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod heap;
mod phase;
mod plan;
pub mod records;
#[cfg(feature = "mpi")]
mod run;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod trade;

pub use phase::{Kind, Phase};
pub use plan::{Access, Plan, PlanError};
pub use records::{Sorted, Stamp};
#[cfg(feature = "mpi")]
pub use run::run;
