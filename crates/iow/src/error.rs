//! Errors that keep a benchmark from being run.

use std::io;
use std::path::PathBuf;

/// The reason why a benchmark cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the benchmark.
    #[error("cannot {doing} `{}`", path.display())]
    File {
        /// The action that failed.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file that is shorter than what is to be read.
    #[error("`{}` ends at byte {end}, before the operation at byte {at}; write it first, as large", path.display())]
    Short {
        /// The file.
        path: PathBuf,
        /// The position at which the file ends.
        end: u64,
        /// The position at which it was read.
        at: u64,
    },
    /// A plan that makes no sense.
    #[error("{what} of {value} makes no sense; {right}")]
    Plan {
        /// The part of the plan.
        what: &'static str,
        /// The value that was asked for.
        value: u64,
        /// The values that would be right.
        right: &'static str,
    },
}
