//! The reason why a program ends before its work is done.

use std::error::Error;
use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// The kind of fault, which decides the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fault {
    /// The work could not be done: exit status 1.
    Work,
    /// The request makes no sense: exit status 2.
    Usage,
}

/// The reason why a command ends before its work is done.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Failure {
    /// The kind of fault.
    pub fault: Fault,
    /// The work in progress, the value, and what would be right.
    pub message: String,
}

impl Failure {
    /// The work could not be done.
    pub fn work(cause: impl Display) -> Self {
        Self { fault: Fault::Work, message: cause.to_string() }
    }

    /// Makes the failure of a request that makes no sense.
    pub fn usage(cause: impl Display) -> Self {
        Self { fault: Fault::Usage, message: cause.to_string() }
    }

    /// The work could not be done, with all causes of `error` in one line.
    pub fn of(error: impl Error) -> Self {
        Self::work(text::with_causes(&error))
    }

    /// Makes the failure of a request that makes no sense, with all causes of `error` in one line.
    pub fn usage_of(error: impl Error) -> Self {
        Self::usage(text::with_causes(&error))
    }

    /// Returns the exit status for the shell.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self.fault {
            Fault::Work => 1,
            Fault::Usage => 2,
        }
    }
}
