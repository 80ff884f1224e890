//! Signals from beside this host: what exporters, Prometheus servers, network devices and peers say, as [`signal::Source`]s.
//!
//! - An [`Exporter`] makes signals of what a Prometheus exporter offers, by the rules of Prometheus where they differ.
//! - A [`Query`] is whatever a Prometheus server makes of an expression, with the history that the server has of it.
//! - [`snmp`] tells the bandwidth that a new flow between two addresses would get, from the counters of the devices between them.
//! - [`transfer`] measures it between two hosts that run Foretop, by short transfers.
//!
//! Sources time their own requests and give up by limits of their own. Nothing here forecasts or stores.
#![deny(unsafe_code)]

mod exporter;
mod query;
pub mod snmp;
pub mod transfer;

pub use exporter::{Exporter, ExporterSettings, ExporterSettingsError, ScrapeError};
pub use query::{PastSeries, Query, QueryError, QuerySettings, QuerySettingsError};
