//! Status of writing: totals since the writer started, and samples that wait.

use std::collections::BTreeMap;

/// Status of writing.
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
    /// Bytes of these samples in the buffer.
    pub pending_bytes: u64,
    /// Error of the last request, with its reasons; `None` if the request succeeded.
    pub problem: Option<String>,
}

/// Samples that were given up, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Samples that were the oldest in a full buffer.
    pub n_overflowed: u64,
    /// Samples that the server refused for good, by the status of its answer.
    pub refused: BTreeMap<u16, u64>,
    /// Samples in the buffer that could not be read.
    pub n_damaged: u64,
}
