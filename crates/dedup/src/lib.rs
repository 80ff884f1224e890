//! Redundancy elimination: what was sent before is sent as where it was, and checked by a hash over all of it.
//!
//! An [`Encoder`] turns bytes into groups, a [`Decoder`] turns groups into bytes; both write what is new to a
//! [`History`], whose runs are then the same at both ends. The sender finds matches by *anchors*, the few windows whose
//! gear hash begins with zeros, and grows them both ways. It does not know what the receiver has left: what lacks or
//! does not match is asked for. How groups look in bytes is in `docs/formats/dedup.md`.
//!
//! Floor 2: no I/O, no clock, no threads. Without the feature `zstd` it is all Rust and builds for browsers.
#![forbid(unsafe_code)]

mod decoder;
mod encoder;
pub mod estimate;
mod flow;
mod gear;
mod group;
mod hints;
mod history;
mod latest;
mod literals;
mod matching;
pub mod plan;
mod resync;
pub mod segmenter;
pub mod spring;
pub mod two_level;
mod varint;

pub use decoder::{Decoded, Decoder, Lacking, RepairError};
pub use encoder::{Effort, Encoder, Settings, Tally};
pub use flow::Flow;
pub use gear::{Anchor, Gear, Key, WINDOW};
pub use group::{GroupError, HASH_BYTES};
pub use hints::Hints;
pub use history::{AnchorTable, History, MemoryHistory, Place, Run, RunId};
#[cfg(feature = "zstd")]
pub use literals::UnknownPacking;
pub use literals::{Damaged, Packing};
pub use varint::BadNumber;
