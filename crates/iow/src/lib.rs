//! A file-system benchmark after SESAME's `iow`: files that are created, written and read in records of one size, each
//! operation timed.
//!
//! [`run`] does the work of a [`Plan`] and gives a [`Run`]; [`regions`] finds where speed changes its law with the
//! record size, and [`hidden_buffer`] tells from times at two layers that something between them keeps data that it
//! claims to have written.
#![forbid(unsafe_code)]

mod error;
mod layers;
mod place;
mod plan;
mod records;
mod regions;
mod run;

pub use error::Error;
pub use layers::{HiddenBuffer, hidden_buffer};
pub use place::{Place, place};
pub use plan::{Access, Mode, Plan};
pub use records::{run_type, run_values};
pub use regions::{Law, Region, regions};
pub use run::{Operation, Run, Task, run};
