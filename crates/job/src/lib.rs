//! Runs of split work: workers that run what their operators allow, and a coordinator that has a policy decide who does
//! what.
//!
//! A [`Worker`] is a component with a `server:` endpoint, protected as all of `stream` is. It runs units, one process
//! each, in a folder of its own. A [`run`] connects to workers, feeds them unit by unit as a [`sched::Policy`] says,
//! and keeps what is done in a folder, so that it can be taken up again. What they say to each other is in
//! `docs/formats/job-worker.md`.
#![forbid(unsafe_code)]

mod allow;
mod connection;
mod coordinator;
mod gauge;
mod input;
mod kept;
mod protocol;
mod record;
mod run;
mod sequences;
mod worker;

pub use allow::{AllowError, Allowed};
pub use input::Input;
pub use kept::{Given, JOURNAL, KeptError, Line, journal};
pub use record::{Done, Record, Session};
pub use run::{Expected, Finished, News, Outputs, Part, RunError, Runner, run};
pub use sequences::{MergeError, PutTogetherError, Search, SearchError};
pub use worker::{Limits, Worker};
