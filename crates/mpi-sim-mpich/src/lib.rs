//! The `libmpich.so.12` that a simulated program is given: each call of MPICH becomes the same call of the Open MPI
//! that runs the ranks.
//!
//! Handles are numbers of 32 bits here and addresses there; constants, statuses and error codes differ, and callbacks
//! are called with Open MPI's. What each argument of each call is stands in `calls.txt` of `mpi-sim-component`, from
//! which the entries are made. Fortran and C++ programs keep MPICH's own bindings, which call the functions of C.
//! `docs/decisions/open-mpi-is-the-front.md` says why Open MPI runs the ranks.

mod binding;
mod call;
mod callback;
mod handle;
mod kept;
mod number;
mod open_mpi;
mod own;
mod status;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the entries are for x86-64");
