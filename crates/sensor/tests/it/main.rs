//! The sensors on recorded and on made-up hosts.

mod cpu_availability;
mod document;
mod hostile;
mod recorded;
mod root;
mod scene;
mod transfer;
mod trouble;
