//! What a machine was seen to do, as answers: figures come from whoever measured.

mod overhead;
mod stall;

pub use overhead::{Watched, overhead};
pub use stall::{Stall, stall};
