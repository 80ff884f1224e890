//! The folder of a running MPI job on one host: rings and segments that its processes share, what they say about
//! themselves, and what dead jobs left behind.
//!
//! A [`Folder`] lies in memory, as a rule below [`root`]. What is in it: `calls-RANK-THREAD.ring` and
//! `stages-RANK-THREAD.ring` ([`mpi_trace::Ring`]), segments of the collectives, and `rank-RANK.jsonl` with a
//! definition a line, `docs/formats/mpi-ring.md`.
//!
//! Floor 3: files and shared memory. It knows no MPI.
#![warn(unreachable_pub)]

mod concurrency;
mod filing;
mod folder;
mod jobs;
mod kernel;
mod process;
mod recordings;
mod ring_file;
mod ring_reader;
mod segment;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mpi_trace::{ConcurrencyError, RingError};

pub use concurrency::ConcurrencyFile;
pub use filing::{Filing, Sidecar, file_name};
pub use folder::Folder;
pub use jobs::Jobs;
pub use kernel::kernel_of;
pub use process::Process;
pub use recordings::{ReadError, read};
pub use ring_file::{RingFile, ring_capacity};
pub use ring_reader::RingReader;
pub use segment::{Access, Segment};

/// Directory in which each user has a folder of jobs, in memory: `foretop-UID`.
pub const MEMORY: &str = "/dev/shm";
const PREFIX: &str = "foretop-";
/// Longest part of a host's name in that of a folder, in bytes.
const HOST_BYTES_MAX: usize = 60;

/// Reasons why a job's folder, or something in it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The system, or somebody who was there first.
    #[error("cannot {doing} `{}`", path.display())]
    File {
        /// Open, map and so on.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file with the name of a ring.
    #[error("`{}` is not a ring of this version", path.display())]
    Ring {
        /// The path.
        path: PathBuf,
        /// The fault of the ring.
        source: RingError,
    },
    /// A file with the name of a host's page.
    #[error("`{}` is not a page of this version", path.display())]
    Concurrency {
        /// The path.
        path: PathBuf,
        /// The fault of the page.
        source: ConcurrencyError,
    },
}

impl JobError {
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { doing, path: path.to_owned(), source }
    }
}

/// Returns the directory of the folders of this user's jobs, in memory: `/dev/shm/foretop-UID`.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(MEMORY).join(format!("{PREFIX}{}", rustix::process::geteuid().as_raw()))
}

/// Returns this host's own name.
#[must_use]
pub fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".to_owned() } else { name.trim().to_owned() }
}

/// Returns the FNV-1a hash of words, which is the same in all processes.
pub fn fnv_1a(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3))
}

/// The name of a job's folder below [`root`]: of the host and the process of its rank 0.
#[must_use]
pub fn job_name(host: &str, pid: u32) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
    let host: String = host.chars().filter(is_plain).take(HOST_BYTES_MAX).collect();
    format!("{}-{pid:x}", host.to_ascii_lowercase())
}

/// Returns the path that somebody named: the name is a path, or else that of a job below [`root`].
#[must_use]
pub fn find(given: &Path) -> PathBuf {
    let job = root().join(given);
    if !given.exists() && given.components().count() == 1 && job.exists() { job } else { given.to_owned() }
}
