//! A tunnel that sends nothing twice: programs' connections as streams over one authenticated link, with a store of
//! what went by at both ends.
//!
//! A [`Near`] end has programs connect to it; a [`Far`] end connects to their targets. Between them is one TCP
//! connection, under TLS beyond this machine, or QUIC, whose ends have proved that they have the same token. A stream
//! arrives exactly as it was sent, or is broken at both ends. The link's format is in `docs/formats/tunnel.md`.
#![forbid(unsafe_code)]

mod config;
mod counters;
mod error;
mod far;
mod files;
mod frame;
mod handshake;
mod level;
mod link;
mod memory;
mod near;
mod neighbour;
mod part;
mod proxy;
mod relay;
mod status;
mod steering;
mod transport;

pub use config::Config;
pub use counters::Counts;
pub use error::{LinkError, StartError};
pub use far::Far;
pub use frame::{FRAME_BYTES_MAX, Frame, FrameError, Wanted};
pub use level::Level;
pub use near::Near;
pub use part::{Component, Components, N_LANES, Part};
pub use status::{PeriodStatus, Status, StoreStatus, Watcher};
