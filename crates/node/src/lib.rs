//! The service of one host: collect, store, forecast, serve.
//!
//! [`Node::start`] runs all of it. What it serves is specified in `docs/formats/http.md`, with the types of
//! [`node_api`], and what it stores in `docs/formats/store.md`.
#![forbid(unsafe_code)]

mod catch_up;
mod config;
mod engine;
mod error;
mod exposition;
mod feed;
mod fitter;
mod follow;
mod http;
mod hub;
mod listen;
mod mpi;
mod node;
mod outage;
mod outlet;
mod page;
mod processes;
mod remote;
mod restore;
mod sampler;
mod schedule;
mod store;
mod warnings;

use node_api as api;

pub use config::{Config, OutlookSettings};
pub use error::StartError;
pub use feed::Feed;
pub use follow::FollowSettings;
pub use node::Node;
pub use outlet::{Outgoing, OutletSettings};
pub use remote::RemoteWrite;
pub use store::StoreError;
pub use warnings::{RulesFile, RulesFileError, WarnChannel, WarnSettings};
