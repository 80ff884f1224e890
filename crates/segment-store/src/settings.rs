//! Settings and statistics of a store.

use dedup::Key;

use crate::growth::N_AGES;
use crate::journal::Foreign;

/// The purpose of a store, and its limits.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The tenant's key: what was stored under another one is not opened.
    pub key: Key,
    /// One anchor in `2^anchor_bits` bytes, as at both ends.
    pub anchor_bits: u32,
    /// One of `2^sparse_bits` anchors is in memory for everything that is on disk.
    pub sparse_bits: u32,
    /// When a container is written; at most 1 GiB.
    pub container_bytes: usize,
    /// Data and anchors in memory. The sparse index and what is being written come on top.
    pub memory_bytes: u64,
    /// Containers on disk. The journal and the index's snapshot come on top: two thousandths of them.
    pub disk_bytes: u64,
    /// The most bytes of the journal that are read again when the store is opened, a small store's: a snapshot is
    /// written after so many bytes. The tail may grow to a part of the journal, and to four times this.
    pub tail_bytes: u64,
    /// The containers that are given up first when the disk's budget is used.
    pub policy: Policy,
}

/// The containers that are given up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Those that nothing was found in for the longest time.
    LeastRecentlyUsed,
    /// Those that were written first.
    Oldest,
}

/// A store that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The journal cannot be read or written.
    #[error("cannot read the store's journal")]
    Journal(#[source] std::io::Error),
    /// It is something else.
    #[error("the journal is not one of a segment store, or of a later version; give the store an empty folder")]
    Format,
    /// It was written under another key.
    #[error("the store was written under another key; give each tenant and each secret a folder of its own")]
    Key,
    /// It was written with other anchors.
    #[error(
        "the store has one anchor in 2^{bits} bytes and one of 2^{sparse_bits} in memory; open it with these settings, or remove it"
    )]
    Anchors {
        /// Bits of its anchors.
        bits: u8,
        /// Bits of its sparse ones.
        sparse_bits: u8,
    },
}

/// The state of a store, and what it did since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Containers on disk.
    pub n_containers: u64,
    /// Their bytes on disk.
    pub disk_bytes: u64,
    /// Data and anchors in memory, within the budget.
    pub resident_bytes: u64,
    /// The sparse index in memory, with its filters.
    pub sparse_bytes: u64,
    /// Its filters.
    pub filter_bytes: u64,
    /// Sparse anchors that the filter knew to be strange.
    pub n_filtered: u64,
    /// Strange ones that the filter let pass.
    pub n_passed: u64,
    /// Shards of the index that were read from the snapshot.
    pub n_shards_read: u64,
    /// Snapshots that were written.
    pub n_snapshots: u64,
    /// Bytes of the journal that had to be read when it was opened.
    pub n_replayed: u64,
    /// Times that the snapshot was damaged, and the index made again.
    pub n_rebuilt: u64,
    /// Bytes that were ever appended, as far as is known.
    pub n_ever: u64,
    /// Bytes that were appended since it was opened.
    pub n_appended: u64,
    /// Anchors that were looked for.
    pub n_looked_for: u64,
    /// Those that were found.
    pub n_found: u64,
    /// Containers whose anchors were loaded from disk.
    pub n_loaded: u64,
    /// Containers that were found to be unreadable or altered, and are forgotten.
    pub n_lost: u64,
    /// Containers that could not be written.
    pub n_unwritten: u64,
    /// Containers that were given up for the disk's budget.
    pub n_given_up: u64,
    /// The ages of the data that were found: entry `i` counts those with 2^(16+i) to 2^(17+i) bytes written since,
    /// and the first one also those with fewer.
    pub ages: [u64; N_AGES],
}

impl Default for Settings {
    /// 4 MiB a container, 256 MiB of memory, 16 GiB of disk.
    fn default() -> Self {
        Self {
            key: Key::OPEN,
            anchor_bits: 8,
            sparse_bits: 5,
            container_bytes: 4 << 20,
            memory_bytes: 256 << 20,
            disk_bytes: 16 << 30,
            tail_bytes: 4 << 20,
            policy: Policy::LeastRecentlyUsed,
        }
    }
}

impl From<Foreign> for OpenError {
    fn from(foreign: Foreign) -> Self {
        match foreign {
            Foreign::Format => Self::Format,
            Foreign::Key => Self::Key,
            Foreign::Anchors { bits, sparse_bits } => Self::Anchors { bits, sparse_bits },
        }
    }
}
