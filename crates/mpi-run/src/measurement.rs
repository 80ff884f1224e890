//! Description of a measurement, so that programs and commands treat all measurements alike.

use picture::Picture;

use crate::{MalformedRecord, Outcome};

/// A measurement under MPI: its name, its assumptions, and the form of its results.
pub trait Measurement {
    /// Returns the name, as in the header of its results; its program is `foretop-` and this.
    fn name(&self) -> &'static str;

    /// Returns the assumptions behind its figures, a sentence each.
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
