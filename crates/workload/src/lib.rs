//! Loads to make on this host: real processes under real scheduling, with seeded chance.
//!
//! [`SCENARIOS`] lists them, and [`Scenario::start`] starts one, which runs until its [`Load`] is dropped. The
//! processes of a load are workers: an executable that, started with the arguments of a [`Worker`] and one more, calls
//! [`work`]. Each holds the end of a pipe, so none outlives the process that started it, however that ends.
//!
//! Chance: each worker draws from its own stream, ChaCha8 of the load's seed with the worker's number as its stream,
//! so the same seed gives every worker the same lengths of work and rest. When workers meet on a core is up to the
//! kernel, and differs from run to run.
#![forbid(unsafe_code)]

mod chance;
mod error;
mod group;
mod made;
mod mixed;
mod order;
mod process;
mod scenario;
mod work;

pub use error::{LoadError, Step};
pub use group::{ControlGroup, Device, Inside, ShortGroup};
pub use made::Load;
pub use process::Worker;
pub use scenario::{SCENARIOS, Scenario, find};
pub use work::work;
