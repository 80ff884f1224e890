//! The sensors on recorded and on made-up hosts.

mod cpu_availability;
mod hardware;
mod hostile;
mod process;
mod recorded;
mod root;
mod scene;
mod trouble;
mod watched;
