//! Self-describing measurement files: records whose types say what their fields are, in which unit, and what they mean.
//!
//! A [`Writer`] of the own format and [`sddf::Writer`] take the same types and values, and [`Reader`] and
//! [`sddf::Reader`] give them back: an [`Item`] after the other, each type before the first of its records. They work
//! on readers and writers that they are given.
//!
//! Floor 1: no files of its own, no clock. Formats: `docs/formats/record.md`.
#![forbid(unsafe_code)]

mod error;
pub mod info;
mod output;
mod own;
pub mod sddf;
mod shape;

pub use error::Error;
pub use output::{Format, Output};
pub use own::{MAGIC, Reader, Writer};
pub use shape::{Field, Item, Kind, RecordType, Value};

/// Anything that gives items: a file in one of the formats.
pub type Items<'a> = Box<dyn Iterator<Item = Result<Item, Error>> + 'a>;

/// Reads whichever format the input begins with.
///
/// # Errors
/// Where it begins like neither, or like SDDF in binary.
pub fn read<'a>(mut input: impl std::io::BufRead + 'a) -> Result<Items<'a>, Error> {
    let start = input.fill_buf().map_err(Error::Read)?;
    if start.starts_with(b"SDDF") {
        return Ok(Box::new(sddf::Reader::new(input)?));
    }
    Ok(Box::new(Reader::new(input)?))
}
