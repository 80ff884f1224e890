//! `foretop internal load-worker`: one process of a load.

use std::ffi::OsString;

use clap::Args;
use workload::Worker;

use command_line::failure::OrUsage;
use text::help::examples;

/// Run as one process of a load; `foretop workload` and `foretop availability-study` start it
#[derive(Args)]
#[command(after_help = examples(&["foretop workload one-spinner"]))]
pub struct LoadWorker {
    /// The load's instructions for this process
    #[arg(value_name = "ORDER", allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl LoadWorker {
    pub fn run(self) -> anyhow::Result<()> {
        match workload::work(&self.arguments) {
            refused @ Err(workload::LoadError::Order { .. }) => refused.or_usage(),
            done => Ok(done?),
        }
    }
}

/// Returns this very program as a worker.
///
/// # Errors
/// When the program's own file cannot be found.
pub fn worker() -> anyhow::Result<Worker> {
    let (program, arguments) = command_line::internal("load-worker")?;
    Ok(Worker { program, arguments })
}
