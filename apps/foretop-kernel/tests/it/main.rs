//! The program as it is typed.

mod agent;
mod files;
mod iow;
mod mpi;
mod receive;
mod refusals;
mod root;
mod study;

use std::process::{Command, Output};

/// The program with these arguments.
fn kernel(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foretop-kernel")).args(arguments).output().unwrap()
}
