//! Errors: of the settings, of the buffer, of one request.

use std::io;
use std::path::PathBuf;

use http_client::{LoginError, RequestError};

/// Settings that cannot be met. Each message names what could.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The name to log in with.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// The length of a batch.
    #[error("a batch of {given} samples is out of range: it must be 1 to {max}")]
    BatchSamples {
        /// The length that was given.
        given: usize,
        /// The greatest length.
        max: usize,
    },
    /// The length of the buffer.
    #[error("a buffer of {given} bytes is too small: the minimum is {min}")]
    BufferTooSmall {
        /// The length that was given.
        given: u64,
        /// The least length.
        min: u64,
    },
    /// A length of time that is none.
    #[error("`{setting}` must be longer than 0")]
    NoTime {
        /// Name of the setting.
        setting: &'static str,
    },
    /// A header that cannot be sent, or that is set already.
    #[error(
        "`{}` cannot be an extra header: it needs a name and a value of visible characters, and some names are reserved",
        name.escape_debug()
    )]
    Header {
        /// Its name.
        name: String,
    },
}

/// The reason why the buffer cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BufferError {
    /// Its file cannot be made, or is none of ours.
    #[error("cannot open the buffer `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// SQLite cannot do what it should.
    #[error("cannot {action} the buffer `{}`", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
    /// The file is something else, or of a version that is not known.
    #[error("`{}` is not a buffer of this version: move it away, and a new one is created", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The system has no thread left.
    #[error("cannot start the thread that sends to `{address}`")]
    NoThread {
        /// The server.
        address: String,
        /// Error of the system.
        source: io::Error,
    },
}

/// The reason why a request did not do what it was to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There was no answer, or not all of one, or it was no HTTP.
    #[error("cannot write to `{address}`")]
    Unreachable {
        /// The server.
        address: String,
        /// Error of the HTTP client.
        source: RequestError,
    },
    /// The server cannot take it at this moment, or is not what takes it.
    #[error("`{address}` answers with status {status}: needs 200 or 204{}", said(text))]
    Unavailable {
        /// The server.
        address: String,
        /// The status of HTTP.
        status: u16,
        /// The beginning of the server's message.
        text: String,
    },
    /// The server will never take it.
    #[error("`{address}` refuses {n_samples} samples with status {status}{}", said(text))]
    Refused {
        /// The server.
        address: String,
        /// The status of HTTP.
        status: u16,
        /// Number of samples.
        n_samples: u64,
        /// The beginning of the server's message.
        text: String,
    },
    /// Nobody can be logged in.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// The chunks to be sent cannot be read.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

fn said(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(", and says: {text}") }
}
