//! The MPI library of the process that this code was loaded into, whichever it is.
//!
//! No library is linked. [`Mpi::get`] looks at run time for Open MPI, MPICH or a library of the standard ABI (MPI 5.0)
//! and finds its functions by name. Handles are words: an address in Open MPI, a number of 32 bits in MPICH, either in
//! the standard ABI. What else differs is in one module for each. Deciding what to do with a call is not done here.
//!
//! Assumes Linux on x86-64 or AArch64, where a call passes each argument, integer or address, as one machine word.
#![warn(unreachable_pub)]

mod call;
mod datatype;
mod export;
mod fortran;
mod invoke;
mod library;
mod mpich;
mod names;
mod open_mpi;
mod standard;
mod symbol;
pub mod table;

pub use call::{Failed, Request, Status};
pub use datatype::{Datatype, Kind, Op};
pub use export::{IndirectExport, make_indirect};
pub use invoke::{Invoke, invoke};
pub use library::{Constants, Handle, Library, Mpi};
pub use names::{Name, names};
pub use symbol::{Function, any, next};
