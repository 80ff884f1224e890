//! Costs of messages: lines of latency plus time per byte, how to find them from measured times, and links that
//! carry one message after the other.
//!
//! A [`Line`] is Hockney's alpha + beta n. A [`Cost`] has several, one for each range of sizes that a library sends
//! in its own way, [fitted](Cost::fit) to timed messages with an interval for each parameter. Times returned for a
//! clock are whole nanoseconds, rounded up, so no message arrives before it was sent; fits and means are in `f64`
//! nanoseconds.
//!
//! A [`Link`] is one direction between two places: it says of each message when it arrives, or that it does not.
//! What it costs is a [`Delay`]: [`Constant`], [`Traced`], [`Opportunities`], or three functions of your own. A
//! [`Description`] is a link as people write it.
//!
//! Floor 2: no I/O and no clock; chance comes from a seed.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod breaks;
mod cost;
mod description;
mod interval;
mod line;
mod link;
mod profile;
mod trace;

pub use cost::{Cost, CostError, Point, Segment};
pub use description::{Description, DescriptionError, Format};
pub use line::Line;
pub use link::{Constant, Delay, Drop, Fate, Link, Order, Passage, Rules, Wire};
pub use profile::{Profile, UnknownProfile};
pub use trace::{AtEnd, Between, Expected, Opportunities, Spread, Trace, TraceError, Traced};
