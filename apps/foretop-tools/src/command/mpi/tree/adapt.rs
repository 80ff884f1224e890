//! `foretop mpi tree adapt`: changes the tree of a running job as its stages suggest, and takes back what does not
//! help.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use mpi_analysis::{Analysis, Analyzer, Search};
use mpi_job::Folder;
use mpi_tree::Forest;
use text::figure::span_ns;

use command_line::argument::positive_span;
use text::help::examples;

/// Change the tree of a running job as its stages suggest
///
/// The command watches, makes one change, watches again, and reverts the change unless calls got faster. It ends when
/// nothing is left to try or the job has ended. All ranks apply a change at the same call.
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi tree adapt node1-2f0 --every 10s"]))]
pub struct Adapt {
    /// The job: its name or folder
    job: PathBuf,

    /// Name of the tree [default: the first one]
    #[arg(long, value_name = "NAME")]
    tree: Option<String>,

    /// The time to watch before each decision
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = positive_span)]
    every: Duration,
}

impl Adapt {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let folder = Folder::open(&mpi_job::find(&self.job))?;
        let text = folder.tree()?.context("no collective of this job goes over a tree")?;
        let mut forest = Forest::parse(&text).context("the job's tree file cannot be read")?;
        let is_wanted = |tree: &mpi_tree::Tree| self.tree.as_ref().is_none_or(|name| *name == tree.name);
        let at = forest.trees.iter().position(is_wanted).context("the job has no such tree")?;
        // All that is known of trees here comes from this job.
        let mut search = Search::over(forest.hosts.clone(), vec![0], 1);
        let mut now = search.add("as it was".to_owned(), forest.trees[at].clone());
        let Some(mut analysis) = self.watch(&folder, &forest, at)? else { return end(out) };
        search.record(now, &[analysis.slowest.mean_ns]);
        'better: loop {
            for step in search.steps(&forest.trees[at].clone(), &analysis) {
                let before = forest.trees[at].clone();
                let candidate = search.add(step.reason.clone(), step.tree.clone());
                put(&folder, &mut forest, at, step.tree)?;
                let Some(changed) = self.watch(&folder, &forest, at)? else { return end(out) };
                search.record(candidate, &[changed.slowest.mean_ns]);
                let is_kept = search.is_better(candidate, now, 0);
                let (old, new) = (span_ns(search.time_ns(now, 0)), span_ns(search.time_ns(candidate, 0)));
                writeln!(out, "{}: {old} to {new}, {}", step.reason, if is_kept { "kept" } else { "taken back" })?;
                out.flush()?;
                if is_kept {
                    (now, analysis) = (candidate, changed);
                    continue 'better;
                }
                put(&folder, &mut forest, at, before)?;
            }
            return Ok(writeln!(out, "nothing is left to try; a call takes {}", span_ns(search.time_ns(now, 0)))?);
        }
    }

    /// Returns the analysis of the first interval in which all ranks recorded a call over the tree in force; none when
    /// the job has ended.
    fn watch(&self, folder: &Folder, forest: &Forest, at: usize) -> anyhow::Result<Option<Analysis>> {
        let (name, id) = (&forest.trees[at].name, forest.id_of(at));
        let mut is_waiting = false;
        loop {
            clock::sleep(self.every);
            if !folder.is_alive()? {
                return Ok(None);
            }
            let mut recordings = folder.recordings()?;
            recordings.iter_mut().for_each(|recording| recording.rings.retain(|ring| ring.note.tree == Some(id)));
            let analyzers = mpi_analysis::analyzers(&recordings)?;
            if let Some(analysis) = analyzers.first().map(Analyzer::analysis).filter(|analysis| analysis.n_calls > 0) {
                return Ok(Some(analysis));
            }
            if !std::mem::replace(&mut is_waiting, true) {
                tracing::warn!(tree = name, "no call over the tree was recorded by all ranks: waiting for one");
            }
        }
    }
}

fn end(out: &mut dyn Write) -> anyhow::Result<()> {
    Ok(writeln!(out, "the job has ended")?)
}

fn put(folder: &Folder, forest: &mut Forest, at: usize, tree: mpi_tree::Tree) -> anyhow::Result<()> {
    forest.trees[at] = tree;
    forest.epoch += 1;
    Ok(folder.set_tree(&forest.to_text())?)
}
