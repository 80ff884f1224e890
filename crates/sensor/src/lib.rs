//! What the host says of itself: `/proc`, `/sys` and cgroup files, read from a root path, as signals.
//!
//! [`FAMILIES`] is the table of everything that can be measured; metrics, the HTTP interface and `docs/signals.md`
//! are made from it. [`Host::open`] finds out which of it this host offers, and [`Host::read`] reads each file once
//! and hands out every signal that comes from it. The crate reads no clock and starts no thread: the caller says what
//! time it is. The exceptions are the probe of [`Host::start_hybrid`], which is off unless that is called, and the transfers of
//! [`flow`], which take time and measure it.
//!
//! A [`Query`] is one more: whatever a Prometheus server makes of an expression, with the history that the server has of it.
//!
//! Counters become rates over the time between two reads, so the first read of a counter gives nothing, and neither
//! does one that went backwards.
//!
//! An [`Exporter`] is a [`Source`] beside the host: it makes signals of what a Prometheus exporter offers, by the rules of Prometheus
//! where they differ, and its HTTP client times its own requests.
//!
//! # Examples
//!
//! ```
//! use std::{path::Path, time::Duration};
//!
//! let mut host = sensor::Host::open(Path::new("/"))?;
//! let mut readings = sensor::Readings::default();
//! host.read(Duration::ZERO, &mut readings);
//! for (signal, value) in &readings {
//!     assert!(!signal.id().is_empty() && value.is_finite());
//! }
//! # Ok::<(), sensor::OpenError>(())
//! ```
#![deny(unsafe_code)]

mod availability;
mod cgroup;
mod counter;
mod cpu;
mod cpu_availability;
mod disk;
mod error;
mod exporter;
mod family;
mod file;
pub mod flow;
mod host;
pub mod http;
mod hybrid;
mod load;
mod markdown;
mod memory;
mod net;
mod pressure;
mod query;
mod readings;
mod roster;
mod signal;
mod source;
mod swap;

pub use error::{OpenError, ReadError};
pub use exporter::{Exporter, ExporterSettings, ExporterSettingsError, ScrapeError};
pub use family::{FAMILIES, Family, Kind, Range, Unit, family_of_signal};
pub use host::{Absent, Host};
pub use hybrid::{HybridError, HybridSettings};
pub use markdown::signals_markdown;
pub use query::{PastSeries, Query, QueryError, QuerySettings, QuerySettingsError};
pub use readings::Readings;
pub use signal::{Label, Signal};
pub use source::{History, Source};
