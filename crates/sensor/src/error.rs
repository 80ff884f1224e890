//! Errors on opening a host and on reading one of its files.

use std::{io, path::PathBuf};

/// The reason why a host cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no `proc` directory under the root.
    #[error("`{}` is not a directory: the root of a host has its kernel's files under `proc`", path.display())]
    NoProc {
        /// The place where the directory was looked for.
        path: PathBuf,
    },
}

/// The reason why a file gave no readings at one tick.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is longer than any that the kernel writes.
    #[error("`{}` is longer than {limit_bytes} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The greatest length.
        limit_bytes: u64,
    },
    /// The file says something else than it should.
    #[error("`{}` cannot be understood: needs {needed}, says `{given}`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The content that would be right.
        needed: &'static str,
        /// The line in question, or its beginning.
        given: String,
    },
    /// The process that probes for CPU availability could not be started, or ended before its time.
    #[error("cannot probe what share of the CPU a process gets")]
    Probe {
        /// The system's error.
        source: io::Error,
    },
}

/// The reason why signals are not offered by this host. Its text is the reason in [`Absent`](crate::Absent).
#[derive(Debug, thiserror::Error)]
pub(crate) enum Absence {
    #[error("the kernel has no `/{file}`")]
    NoFile { file: &'static str },
    #[error("`/{file}` may not be read by this user")]
    Denied { file: &'static str },
    #[error("`/{file}` is not supported by this kernel")]
    Unsupported { file: &'static str },
    #[error("the kernel has pressure stall information off")]
    PressureOff,
    #[error("the kernel does not account for time in interrupts")]
    NoInterruptTime,
    #[error("the kernel is built without swap")]
    NoSwap,
    #[error("this process is in no control group that this host counts")]
    NoCgroup,
    #[error("this process is in no container: its control group is the root of the host")]
    RootCgroup,
    #[error("the kernel does not count memory by control group where this process is")]
    NoMemoryCgroup,
    #[error("the control group of this process, `{path}`, is not among those that it can see")]
    UnseenCgroup { path: String },
}
