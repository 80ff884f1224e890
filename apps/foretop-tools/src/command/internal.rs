//! `foretop internal NAME`: processes that other commands start, made of this very program. Not for people, and free to
//! change.

pub mod load_worker;
pub mod mpi_job;
pub mod pool_load;
pub mod pred_core;
pub mod study_test;

use std::io::Write;

use clap::{Args, Subcommand};

use text::help::examples;

/// Run as a process that another command needs
#[derive(Args)]
#[command(hide = true, after_help = examples(&["foretop internal pool-load --hosts 5"]))]
pub struct Internal {
    #[command(subcommand)]
    process: Process,
}

#[derive(Subcommand)]
enum Process {
    LoadWorker(load_worker::LoadWorker),
    StudyTest(study_test::StudyTest),
    PredCore(pred_core::PredCore),
    PoolLoad(pool_load::PoolLoad),
    MpiJob(mpi_job::MpiJob),
}

impl Internal {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.process {
            Process::LoadWorker(process) => process.run(),
            Process::StudyTest(process) => process.run(out),
            Process::PredCore(process) => process.run(),
            Process::PoolLoad(process) => process.run(out),
            Process::MpiJob(process) => process.run(out),
        }
    }
}
