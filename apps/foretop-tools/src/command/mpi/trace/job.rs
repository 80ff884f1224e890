//! Jobs that run: which there are, how much they record, and their files while they run.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use mpi_job::Folder;
use mpi_tree::{Collector, Forest};
use signal::Glob;
use stream::Security;
use stream::registry::{Query, find};
use text::{Align, Table, printable};

use super::super::monitor;
use super::super::watch::SEARCH_TIME;
use super::count;
use super::run::Level;
use command_line::failure::OrUsage;
use command_line::interruption;
use text::help::examples;

/// Interval at which a sidecar looks when there is something to file.
const PACE: Duration = Duration::from_millis(4);

/// List the traced jobs of this host
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi trace jobs",
    "foretop mpi trace jobs --clean",
    "foretop mpi trace jobs --elsewhere",
]))]
pub struct Jobs {
    /// Remove what ended jobs left behind
    #[arg(long)]
    clean: bool,

    /// Also list what `foretop mpi monitor` serves here and on the local network
    #[arg(long)]
    elsewhere: bool,
}

/// Change how much a job records while it runs
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi trace level trace-1a2b-3c4d5e off",
    "foretop mpi trace level trace-1a2b-3c4d5e off --node site-b",
]))]
pub struct SetLevel {
    /// The job: its name as `jobs` lists it, or its folder
    job: PathBuf,

    /// The level of recording from the next call on
    #[arg(value_enum)]
    level: Level,

    /// Only the stages at and below this node of the tree; `TREE/NODE` if several trees have one of this name
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
}

/// Write the records of a job to files while it runs on this host
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi trace sidecar /dev/shm/foretop-0/trace-1a2b-3c4d5e --out run-1"]))]
pub struct Sidecar {
    /// The job: its name as `jobs` lists it, or its folder
    job: PathBuf,

    /// The folder for trace files
    #[arg(long, value_name = "DIR", default_value = "foretop-trace")]
    out: PathBuf,
}

impl Jobs {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let columns =
            [("job", Align::Left), ("state", Align::Left), ("ranks", Align::Right), ("records", Align::Right)];
        let mut table = Table::new(&columns);
        for folder in Folder::all(&mpi_job::root())? {
            let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_alive = folder.is_alive()?;
            let rings: Vec<_> = folder.rings()?.into_iter().flatten().collect();
            let ranks: BTreeSet<u32> = rings.iter().map(|ring| ring.header.rank).collect();
            let n_records: u64 = rings.iter().map(|ring| ring.ring().n_written()).sum();
            let state = match (is_alive, self.clean) {
                (true, _) => "runs",
                (false, false) => "ended",
                (false, true) => "removed",
            };
            table.row([name, state.to_owned(), ranks.len().to_string(), n_records.to_string()]);
            if self.clean && !is_alive {
                drop(rings);
                folder.remove()?;
            }
        }
        write!(out, "{table}")?;
        if self.elsewhere {
            write!(out, "\n{}", served()?)?;
        }
        Ok(())
    }
}

/// Jobs that monitors serve.
fn served() -> anyhow::Result<Table> {
    let mut security = Security::default();
    security.registry.lan = true;
    let monitors = Query { component: Some(Glob::exactly(monitor::COMPONENT)), ..Query::default() };
    let mut table = Table::new(&["job", "host", "monitor"].map(|column| (column, Align::Left)));
    for found in find(&monitors, SEARCH_TIME, &security)? {
        let job = found.stream.strip_prefix(monitor::STREAM_PREFIX).unwrap_or(&found.stream);
        table.row([job, &found.host, &found.servers.join(", ")].map(printable));
    }
    Ok(table)
}

impl SetLevel {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let folder = Folder::open(&mpi_job::find(&self.job)).or_usage()?;
        let rings: Vec<_> = folder.rings()?.into_iter().flatten().collect();
        if rings.is_empty() {
            bail!("the job `{}` records nothing on this host", self.job.display());
        }
        match &self.node {
            None => rings.iter().for_each(|ring| ring.ring().set_level(self.level.of_ring())),
            Some(node) => {
                let text = folder.tree()?.ok_or_else(|| anyhow!("the job has no tree")).or_usage()?;
                let forest = Forest::parse(&text).context("cannot read the job's tree file")?;
                let collectors = collectors_below(&forest, node).or_usage()?;
                for ring in &rings {
                    collectors.iter().for_each(|collector| ring.ring().turn(*collector, self.level == Level::Trees));
                }
            }
        }
        Ok(writeln!(out, "changed {} to {}", count(rings.len(), "ring"), self.level.word())?)
    }
}

impl Level {
    fn of_ring(self) -> mpi_trace::Level {
        match self {
            Self::Off => mpi_trace::Level::Off,
            Self::Calls => mpi_trace::Level::Calls,
            Self::Trees => mpi_trace::Level::Trees,
        }
    }
}

/// The collectors at a node and at all nodes that contribute to it.
fn collectors_below(forest: &Forest, wanted: &str) -> anyhow::Result<Vec<u16>> {
    let (tree_name, node_name) = wanted.split_once('/').map_or((None, wanted), |(tree, node)| (Some(tree), node));
    let trees = forest.trees.iter().filter(|tree| tree_name.is_none_or(|name| tree.name == name));
    let found = trees.filter_map(|tree| Some((tree, tree.nodes.iter().position(|node| node.name == node_name)?)));
    let (tree, top) = match *found.collect::<Vec<_>>() {
        [found] => found,
        [] => bail!("no tree of the job has a node `{wanted}`"),
        _ => bail!("several trees have a node `{wanted}`: say TREE/NODE"),
    };
    let is_below = |mut node: usize| loop {
        match tree.nodes[node].parent {
            _ if node == top => break true,
            Some(parent) => node = parent,
            None => break false,
        }
    };
    let collectors = tree.collectors(&forest.hosts).into_iter().zip(0..);
    Ok(collectors.filter(|(Collector { node, .. }, _)| is_below(*node)).map(|(_, number)| number).collect())
}

impl Sidecar {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let folder = Folder::open(&mpi_job::find(&self.job)).or_usage()?;
        let mut signals = interruption::watch()?;
        let mut sidecar = mpi_job::Sidecar::new(folder.clone(), self.out);
        while folder.is_alive()? && signals.pending().next().is_none() {
            sidecar.follow()?;
            sidecar.sample()?;
            clock::sleep(PACE);
        }
        for path in sidecar.finish()? {
            writeln!(out, "{}", path.display())?;
        }
        Ok(())
    }
}
