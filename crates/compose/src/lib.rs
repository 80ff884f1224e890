//! Systems of components from a description: checked, planned, started as processes, watched, and stopped.
//!
//! RPS left this to shell scripts and to a person who picks ports (Dinda and O'Hallaron 1999, section 7.4 and Figure
//! 9). Here it is a file, specified in `docs/formats/compose.md`. A [`System`] is the content of the file, a [`Plan`]
//! the commands it leads to, a [`Supervisor`] the processes. The caller passes the components and their arguments as
//! [`Kind`]s, so that this crate and the command line cannot disagree.
//!
//! The crate starts processes and threads. It reads the system's clock only to pause between polls; deadlines come
//! from the caller.
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
