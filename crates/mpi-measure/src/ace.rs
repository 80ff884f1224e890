//! Application communication emulation: cost models, emulated applications, predictions and what became of them.

pub mod cost;
