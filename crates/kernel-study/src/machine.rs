//! Answers on what a machine was seen to do: figures come from whoever measured.

mod devices;
mod files;
mod memory;
mod overhead;
mod phases;
mod stall;
mod startup;

pub use devices::{Served, served};
pub use files::{Sweep, regions};
pub use memory::{Lost, Sort, sort_times, swapping};
pub use overhead::{Watched, overhead};
pub use phases::phases;
pub use stall::{Stall, stall};
pub use startup::{Startup, opening, startup};
