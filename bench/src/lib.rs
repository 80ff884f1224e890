//! What the measuring programs share: the traces, the cases that models are judged on, and the best time of several.
//!
//! Programs write JSON; the Python scripts in this folder run them and their peers, and print tables.
#![forbid(unsafe_code)]

pub mod accuracy;
pub mod timing;
pub mod trace;
