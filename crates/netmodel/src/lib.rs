//! What a message costs by its size: lines of latency plus time per byte, and how to find them from measured times.
//!
//! A [`Line`] is Hockney's alpha + beta n. A [`Cost`] has several, one for each range of sizes that a library sends in
//! its own way, [fitted](Cost::fit) to timed messages with an interval for each parameter. Times returned for a clock
//! are whole nanoseconds, rounded up, so no message arrives before it was sent; fits and means are in `f64`
//! nanoseconds.
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
