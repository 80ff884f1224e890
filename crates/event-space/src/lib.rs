//! What collectors write, gathered while a program runs.
//!
//! A *scope* is a tree of stages that pull: [`Read`] takes from rings, [`Through`] filters, converts or reduces, [`Gather`] joins
//! several, with helper threads or without, [`Scatter`] writes into bounded [`Buffer`]s, which other monitors may read, and [`Paced`]
//! keeps a rate. Nothing moves until somebody pulls. Monitors are scopes with something at the end: who was last, time by rank, figures of
//! each stage. Source: L. A. Bongo, "Low overhead high performance runtime monitoring of collective communication" (ICPP 2005), section 4.
//!
//! Floor 4: shared memory and threads; rings are another room's, and so is all that is said of the figures.
#![warn(unreachable_pub)]

mod buffer;
mod gate;
mod gather;
mod monitor;
mod need;
mod pull;
mod scope;

pub use buffer::{Buffer, BufferReader};
pub use gate::{Gate, HostGate, Strategy};
pub use gather::{Gather, Scatter};
pub use monitor::{
    Counts, Hop, LastOfHost, Latencies, LoadBalance, MpiTime, Report, StageStatistics, Weights, Worker,
    load_balance_host, merge_counts,
};
pub use need::{Need, Sizes};
pub use pull::{Paced, Pull, PullExt, Read, Space, Tally, Through, Tuple};
pub use scope::{Built, Scope, ScopeError};
