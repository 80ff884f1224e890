//! A described system of components: checked, planned, started as processes, watched, and stopped.
//!
//! What RPS left to shell scripts and to a person who picks ports (Dinda and O'Hallaron 1999, section 7.4 and Figure 9) is a file here,
//! specified in `docs/formats/compose.md`. A [`System`] is what the file says, a [`Plan`] the commands that it comes to, a
//! [`Supervisor`] the processes. Which components there are and what they take is told by the caller as [`Kind`]s, so that this crate
//! and the command line cannot disagree.
//!
//! The crate starts processes and threads and reads the system's clock only to pause between looks; deadlines come from the caller.
#![deny(unsafe_code)]

mod error;
mod kind;
mod plan;
mod run_folder;
mod supervisor;
mod system;

pub use error::ComposeError;
pub use kind::{Kind, Parameter, Takes};
pub use plan::{Launch, Plan};
pub use run_folder::RunFolder;
pub use supervisor::{ComponentStatus, Launcher, State, Supervisor};
pub use system::{Component, Restart, System, Transport};
