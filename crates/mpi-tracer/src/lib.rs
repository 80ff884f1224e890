//! A library to preload under an MPI program: each call of each rank becomes a record of 24 bytes in a ring that others
//! can read while the program runs, and a file at its end.
//!
//! All functions of the table in `mpi-abi` are taken under their names in C and Fortran. Each shim notes the time,
//! calls the next function of its name, notes the time again and writes the record. On the way there is no lock, no
//! allocation, no system call and no call of MPI, once the size of a type and the number of a communicator are known.
//! A failure turns the tracer off, and the program goes on.
//!
//! `docs/howto/mpi-trace.md` says how to use it.
#![warn(unreachable_pub)]

mod arguments;
mod beside;
mod call;
mod communicator;
mod event;
mod job;
mod offset;
mod output;
mod site;
mod switch;
mod thread;

#[allow(non_snake_case, reason = "the names are those that programs call")]
mod shim {
    use std::ffi::c_int;

    use mpi_abi::Function;
    use mpi_trace::Operation;

    use crate::call::{call, call_apart};
    use crate::site::{Layout, Place, Spec, Style};

    include!(concat!(env!("OUT_DIR"), "/shims.rs"));
}
