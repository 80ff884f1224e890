//! Records of an application's communication: which rank called what, when, and with whom.
//!
//! The format is in `docs/formats/communication-trace.md`. A [`Trace`] is read from any [`BufRead`](std::io::BufRead),
//! with limits on everything. Modelling the application is not done here.
//!
//! Floor 1: opens no file and reads no clock.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod call;
mod concurrency;
mod drain;
mod export;
pub mod file;
mod flow;
mod line;
mod matching;
mod mode;
mod operation;
mod reader;
mod record;
mod recording;
mod ring;
mod timeline;

use units::Rank;

pub use call::{Call, Collective, UnknownCall};
pub use concurrency::{
    CollectiveCall, Concurrency, ConcurrencyError, ConcurrencyHeader, ConcurrencyPage, ConcurrencyRank,
    N_HOST_RANKS_MAX, RankPlacing, WaitKind, WaitMode, WaitState, n_concurrency_words,
};
pub use drain::{Assembly, Drain};
pub use export::{write_csv, write_json, write_perfetto};
pub use flow::Flow;
pub use line::{Alignment, Line};
pub use matching::{Matching, Meeting, Message, Waits};
pub use mode::{Mode, UnknownMode};
pub use operation::{Family, Operation};
pub use reader::{LineFault, TraceError};
pub use record::{Event, N_RECORD_WORDS, Peer, Record, Records, Subject};
pub use recording::{Fault, N_EVENTS_MAX, Recorded, Recording, merge};
pub use ring::{
    CAPACITY_MAX, Cursor, Level, N_HEADER_WORDS, N_MASKED, Reading, Ring, RingError, RingHeader, RingKind, RingMemory,
    Writer, check_capacity, n_words,
};
pub use timeline::{Placed, Timeline, Usage};

/// Greatest number of ranks of a trace: a matrix of all pairs of them is still at hand.
pub const N_RANKS_MAX: u32 = 4_096;
/// Greatest number of rows of a trace; half a gigabyte in memory.
pub const N_ROWS_MAX: usize = 10_000_000;

/// Calls of all ranks, by rank and then by start.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    calls: Vec<Row>,
    n_ranks: u32,
}

/// One call of one rank. Times are in nanoseconds of that rank's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Rank that called.
    pub rank: Rank,
    /// Time of the call.
    pub start_ns: u64,
    /// Time at which it returned; not before it began.
    pub end_ns: u64,
    /// The call.
    pub call: Call,
    /// Rank that it was with, as the format defines it.
    pub peer: Option<Rank>,
    /// Bytes of one message.
    pub size_bytes: u64,
}

impl Trace {
    /// Builds the trace of calls in any order. Ranks are counted up to the highest that called or was called.
    #[must_use]
    pub fn of(mut calls: Vec<Row>) -> Self {
        calls.sort_by_key(|row| (row.rank, row.start_ns, row.end_ns));
        let highest = calls.iter().map(|row| row.rank.max(row.peer.unwrap_or(0))).max();
        Self { calls, n_ranks: highest.map_or(0, |highest| highest + 1) }
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn n_ranks(&self) -> u32 {
        self.n_ranks
    }

    /// Returns all calls, by rank and then by start.
    #[must_use]
    pub fn calls(&self) -> &[Row] {
        &self.calls
    }

    /// Returns each rank's calls; ranks that made none are left out.
    pub fn by_rank(&self) -> impl Iterator<Item = &[Row]> {
        self.calls.chunk_by(|a, b| a.rank == b.rank)
    }
}
