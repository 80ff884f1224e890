//! One module for each command: its arguments, and what it does with them.

pub mod cost;
pub mod watch;

use std::error::Error;
use std::io;

use mpi_run::Failure;

/// The end of a command that wrote what it had to. A reader that went away had enough.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::work(format!("cannot print: {error}"))),
        _ => Ok(()),
    }
}

/// A measurement that cannot be made: what was asked for, or what the host did not do.
pub fn failed(error: kernel::Error) -> Failure {
    use kernel::Error::{Groups, Malformed, NoSuchSubsystem, Node, Read, WholeHostOnly};
    match error {
        NoSuchSubsystem { .. } | Groups { .. } | Node { .. } | WholeHostOnly { .. } => Failure::usage(error),
        Read { .. } | Malformed { .. } => Failure::of(error),
        error if error.source().is_some() => Failure::of(error),
        error => Failure::work(error),
    }
}
