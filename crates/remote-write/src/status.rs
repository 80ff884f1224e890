//! How writing goes: totals since the writer started, and what waits.

use std::collections::BTreeMap;

/// How writing goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Samples that the server took.
    pub n_sent: u64,
    /// Samples that nobody will have.
    pub dropped: Dropped,
    /// Requests that failed and were made again.
    pub n_retries: u64,
    /// Samples in the buffer, those of earlier runs among them.
    pub n_pending: u64,
    /// Bytes that they take there.
    pub pending_bytes: u64,
    /// What went wrong at the last request, with its reasons; `None` when it went well.
    pub problem: Option<String>,
}

/// Samples that were given up, by why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// The buffer was full, and they were the oldest in it.
    pub n_overflowed: u64,
    /// The server would not have them, and said that it never will: by the status that it said so with.
    pub refused: BTreeMap<u16, u64>,
    /// What was in the buffer could not be read.
    pub n_damaged: u64,
}
