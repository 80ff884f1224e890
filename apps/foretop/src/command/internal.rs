//! `foretop internal NAME`: processes that other commands start, made of this very program. Not for people, and free to
//! change.

use std::ffi::OsString;
use std::io::Write;

use clap::{Args, Subcommand};
use text::help::examples;

use super::{external, spin};

/// Run as a process that another command needs
#[derive(Args)]
#[command(hide = true, after_help = examples(&["foretop internal spin --cpu 10s --threads 2"]))]
pub struct Internal {
    #[command(subcommand)]
    process: Process,
}

#[derive(Subcommand)]
enum Process {
    Spin(spin::Spin),
    #[command(external_subcommand)]
    OfTools(Vec<OsString>),
}

impl Internal {
    pub fn run(self, _: &mut dyn Write) -> anyhow::Result<()> {
        match self.process {
            Process::Spin(process) => process.run(),
            Process::OfTools(words) => external::run_tools([vec!["internal".into()], words].concat()),
        }
    }
}
