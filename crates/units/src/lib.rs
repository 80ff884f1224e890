//! Quantities and their text form: wall time, durations and amounts of data as people write them, confidence.
//!
//! Floor 0: no I/O, no clock, no dependence on any other crate of the workspace. Every quantity in
//! a public signature of Foretop has its type here, so a confidence cannot be passed
//! for a share, nor nanoseconds for milliseconds.
#![forbid(unsafe_code)]

mod byte_count;
mod confidence;
mod moment;
pub mod span;
mod timestamp;

pub use byte_count::{ByteCount, ByteCountError};
pub use confidence::{Confidence, ConfidenceError};
pub use moment::{Moment, MomentError};
pub use timestamp::{Timestamp, TimestampError};

/// Position of a process in an MPI communicator, from 0.
pub type Rank = u32;
