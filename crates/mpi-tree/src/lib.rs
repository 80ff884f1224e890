//! Spanning trees of collective operations: how they are written down, shaped, checked and drawn, and who does what
//! when.
//!
//! A tree is data. Ranks are its leaves; a node joins its contributors, which are ranks and other nodes, and lives on
//! one host. *Down* is towards the root, where contributions are combined; *up* is away from it, the way that the
//! result takes. Source: L. A. Bongo, PATHS (Euro-Par 2004; ICPP 2005).
//!
//! Floor 2: no messages, no memory that is shared, no clock.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod check;
mod collector;
mod conditional;
mod draw;
mod error;
mod facts;
mod forest;
mod read;
mod reference;
mod role;
mod shape;
mod site;
mod tree;
mod word;
mod write;

pub use collector::{Collector, Place};
pub use conditional::{
    Answer, Call, Condition, Conditional, Counts, Fault, Published, Question, Reduction, RemoteCounts, Settings,
    SettingsError, Sign, UnsoundError,
};
pub use error::{RanksError, TreeError};
pub use facts::{Change, Facts, TreeChange};
pub use forest::{CAPACITY_BYTES, Collective, Forest, Rule};
pub use read::{RANK_MAX, ranks};
pub use reference::Reference;
pub use role::{Input, Roles, Seat, Station};
pub use shape::{FanIn, Grain, Layout, Shape, ShapeError};
pub use site::{Site, Sites};
pub use tree::{Between, Contributor, Host, Node, Order, Tree, Wake};
pub use word::WordError;
