//! The JSON of a trace file: its head, and notes between its events.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::Rank;

use crate::{Reading, RingHeader, RingKind};

/// Head of a trace file: the rank that recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Version of the format: [`VERSION`](super::VERSION).
    #[serde(rename = "foretop_trace")]
    pub version: u32,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: Rank,
    /// Number of ranks in `MPI_COMM_WORLD`.
    pub n_ranks: u32,
    /// Host where the process ran.
    pub host: String,
    /// Number of the process there.
    pub pid: u32,
    /// Name of the program, as it was called.
    pub program: String,
    /// The MPI library, as it calls itself.
    pub library: String,
}

/// Information besides events. Notes of a job are in `rank-<rank>.jsonl` too, one a line after the [`Head`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Note {
    /// The head of another rank, whose parts follow: in files that were merged.
    Head(Head),
    /// A ring whose events follow.
    Ring(RingNote),
    /// A later moment on both clocks.
    Moment(Moment),
    /// A communicator that events name.
    Communicator(Communicator),
    /// The offset of this host's clock from that of rank 0's.
    Offset(Offset),
    /// A tree that stages name.
    Tree(TreeNote),
    /// The kernel's counters at some moment.
    Kernel(KernelNote),
}

/// A ring that this file holds events of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingNote {
    /// Its number in this file.
    pub ring: u32,
    /// Kind of its records.
    pub kind: RingKind,
    /// Number of the process's thread that wrote it.
    pub thread: u32,
    /// Clock that it is stamped with.
    pub clock: Clock,
    /// A moment by that clock.
    pub ticks: u64,
    /// The same moment by the host's monotonic clock.
    pub monotonic_ns: u64,
    /// Hash of the tree that its collectors belong to.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "hex_option")]
    pub tree: Option<u64>,
}

/// Clock of the stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The processor's counter.
    Counter,
    /// Nanoseconds of the host's monotonic clock.
    Monotonic,
}

/// One moment on both clocks, later than those of the rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Time by the clock that events are stamped with.
    #[serde(rename = "until_ticks")]
    pub ticks: u64,
    /// Time by the host's monotonic clock.
    #[serde(rename = "until_monotonic_ns")]
    pub monotonic_ns: u64,
}

/// A communicator of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    /// The number that this process gave it.
    pub communicator: u32,
    /// Its id, which is the same on all its members.
    #[serde(with = "hex")]
    pub id: u64,
    /// Its members as ranks of `MPI_COMM_WORLD`, in its own order.
    pub ranks: Vec<Rank>,
    /// The other group of an inter-communicator, which peers are counted in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remote: Vec<Rank>,
}

/// This host's monotonic clock minus that of rank 0's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// Offset as measured.
    pub offset_ns: i64,
    /// Error bound of the offset, either way.
    pub error_ns: u64,
    /// Time of the measurement, by this host's clock.
    pub monotonic_ns: u64,
    /// Occasion of the measurement.
    pub at: Phase,
}

/// Occasion on which an offset was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The measurement in `MPI_Init`.
    Init,
    /// The measurement in `MPI_Finalize`.
    Finalize,
}

/// A tree file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNote {
    /// Its hash, as rings have it.
    #[serde(with = "hex")]
    pub tree: u64,
    /// Text of the file, as it was read.
    pub text: String,
}

/// The kernel's counters of a rank's main thread and of its host, counted from the start of either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelNote {
    /// Time of the sample, by this host's clock.
    #[serde(rename = "kernel_ns")]
    pub monotonic_ns: u64,
    /// Context switches when it waited for something.
    pub voluntary_switches: u64,
    /// Context switches that it did not ask for.
    pub forced_switches: u64,
    /// Time for which it was ready to run and had no processor.
    pub waited_ns: u64,
    /// Time that the hypervisor gave to others, of all processors of the host.
    pub stolen_ns: u64,
    /// Time in which the process ran outside of the kernel; 0 in files of earlier versions, as are all that follow.
    #[serde(default)]
    pub user_ns: u64,
    /// Time in which the kernel ran for the process.
    #[serde(default)]
    pub system_ns: u64,
    /// Page faults of the process without input or output.
    #[serde(default)]
    pub minor_faults: u64,
    /// Page faults of the process that read from a disk.
    #[serde(default)]
    pub major_faults: u64,
}

impl RingNote {
    /// Builds the note of a ring that gets this number in the file.
    #[must_use]
    pub fn of(ring: u32, header: &RingHeader) -> Self {
        Self {
            ring,
            kind: header.kind,
            thread: header.thread,
            clock: if header.is_counter { Clock::Counter } else { Clock::Monotonic },
            ticks: header.reading.ticks,
            monotonic_ns: header.reading.monotonic_ns,
            tree: (header.kind == RingKind::Stages).then_some(header.tree),
        }
    }

    /// Returns its moment on both clocks.
    #[must_use]
    pub fn reading(&self) -> Reading {
        Reading { ticks: self.ticks, monotonic_ns: self.monotonic_ns }
    }
}

macro_rules! notes {
    ($($of:ty => $variant:ident,)*) => {
        $(impl From<$of> for Note {
            fn from(note: $of) -> Self {
                Self::$variant(note)
            }
        })*
    };
}

notes! {
    Head => Head,
    RingNote => Ring,
    Moment => Moment,
    Communicator => Communicator,
    Offset => Offset,
    TreeNote => Tree,
    KernelNote => Kernel,
}

mod hex {
    use super::*;

    pub(super) fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{value:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex
            .then(|| u64::from_str_radix(&text, 16).ok())
            .flatten()
            .ok_or_else(|| de::Error::custom(format_args!("`{text}` is not 16 hex digits")))
    }
}

mod hex_option {
    use super::*;

    pub(super) fn serialize<S: Serializer>(value: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => hex::serialize(value, to),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        hex::deserialize(from).map(Some)
    }
}
