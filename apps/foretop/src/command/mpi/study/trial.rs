//! One trial of a study: a program is run under its launcher, with what belongs to the trial, and timed.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use miniapp::record::RunSeen;
use mpi_run::{Flavour, Header, Outcome};
use mpi_tree::{Forest, Host, Rule, Tree};
use tempfile::TempDir;
use tree_study::record::{Inside, Run as Ran};
use tree_study::{FIRST, Side, Subject, Topology, TreeStudy, Trial, Way, Workload};

use super::super::program;
use super::super::trace::{Level, Run};
use super::super::tree::hosts_of;

/// A library whose ranks spin takes milliseconds a call where they share cores, and is run for this share of the calls.
const SPINNING_SHARE: u64 = 20;
/// Of these runs, whose calls are followed by work of any length.
const WORKING_SHARE: u64 = 4;

/// Runs trials, each in the same way but for what is compared.
pub struct Bench {
    program: PathBuf,
    flavour: Flavour,
    n_calls: u64,
    scratch: TempDir,
}

impl Bench {
    pub fn new(mpi: Option<Flavour>, n_calls: u64) -> anyhow::Result<Self> {
        let program = program::find("foretop-miniapp", mpi)?;
        let scratch = tempfile::tempdir().context("cannot make a folder for traces")?;
        Ok(Self { program: program.path, flavour: program.flavour, n_calls, scratch })
    }

    /// Which ranks of a topology run where, as the hosts call themselves.
    pub fn place(&self, topology: &Topology) -> anyhow::Result<Vec<Host>> {
        self.timed(topology, Workload::Gsum, 8, 10, Level::Calls, None, false)?;
        Ok(hosts_of(&mpi_job::read(&self.traces())?))
    }

    /// The head of the study's results: that of the run before, as a study's own.
    pub fn header(&self) -> anyhow::Result<Header> {
        let of_run = Outcome::read(&self.result())?.header;
        let arguments = std::env::args().skip(1).collect();
        Ok(Header::of(&TreeStudy, of_run.mpi, arguments, of_run.seed, of_run.ranks))
    }

    pub fn run(
        &self,
        trial: &Trial,
        topology: &Topology,
        hosts: &[Host],
        trees: &[(String, Tree)],
    ) -> anyhow::Result<(Ran, Option<Inside>)> {
        let tree = |name: &str| trees.iter().find(|(known, _)| known == name).map(|(_, tree)| forest(hosts, tree));
        let (level, forest, is_yielding) = match &trial.way {
            Way::Library { is_yielding } => (Level::Trees, None, *is_yielding),
            Way::Tree(name) => (Level::Trees, tree(name), false),
            Way::Pair(Subject::Collectors, Side::Without) => (Level::Off, tree(FIRST), false),
            Way::Pair(..) => (Level::Trees, tree(FIRST), false),
        };
        let n_calls = match (&trial.way, trial.workload) {
            (Way::Library { is_yielding: false }, _) => self.n_calls.div_ceil(SPINNING_SHARE),
            (_, Workload::Gsum) => self.n_calls,
            _ => self.n_calls.div_ceil(WORKING_SHARE),
        };
        let seen = self.timed(topology, trial.workload, trial.size_bytes, n_calls, level, forest.as_ref(), is_yielding);
        // A tree that a library cannot carry is a result, too.
        let run = Ran {
            trial: trial.clone(),
            call_ns: seen.as_ref().ok().map(|seen| seen.call_ns),
            communication_ratio: seen.as_ref().map_or(0.0, |seen| seen.communication_ratio),
            monitor: None,
        };
        let is_looked_into = seen.is_ok() && trial.round == 0 && matches!(trial.way, Way::Tree(_));
        let analyzers =
            if is_looked_into { mpi_analysis::analyzers(&mpi_job::read(&self.traces())?)? } else { Vec::new() };
        let inside = analyzers.first().map(|analyzer| Inside { trial: trial.clone(), analysis: analyzer.analysis() });
        Ok((run, inside))
    }

    #[expect(clippy::too_many_arguments, reason = "what a run may differ in")]
    fn timed(
        &self,
        topology: &Topology,
        workload: Workload,
        size_bytes: u64,
        n_calls: u64,
        level: Level,
        forest: Option<&Forest>,
        is_yielding: bool,
    ) -> anyhow::Result<RunSeen> {
        let (size, calls) = (format!("{size_bytes}B"), n_calls.to_string());
        let words: Vec<&str> = match workload {
            Workload::Gsum => vec!["gsum", "--size", &size, "--calls", &calls],
            Workload::ComputeGsum => vec!["compute-gsum", "--size", &size, "--calls", &calls, "--share", "50%"],
            Workload::Sor => vec!["sor", "--points", "256", "--iterations", &calls],
        };
        let result = self.result();
        match std::fs::remove_file(&result) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut command = vec![self.program.clone().into_os_string()];
        command.extend(words.iter().map(Into::into));
        command.extend(["--quiet".into(), "--out".into(), result.clone().into_os_string()]);
        let mut run = Run::timed(command, topology.n_ranks, Some(self.flavour), topology.hosts.clone(), self.traces());
        run.level = level;
        if let Some(forest) = forest {
            let path = self.scratch.path().join("tree.toml");
            std::fs::write(&path, forest.to_text())?;
            run.tree = Some(path);
        }
        let environment = if is_yielding { yielding(self.flavour) } else { Vec::new() };
        let ended = run.trace(&environment, false)?;
        ensure!(ended.success(), "`foretop-miniapp` ended with {ended}");
        let seen: Vec<RunSeen> = Outcome::read(&result)?.all(miniapp::record::kind::RUN)?;
        seen.into_iter().next().context("the program's result says nothing of its run")
    }

    fn traces(&self) -> PathBuf {
        self.scratch.path().join("trace")
    }

    fn result(&self) -> PathBuf {
        self.scratch.path().join("result.jsonl")
    }
}

fn forest(hosts: &[Host], tree: &Tree) -> Forest {
    let rules = vec![Rule { operation: None, bytes_max: None, tree: 0 }];
    Forest { epoch: 1, hosts: hosts.to_vec(), trees: vec![tree.clone()], rules }
}

/// What makes waiting ranks give their core away. MPICH's always do.
fn yielding(flavour: Flavour) -> Vec<(String, String)> {
    match flavour {
        Flavour::OpenMpi => vec![("OMPI_MCA_mpi_yield_when_idle".to_owned(), "1".to_owned())],
        Flavour::Mpich => Vec::new(),
    }
}
