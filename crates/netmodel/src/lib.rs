//! What a message costs by its size: lines of latency and time per byte, and how they are found from measured times.
//!
//! A [`Line`] is Hockney's alpha + beta n. A [`Cost`] is several of them, each for the sizes that a library sends in one way,
//! [fitted](Cost::fit) to timed messages with an interval for each parameter. Times that are handed out for a clock are whole nanoseconds,
//! rounded up, so that no message is there before it was sent; fits and means are in `f64` nanoseconds.
//!
//! Floor 2: no I/O and no clock; chance comes from a seed.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod breaks;
mod cost;
mod interval;
mod line;

pub use cost::{Cost, CostError, Point, Segment};
pub use line::Line;
