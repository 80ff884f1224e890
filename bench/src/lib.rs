//! Common parts of the measuring programs: the trace, and the best time of several.
//!
//! Programs write JSON; the Python scripts in this folder run them and their peers, and print tables.
#![forbid(unsafe_code)]

pub mod timing;
pub mod trace;
