//! A result as people see it, whichever program made it.

use picture::Picture;

use crate::outcome::{MalformedRecord, Outcome};
use crate::{ace, comb, noise};

/// Why a result cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PresentationError {
    /// Made by a program that is not known here.
    #[error("this is a result of `{program}`, and those of ace, comb and noise are known here")]
    Program {
        /// As its header says.
        program: String,
    },
    /// Not what that program writes.
    #[error(transparent)]
    Record(#[from] MalformedRecord),
}

/// The text that the program printed in the end.
///
/// # Errors
/// [`PresentationError`] when the result is of no known program, or not of its form.
pub fn table(outcome: &Outcome) -> Result<String, PresentationError> {
    match outcome.header.program.as_str() {
        "ace" => Ok(ace::table::table(outcome)?),
        "comb" => Ok(comb::table(outcome)?),
        "noise" => Ok(noise::table(outcome)?),
        other => Err(PresentationError::Program { program: other.to_owned() }),
    }
}

/// The plots of a result, each with a name for its file.
///
/// # Errors
/// [`PresentationError`] when the result is of no known program, or not of its form.
pub fn pictures(outcome: &Outcome) -> Result<Vec<(String, Picture)>, PresentationError> {
    match outcome.header.program.as_str() {
        "ace" => Ok(ace::plot::pictures(outcome)?),
        "comb" => Ok(comb::pictures(outcome)?),
        "noise" => Ok(noise::pictures(outcome)?),
        other => Err(PresentationError::Program { program: other.to_owned() }),
    }
}
