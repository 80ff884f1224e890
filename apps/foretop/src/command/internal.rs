//! `foretop internal NAME`: processes that other commands start, made of this very program. Not for people, and free to change.

pub mod load_worker;
pub mod mpi_job;
pub mod pool_load;
pub mod pred_core;
pub mod spin;
pub mod study_test;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};

use crate::help::examples;

/// Be a process that another command needs
#[derive(Args)]
#[command(hide = true, after_help = examples(&["foretop internal spin --cpu 10s --threads 2"]))]
pub struct Internal {
    #[command(subcommand)]
    process: Process,
}

#[derive(Subcommand)]
enum Process {
    LoadWorker(load_worker::LoadWorker),
    StudyTest(study_test::StudyTest),
    Spin(spin::Spin),
    PredCore(pred_core::PredCore),
    PoolLoad(pool_load::PoolLoad),
    MpiJob(mpi_job::MpiJob),
}

impl Internal {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.process {
            Process::LoadWorker(process) => process.run(),
            Process::StudyTest(process) => process.run(out),
            Process::Spin(process) => process.run(),
            Process::PredCore(process) => process.run(),
            Process::PoolLoad(process) => process.run(out),
            Process::MpiJob(process) => process.run(out),
        }
    }
}

/// How this program is started to be the internal command `name`: its own file, and the words that come first.
///
/// # Errors
/// When the program's own file cannot be found.
pub fn start(name: &str) -> anyhow::Result<(PathBuf, Vec<OsString>)> {
    let program = std::env::current_exe().context("cannot find this program's own file, to start it again")?;
    Ok((program, ["internal", name].map(OsString::from).to_vec()))
}
