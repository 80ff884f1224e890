//! What every measurement says of itself, so that programs and commands treat all of them alike.

use picture::Picture;

use crate::{MalformedRecord, Outcome};

/// A measurement under MPI: what it is called, what it takes for granted, and how its results look.
pub trait Measurement {
    /// As in the header of its results; its program is `foretop-` and this.
    fn name(&self) -> &'static str;

    /// What its figures take for granted, a sentence each.
    fn assumptions(&self) -> &'static [&'static str];

    /// A result as text for people: what the program prints in the end.
    ///
    /// # Errors
    /// The record that is not what its kind says.
    fn table(&self, outcome: &Outcome) -> Result<String, MalformedRecord>;

    /// The plots of a result, each with a name that a file can have.
    ///
    /// # Errors
    /// The record that is not what its kind says.
    fn pictures(&self, outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord>;
}
