//! One module for each command: its arguments, and what it does with them.

pub mod agent;
pub mod control;
pub mod cost;
pub mod files;
pub mod record;
pub mod status;
pub mod watch;

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mpi_run::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};

/// The end of a command that wrote what it had to. A reader that went away had enough.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::work(format!("cannot print: {error}"))),
        _ => Ok(()),
    }
}

/// A measurement that cannot be made: what was asked for, or what the host did not do.
pub fn failed(error: kernel::Error) -> Failure {
    use kernel::Error::{
        AgentRefused, Groups, Malformed, NoSuchNode, NoSuchPoint, NoSuchSubsystem, Node, Read, Record, Setting,
        WholeHostOnly,
    };
    match error {
        NoSuchSubsystem { .. }
        | Groups { .. }
        | Node { .. }
        | WholeHostOnly { .. }
        | NoSuchNode { .. }
        | NoSuchPoint { .. }
        | Setting { .. } => Failure::usage(error),
        AgentRefused { .. } => Failure::work(error),
        Read { .. } | Malformed { .. } => Failure::of(error),
        Record(error) => Failure::of(error),
        error if error.source().is_some() => Failure::of(error),
        error => Failure::work(error),
    }
}

/// Set once somebody asks this program to end.
pub fn interrupted() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&flag))
            .map_err(|error| Failure::work(format!("cannot wait for signals: {error}")))?;
    }
    Ok(flag)
}
