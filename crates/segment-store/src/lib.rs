//! Store of sent and received data, on disk across sessions: a [`dedup::History`] that holds far more than memory does.
//!
//! Bytes go to containers in the order in which they come, a file each, written once. In memory are one anchor in some
//! thousand bytes of everything, and the data and all anchors of what was used last. Any container may be cut, altered
//! or removed at any moment: that is seen by its checksums, and what it held is as if it had never been known. The
//! formats are in `docs/formats/segment-store.md`.
//!
//! Floor 3: files, through [`Storage`]; no clock, no threads.
#![forbid(unsafe_code)]

mod catalogue;
mod container;
mod growth;
mod hints;
mod journal;
mod settings;
mod snapshot;
mod sparse;
mod storage;
mod store;

pub use container::BLOCK_BYTES;
pub use growth::{N_AGES, Period, Traffic};
pub use settings::{OpenError, Policy, Settings, Statistics};
pub use storage::{Folder, FolderError, Storage};
pub use store::Store;
