//! One module for each command: its arguments, and what it does with them.

pub mod agent;
pub mod control;
pub mod cost;
pub mod files;
pub mod receive;
pub mod record;
pub mod status;
pub mod study;
pub mod watch;

use std::error::Error;

use program::Failure;

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
