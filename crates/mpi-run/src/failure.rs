//! How a run under MPI ends before its time: on all ranks alike, and said by one of them.

use std::error::Error;
use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// Whose fault it is, and so the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fault {
    /// The work could not be done: exit status 1.
    Work,
    /// What was asked for makes no sense: exit status 2.
    Usage,
}

/// Why a run ends. It reaches all ranks through `Session::agree`.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Failure {
    /// Whose fault it is.
    pub fault: Fault,
    /// What was being done, the value, and what would be right.
    pub message: String,
}

/// How a run ends on each of its ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Why, the same on all ranks.
    pub failure: Failure,
    /// Whether this is the rank that says so.
    pub is_mine_to_tell: bool,
}

impl Failure {
    /// The work could not be done.
    pub fn work(cause: impl Display) -> Self {
        Self { fault: Fault::Work, message: cause.to_string() }
    }

    /// What was asked for makes no sense.
    pub fn usage(cause: impl Display) -> Self {
        Self { fault: Fault::Usage, message: cause.to_string() }
    }

    /// The work could not be done, with all causes of `error` in one line.
    pub fn of(error: impl Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            message += &format!(": {next}");
            cause = next.source();
        }
        Self { fault: Fault::Work, message }
    }

    /// For the shell.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self.fault {
            Fault::Work => 1,
            Fault::Usage => 2,
        }
    }
}
