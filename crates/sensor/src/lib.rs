//! The host's own measurements: `/proc`, `/sys` and cgroup files, read from a root path, as signals.
//!
//! [`Host::open`] finds out which families of [`signal::FAMILIES`] this host offers, and [`Host::read`] reads each file
//! once and hands out every signal that comes from it. The crate reads no clock and starts no thread: the caller says
//! what time it is. The exception is the probe of [`Host::start_hybrid`], which is off unless that is called.
//!
//! [`ProcessScan`] reads the processes, with a step of its own; [`Host::start_watch`] makes signals of some.
//!
//! Counters become rates over the time between two reads, so the first read of a counter gives nothing, and neither
//! does one that went backwards.
//!
//! # Examples
//!
//! ```
//! use std::{path::Path, time::Duration};
//!
//! let mut host = sensor::Host::open(Path::new("/"))?;
//! let mut readings = signal::Readings::default();
//! host.read(Duration::ZERO, &mut readings);
//! for (signal, value) in &readings {
//!     assert!(!signal.id().is_empty() && value.is_finite());
//! }
//! # Ok::<(), sensor::OpenError>(())
//! ```
#![deny(unsafe_code)]

mod availability;
mod battery;
mod cgroup;
mod core_share;
mod counter;
mod cpu;
mod cpu_availability;
mod device;
mod disk;
mod error;
pub mod file;
mod filesystem;
mod gpu;
mod host;
mod hwmon;
mod hybrid;
mod load;
mod memory;
mod net;
mod pressure;
mod process;
mod raid;
mod rapl;
mod roster;
mod swap;
mod table;
mod task_stat;
mod throttling;
mod tick;
mod time_sync;
mod value_file;
mod watched;
mod zfs;

pub use cgroup::ContainerLimits;
pub use core_share::CoreShare;
pub use error::{OpenError, ReadError};
pub use host::{Absent, Host, host_name, n_cores};
pub use hybrid::{HybridError, HybridSettings};
pub use process::{ProcessCgroup, ProcessReading, ProcessScan, ProgramKey, ProgramUsage, ScanReport, UsageInterval};
pub use watched::{WatchList, WatchListError};
