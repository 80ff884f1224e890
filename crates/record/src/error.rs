//! Errors in a file of records.

use std::io;

/// The reason why a file cannot be read or written on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The reader that was given.
    #[error("cannot read the records")]
    Read(#[source] io::Error),
    /// The writer that was given.
    #[error("cannot write the records")]
    Write(#[source] io::Error),
    /// Another kind of file.
    #[error("this is no file of records: it begins with neither `FTREC` nor `SDDFA`")]
    Foreign,
    /// SDDF in binary.
    #[error("this is SDDF in binary, of whose layout no description is at hand; convert it to ASCII first")]
    BinarySddf,
    /// The own format, but a later one.
    #[error(
        "this file has version {found} of the format, and this program reads version {known}; read it with a later one"
    )]
    Version {
        /// The version in the file.
        found: u8,
        /// Known here.
        known: u8,
    },
    /// It ends before its end.
    #[error("the file is cut: it ends at byte {offset}, within a block; what is before it is whole")]
    Cut {
        /// The position at which the file ends.
        offset: u64,
    },
    /// It ends between two blocks, without saying so.
    #[error("the file ends at byte {offset} without its last block: whoever wrote it did not come to the end")]
    Unfinished {
        /// The position at which the file ends.
        offset: u64,
    },
    /// A block that does not hold what it says.
    #[error("the block at byte {offset} is damaged: {what}")]
    Damaged {
        /// The position at which the block begins.
        offset: u64,
        /// The fault of the block.
        what: &'static str,
    },
    /// More than a block may hold.
    #[error(
        "a type, record or attribute of {n_bytes} bytes is longer than the {most} that the format allows; cut its arrays"
    )]
    TooLong {
        /// The length in bytes.
        n_bytes: u64,
        /// The longest permitted length.
        most: u32,
    },
    /// A type that cannot be told from another, or a field.
    #[error("the {what} `{name}` is described twice")]
    Twice {
        /// Type or field.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// More types than are ever meant.
    #[error("a file has no more than {most} types of records")]
    TooManyTypes {
        /// So many there may be.
        most: usize,
    },
    /// A text that is no SDDF.
    #[error("line {line}: {what}")]
    Sddf {
        /// The number of the line, from 1.
        line: u64,
        /// The fault.
        what: String,
    },
    /// Values that do not suit their type.
    #[error("a record `{record}` does not suit its type: {what}")]
    Unsuited {
        /// The type.
        record: String,
        /// The fault.
        what: String,
    },
}
