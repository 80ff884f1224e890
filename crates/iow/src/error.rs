//! What keeps a benchmark from being run.

use std::io;
use std::path::PathBuf;

/// Why it cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the benchmark.
    #[error("cannot {doing} `{}`", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that is shorter than what is to be read.
    #[error("`{}` ends at byte {end}, before the operation at byte {at}; write it first, as large", path.display())]
    Short {
        /// The file.
        path: PathBuf,
        /// Where it ends.
        end: u64,
        /// Where it was read.
        at: u64,
    },
    /// A plan that makes no sense.
    #[error("{what} of {value} makes no sense; {right}")]
    Plan {
        /// Which part.
        what: &'static str,
        /// What was asked for.
        value: u64,
        /// What would be right.
        right: &'static str,
    },
}
