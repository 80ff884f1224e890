//! Signals from beyond this host, as [`signal::Source`]s: from exporters, Prometheus servers, network devices and
//! peers.
//!
//! - An [`Exporter`] makes signals from what a Prometheus exporter offers, by the rules of Prometheus where they
//!   differ.
//! - A [`Query`] is the result of an expression on a Prometheus server, with the history that the server has of it.
//! - A [`KernelAgent`] says what this host's kernel is doing.
//! - [`snmp`] estimates the bandwidth that a new flow between two addresses would get, from the counters of the
//!   devices between them.
//! - [`transfer`] measures it between two hosts that run Foretop, by short transfers.
//!
//! Sources time their own requests and have their own time-outs. Nothing here forecasts or stores.
#![deny(unsafe_code)]

mod exporter;
mod kernel_agent;
mod query;
pub mod snmp;
pub mod transfer;

use std::time::Duration;

pub use exporter::{Exporter, ExporterSettings, ExporterSettingsError, ScrapeError};
pub use kernel_agent::KernelAgent;
pub use query::{PastSeries, Query, QueryError, QuerySettings, QuerySettingsError};

/// A series that a source has left out for as long gives its place to one that has none.
const SILENCE_MAX: Duration = Duration::from_secs(3600);
