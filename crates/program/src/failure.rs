//! Why a program ends before its work is done.

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

/// Why a command ends before its work is done.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Failure {
    /// Whose fault it is.
    pub fault: Fault,
    /// What was being done, the value, and what would be right.
    pub message: String,
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
        Self::work(text::with_causes(&error))
    }

    /// What was asked for makes no sense, with all causes of `error` in one line.
    pub fn usage_of(error: impl Error) -> Self {
        Self::usage(text::with_causes(&error))
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
