//! What is in files of records, whatever they measure: their structure, fields as CSV, several files as one, plots.
//!
//! Everything here reads items once, in order, and keeps no more than it needs.
#![forbid(unsafe_code)]

mod error;
mod extract;
mod merge;
mod plot;
mod structure;

pub use error::Error;
pub use extract::extract;
pub use merge::{Merged, merge};
pub use plot::{Plot, plot};
pub use structure::{Structure, structure};
