//! Quantities and their text form: wall time, durations, amounts and rates of data as people write them, hours of
//! the week, shares, confidence, simulated time.
//!
//! Floor 0: no I/O, no clock, no dependence on any other crate of the workspace. Every quantity in
//! a public signature of Foretop has its type here, so a confidence cannot be passed
//! for a share, nor nanoseconds for milliseconds.
#![forbid(unsafe_code)]

mod bandwidth;
mod byte_count;
mod confidence;
mod moment;
mod ratio;
mod sim_time;
pub mod span;
mod timestamp;
mod week_hours;

pub use bandwidth::{Bandwidth, BandwidthError};
pub use byte_count::{ByteCount, ByteCountError};
pub use confidence::{Confidence, ConfidenceError};
pub use moment::{Moment, MomentError};
pub use ratio::{Ratio, RatioError};
pub use sim_time::{SimDuration, SimTime};
pub use timestamp::{Timestamp, TimestampError};
pub use week_hours::{WeekHours, WeekHoursError};

/// Position of a process in an MPI communicator, from 0.
pub type Rank = u32;
