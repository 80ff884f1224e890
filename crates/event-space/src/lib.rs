//! Events of collectors, gathered while a program runs.
//!
//! A *scope* is a tree of stages that pull: [`Read`] takes from rings, [`Through`] filters, converts or reduces,
//! [`Gather`] joins several, with helper threads or without, [`Scatter`] writes into bounded [`Buffer`]s, which other
//! monitors may read, and [`Paced`] keeps a rate. Nothing moves until somebody pulls. Monitors are scopes with
//! something at the end: who was last, time by rank, figures of each stage. Source: L. A. Bongo, "Low overhead high
//! performance runtime monitoring of collective communication" (ICPP 2005), section 4.
//!
//! A [`Live`] is a tree of a job as far as it is on this host. [`Sites`] are all hosts of the tree: what a scope reads
//! of another host is made there, by a [`Server`] over that host's rings, and pulled through a [`Remote`] like any
//! stage.
//!
//! Floor 4: shared memory, threads and connections; rings are another room's, and so is all that is said of the
//! figures.
#![warn(unreachable_pub)]

mod buffer;
mod gate;
mod gather;
mod live;
mod monitor;
mod need;
mod pull;
mod remote;
mod scope;
mod sites;

pub use buffer::{Buffer, BufferReader};
pub use gate::{Gate, HostGate, Strategy};
pub use gather::{Gather, Scatter};
pub use live::{Live, LiveError, LiveRead};
pub use monitor::{
    Counts, Gated, Hop, LastOfHost, LoadBalance, MpiTime, Quantity, Report, Spent, StageFigures, StageStatistics,
    Weights, Worked, Worker, load_balance_host, merge_counts,
};
pub use need::{Need, Sizes};
pub use pull::{Paced, Pull, PullExt, Read, Space, Tally, Through, Tuple};
pub use remote::{About, Elsewhere, Remote, RemoteError, Server, Share, Task, What, Wire, WireClock, ask_job};
pub use scope::{Built, Opened, Scope, ScopeError};
pub use sites::{Setting, Sites, SitesError};
