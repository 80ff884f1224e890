//! `foretop mpi tree apply`: another tree file for a job that runs.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use mpi_job::Folder;
use mpi_tree::Forest;

use super::{host_of_each_rank, in_file, read};
use command_line::failure::OrUsage;
use text::help::examples;

/// Give a running job other trees, from a later call on
///
/// Run it on the host of rank 0. All ranks change trees at the same call.
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi tree apply tree.toml node1-2f0"]))]
pub struct Apply {
    /// The tree file. If its epoch is not higher than that of the job, the next one is used
    #[arg(value_name = "TREE.toml")]
    file: PathBuf,

    /// The job: its name, or its folder
    #[arg(value_name = "JOB")]
    job: PathBuf,
}

impl Apply {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut forest = read(&self.file)?;
        let path = mpi_job::find(&self.job);
        let job =
            Folder::open(&path).with_context(|| format!("there is no job `{}`", self.job.display())).or_usage()?;
        if !job.is_alive()? {
            bail!("no process of the job `{}` runs", self.job.display());
        }
        let Some(text) = job.tree()? else {
            bail!("the job `{}` takes no trees: start it with mpi-coll and FORETOP_MPI_TREE", self.job.display());
        };
        let current = Forest::parse(&text).with_context(|| format!("the tree file of the job `{}`", path.display()))?;
        forest.check_job(&host_of_each_rank(&current)).with_context(|| in_file(&self.file)).or_usage()?;
        let next = current.epoch.checked_add(1).context("the job has had all epochs that there are")?;
        forest.epoch = forest.epoch.max(next);
        job.set_tree(&forest.to_text())?;
        Ok(writeln!(out, "epoch {}: {} -> {:016x}", forest.epoch, current.fingerprint(), forest.fingerprint())?)
    }
}
