//! Assignment of work to workers: work that is cut into units, workers whose speed is forecast, and policies that bring
//! the two together.
//!
//! A [`Policy`] is a state machine without a clock: it is told what happened ([`Event`]) and answers with what to do
//! ([`Action`]). The same code decides in the simulator ([`simulate`]) and in real runs. What it knows of a worker is a
//! [`Curve`]: quantiles of the time that so much processor time takes there, as a node's `GET /api/v1/runtime` gives
//! them.
//!
//! Application-level scheduling by forecasts of availability goes back to AppLeS and to Spring and Wolski's comparison
//! of gene sequence libraries (ICS 1998), of which only the title is at hand: the policies here are named after what is
//! published of them elsewhere.
//!
//! Floor 3: no I/O and no clock; chance only from a seed.
#![forbid(unsafe_code)]

pub mod advice;
mod curve;
pub mod draw;
pub mod factors;
mod job;
mod plan;
mod policy;
pub mod report;
pub mod simulate;
mod trace;
mod work;
mod worker;

pub use curve::{Curve, LEVELS};
pub use job::{Command, Job, JobError, WorkerGroup};
pub use plan::{Plan, Share};
pub use policy::{Action, Chunk, Event, Policy, PolicyError, Spec, Spread, State};
pub use trace::{Trace, TraceError};
pub use work::{Work, WorkError};
pub use worker::Worker;
