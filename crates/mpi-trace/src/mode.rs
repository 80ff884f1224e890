//! The three ways in which a message between two ranks is sent.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The way in which messages between two ranks are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Mode {
    /// `MPI_Send` and `MPI_Recv`, in rounds.
    #[default]
    Blocking,
    /// All `MPI_Irecv` and `MPI_Isend` at once, then the waits.
    NonBlocking,
    /// `MPI_Ssend` and `MPI_Recv`, in rounds.
    Synchronous,
}

/// A name that is not one of a mode.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{given}` is not a mode: blocking, non-blocking, synchronous")]
pub struct UnknownMode {
    /// Name as given.
    pub given: String,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Blocking, Self::NonBlocking, Self::Synchronous];

    /// Returns the name as people write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::NonBlocking => "non-blocking",
            Self::Synchronous => "synchronous",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| UnknownMode { given: text.to_owned() })
    }
}

impl TryFrom<String> for Mode {
    type Error = UnknownMode;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> Self {
        mode.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_reads_back_and_others_are_refused_with_all_there_are() {
        assert!(Mode::ALL.iter().all(|mode| mode.to_string().parse() == Ok(*mode)));
        let told = "rendezvous".parse::<Mode>().unwrap_err().to_string();
        assert!(Mode::ALL.iter().all(|mode| told.contains(mode.name())), "{told}");
    }
}
