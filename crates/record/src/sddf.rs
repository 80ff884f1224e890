//! SDDF in ASCII, the Self-Defining Data Format of the Pablo project, as other open tools write it.
//!
//! `int`, `short`, `char` and `long` scalars are integers here, `float` and `double` are reals, a `char` array is text.
//! Integers are written as `long`, of 64 bits: an `int` could not hold nanoseconds. Units and meanings travel as
//! attributes of fields. SDDF in binary is not read: no description of its layout is at hand.

mod read;
mod token;
mod write;

pub use read::Reader;
pub use write::Writer;
