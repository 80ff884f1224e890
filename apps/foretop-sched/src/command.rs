//! One module for each command: its arguments, and what it does with them.

pub mod calibrate;
pub mod explain;
pub mod run;
pub mod sequences;
pub mod simulate;
pub mod worker;
