//! `foretop mpi trace`: records the MPI calls of a program, and shows what was recorded.

mod export;
mod job;
mod records;
mod run;
mod show;

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use clap::{Args, Subcommand};
use mpi_trace::{Recording, RingKind};

pub use self::run::Run;
use command_line::terminal::say;
use text::help::examples;

/// Record the MPI calls of a program
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_value_name = "COMMAND", after_help = examples(&[
    "foretop mpi trace -n 4 -- ./heat 512",
    "foretop mpi trace -n 4 --keep all --out run-1 -- python3 solve.py",
    "foretop mpi trace show foretop-trace",
    "foretop mpi trace export foretop-trace --format csv -o calls.csv",
]))]
pub struct Trace {
    #[command(subcommand)]
    what: Option<What>,

    #[command(flatten)]
    run: Run,
}

#[derive(Subcommand)]
enum What {
    Show(show::Show),
    Merge(export::Merge),
    Export(export::Export),
    Jobs(job::Jobs),
    Level(job::SetLevel),
    Sidecar(job::Sidecar),
}

impl Trace {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.what {
            None => self.run.run(),
            Some(What::Show(command)) => command.run(out),
            Some(What::Merge(command)) => command.run(out),
            Some(What::Export(command)) => command.run(out),
            Some(What::Jobs(command)) => command.run(out),
            Some(What::Level(command)) => command.run(out),
            Some(What::Sidecar(command)) => command.run(out),
        }
    }
}

/// Reads traces, and reports what of them is missing.
pub fn read(given: &Path) -> anyhow::Result<Vec<Recording>> {
    let path = mpi_job::find(given);
    let recordings = mpi_job::read(&path).with_context(|| format!("cannot read the trace `{}`", given.display()))?;
    for recording in &recordings {
        let rank = recording.head.rank;
        if let Some(fault) = &recording.fault {
            say(&format!("warning: the trace of rank {rank} is read in part: {fault}"));
        }
    }
    let n_ranks = recordings.iter().map(|recording| recording.head.n_ranks).max().unwrap_or(0);
    let n_missing = (n_ranks as usize).saturating_sub(recordings.len());
    if n_missing > 0 {
        say(&format!("warning: there are no traces of {n_missing} of {n_ranks} ranks"));
    }
    Ok(recordings)
}

fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Records that were lost of all that a rank recorded.
fn n_lost(recording: &Recording) -> u64 {
    recording.n_lost(RingKind::Calls) + recording.n_lost(RingKind::Stages)
}
