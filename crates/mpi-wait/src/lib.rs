//! A library to preload under an MPI program: ranks that wait give up their core, and a page of the host counts how
//! many ranks run.
//!
//! All functions of the table in `mpi-abi` are taken under their names in C and Fortran. A blocking call becomes its
//! non-blocking form and tests, between which the rank yields its core or sleeps; functions of the same language and
//! style are called throughout, so that the library itself reads handles and constants. All else goes to the next
//! function of its name. `docs/formats/mpi-concurrency.md` has the settings and what is left behind.
#![warn(unreachable_pub)]

mod arguments;
mod bell;
mod binding;
mod bytes;
mod call;
mod communicator;
mod exchange;
mod inside;
mod job;
mod members;
mod offer;
mod pause;
mod report;
mod settings;
mod site;
mod start;
mod tally;
mod usage;
mod wake;

#[allow(non_snake_case, reason = "the names are those that programs call")]
mod shim {
    use std::ffi::c_int;

    use mpi_abi::Function;
    use mpi_trace::Operation;

    use crate::call::take;
    use crate::site::{ArgumentPlace, CallEffect, CallSite, CallSpec, CallWay, DataFlow};

    include!(concat!(env!("OUT_DIR"), "/shims.rs"));
}
