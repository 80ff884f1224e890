//! Measurement of what this host's kernel does, at a stated and bounded cost: subsystems of points, their summaries,
//! and the cost of the probes.
//!
//! A [`Subsystem`] is a group of points with one summary. An arm ([`Arm`]) reads its counters: programs in the kernel
//! with the feature `bpf` and root, or /proc without either, which knows less and says so. A [`Watch`] turns readings
//! into summaries, knows what its probes cost by their calibrated prices, and keeps a budget.
//!
//! An [`Agent`] serves controllers, who speak [`control`], and measures what they ask for.
//!
//! No arm changes the measured host beyond its probes, and these go with the process that attached them.

mod agent;
mod arm;
#[cfg(feature = "bpf")]
mod bpf;
mod budget;
mod clocks;
pub mod control;
mod engine;
mod error;
mod from_proc;
mod group;
mod node;
mod price;
mod reading;
mod receiver;
mod recent;
mod recorder;
mod subsystem;
mod summary;
mod traced;
pub mod user;
mod watch;

pub use agent::{Agent, Client, DEFAULT_SOCKET, Sink};
pub use arm::Arm;
#[cfg(feature = "bpf")]
pub use bpf::{Bpf, BpfOpener, Calibration, Flood, RING_BYTES, Tracer, calibrate, flood, n_loaded};
pub use budget::{Budget, Load, Measure};
pub use clocks::{Clocks, Relation};
pub use engine::{Engine, Opener, ProcOpener};
pub use error::Error;
pub use from_proc::FromProc;
pub use group::{GroupLimits, N_GROUPS};
pub use node::Node;
pub use price::{Price, Ran, SubsystemCost, Toll};
pub use reading::{Counters, Flight, N_RANGES, Reading};
pub use receiver::{ALIVE, RECEIVER};
pub use recorder::Recorder;
pub use subsystem::{Arguments, Attach, Drive, Point, Program, Subsystem, Timing, Total, all, find};
pub use summary::{Account, Figures, PointSummary, Summary};
pub use traced::{FIELDS_MAX, Traced};
pub use watch::{Key, N_WINDOWS, Options, Pulled, WINDOW, Watch};
