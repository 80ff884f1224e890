//! Views of files of records, whatever they measure: their structure, fields as CSV or Parquet, several files as one
//! and one as several, plots.
//!
//! Everything here reads items once, in order, and keeps no more than it needs.
#![forbid(unsafe_code)]

mod clock;
mod error;
mod extract;
mod merge;
mod plot;
mod split;
mod structure;
mod table;

pub use clock::Clock;
pub use error::Error;
pub use extract::{extract, rows};
pub use merge::{Input, Merged, merge};
pub use plot::{Bands, Line, Plot, plot};
pub use split::{By, PARTS_MAX, Part, Parts, split};
pub use structure::{Structure, structure};
pub use table::extract_parquet;
