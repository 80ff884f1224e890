//! The sensors on recorded and on made-up hosts.

mod document;
mod hostile;
mod recorded;
mod scene;
mod trouble;
