//! `foretop load-worker`: one process of a load. Started by whoever makes the load, and not meant to be typed.

use std::ffi::OsString;

use anyhow::Context;
use clap::Args;
use workload::Worker;

use crate::cli::examples;
use crate::failure::OrUsage;

/// Be one process of a load
#[derive(Args)]
#[command(hide = true, after_help = examples(&["foretop load one-spinner"]))]
pub struct LoadWorker {
    /// What the load tells it
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

/// This very program as a worker.
pub fn worker() -> anyhow::Result<Worker> {
    let program = std::env::current_exe().context("cannot find this program, which its loads are made of")?;
    Ok(Worker { program, arguments: vec!["load-worker".into()] })
}
