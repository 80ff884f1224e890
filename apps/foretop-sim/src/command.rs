//! One module for each command: its arguments, and what it does with them.

pub mod fit;
pub mod kernel;
pub mod machine;
pub mod outcome;
pub mod replay;
pub mod run;
pub mod study;
pub mod sweep;
mod taken_over;

use std::path::Path;

use mpi_sim::machine::{Description, MachineError};
use program::Failure;

/// The machine in a file.
pub fn description(path: &Path) -> Result<Description, Failure> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Failure::work(format!("cannot read the machine `{}`: {error}", path.display())))?;
    let told = |error: MachineError| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::usage(format!("`{}`: {error}{cause}", path.display()))
    };
    let mut described = Description::read(&text).map_err(told)?;
    described.read_trees(path.parent().unwrap_or(Path::new(""))).map_err(told)?;
    Ok(described)
}
