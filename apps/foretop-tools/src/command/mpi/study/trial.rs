//! One trial of a study: a program is run under its launcher, with what belongs to the trial, and timed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use miniapp::record::RunSeen;
use mpi_run::{Flavour, Header, Outcome};
use mpi_tree::{Forest, Host, Rule, Tree};
use tempfile::TempDir;
use tree_study::record::{Inside, Run as Ran};
use tree_study::{FIRST, Topology, TreeStudy, Trial, WATCHED_BYTES, Way, Workload};
use units::ByteCount;

use super::super::program;
use super::super::trace::Run;
use super::super::tree::hosts_of;
use super::watched::{Program, Watched};
use super::{Place, run_seen};
use command_line::terminal::say;

/// A library whose ranks spin takes up to 80 ms a call where they share cores, and is run for so much fewer calls.
const SPINNING_SHARE: u64 = 100;
/// Divisor of the number of calls likewise, for a program that works between its calls.
const WORKING_SHARE: u64 = 4;

/// Runs trials, each in the same way but for what is compared.
pub struct Bench {
    program: PathBuf,
    flavour: Flavour,
    n_calls: u64,
    scratch: TempDir,
}

impl Bench {
    /// Prepares trials. Files that they need are kept below the folder of the study, which other hosts are more likely
    /// to have, too, than this one's `/tmp`.
    pub fn new(mpi: Option<Flavour>, n_calls: u64, folder: &Path) -> anyhow::Result<Self> {
        let program = program::find("foretop-miniapp", mpi)?;
        let folder = std::path::absolute(folder)?;
        let scratch = tempfile::tempdir_in(folder).context("cannot make a folder for traces")?;
        Ok(Self { program: program.path, flavour: program.flavour, n_calls, scratch })
    }

    /// Returns the hosts that the ranks of a topology run on, by the hosts' own names.
    pub fn place(&self, topology: &Topology) -> anyhow::Result<Vec<Host>> {
        self.timed(topology, self.words(Workload::Gsum, WATCHED_BYTES, 10), None, &[])?;
        Ok(hosts_of(&mpi_job::read(&self.traces())?))
    }

    /// The head of the study's results: that of the run before, as a study's own.
    pub fn header(&self) -> anyhow::Result<Header> {
        let of_run = Outcome::read(&self.result())?.header;
        let arguments = std::env::args().skip(1).collect();
        Ok(Header::of(&TreeStudy, of_run.mpi, arguments, of_run.seed, of_run.ranks))
    }

    pub fn run(&self, trial: &Trial, topology: &Topology, place: &Place) -> anyhow::Result<(Ran, Option<Inside>)> {
        let (forest, environment) = match &trial.way {
            Way::Library { is_yielding } => (None, waiting(self.flavour, *is_yielding)),
            Way::Tree(name) => (place.forest(name, 1), Vec::new()),
        };
        let n_calls = match (&trial.way, trial.workload) {
            (Way::Library { is_yielding: false }, _) => self.n_calls.div_ceil(SPINNING_SHARE),
            (_, Workload::Gsum) => self.n_calls,
            _ => self.n_calls.div_ceil(WORKING_SHARE),
        };
        let words = self.words(trial.workload, trial.size_bytes, n_calls);
        let seen = self.timed(topology, words, forest.as_ref(), &environment);
        if let Err(error) = &seen {
            say(&format!("{trial}: {error:#}"));
        }
        // A tree that a library cannot carry is a result, too.
        let run = Ran {
            trial: trial.clone(),
            call_ns: seen.as_ref().ok().map(|seen| seen.call_ns),
            communication_ratio: seen.as_ref().map_or(0.0, |seen| seen.communication_ratio),
        };
        let is_looked_into = seen.is_ok() && trial.round == 0 && matches!(trial.way, Way::Tree(_));
        let analyzers =
            if is_looked_into { mpi_analysis::analyzers(&mpi_job::read(&self.traces())?)? } else { Vec::new() };
        let inside = analyzers.first().map(|analyzer| Inside { trial: trial.clone(), analysis: analyzer.analysis() });
        Ok((run, inside))
    }

    fn timed(
        &self,
        topology: &Topology,
        words: Vec<OsString>,
        forest: Option<&Forest>,
        environment: &[(String, String)],
    ) -> anyhow::Result<RunSeen> {
        let mut run = Run::timed(words, topology.n_ranks, Some(self.flavour), topology.hosts.clone(), self.traces());
        if let Some(forest) = forest {
            run.tree = Some(self.tree_file(forest)?);
        }
        run_seen(&run.result(environment, &self.result())?)
    }

    /// Starts a program that runs over the first tree, or several like it, until it is no longer needed.
    pub fn start(&self, workload: Workload, topology: &Topology, place: &Place) -> anyhow::Result<Watched> {
        let forest = place.forest(FIRST, workload.n_trees()).expect("each place has the first tree");
        let program = Program {
            flavour: self.flavour,
            n_ranks: topology.n_ranks,
            hosts: &topology.hosts,
            tree: &self.tree_file(&forest)?,
            words: self.words(workload, WATCHED_BYTES, u64::from(u32::MAX)),
            scratch: self.scratch.path(),
        };
        program.start()
    }

    fn words(&self, workload: Workload, size_bytes: u64, n_calls: u64) -> Vec<OsString> {
        let (size, calls) = (format!("{size_bytes}B"), n_calls.to_string());
        let sizes = workload.n_trees().to_string();
        let words: Vec<&str> = match workload {
            Workload::Gsum | Workload::FourTrees => {
                vec!["gsum", "--size", &size, "--sizes", &sizes, "--calls", &calls]
            }
            Workload::ComputeGsum => vec!["compute-gsum", "--size", &size, "--calls", &calls, "--share", "50%"],
            Workload::Sor => vec!["sor", "--points", "256", "--iterations", &calls],
        };
        let program = self.program.clone().into_os_string();
        std::iter::once(program).chain(words.iter().map(Into::into)).chain(["--quiet".into()]).collect()
    }

    fn tree_file(&self, forest: &Forest) -> anyhow::Result<PathBuf> {
        let path = self.scratch.path().join("tree.toml");
        std::fs::write(&path, forest.to_text())?;
        Ok(path)
    }

    fn traces(&self) -> PathBuf {
        self.scratch.path().join("trace")
    }

    fn result(&self) -> PathBuf {
        self.scratch.path().join("result.jsonl")
    }
}

impl Place {
    /// Returns so many trees of this shape. Of several, each has a size of its own of those that [`Bench::start`]'s
    /// sums have in turn.
    fn forest(&self, name: &str, n_trees: u32) -> Option<Forest> {
        let (_, tree) = self.trees.iter().find(|(known, _)| known == name)?;
        let named = |at: u32| Tree { name: format!("{}-{at}", tree.name), ..tree.clone() };
        let trees = if n_trees == 1 { vec![tree.clone()] } else { (1..=n_trees).map(named).collect() };
        let bytes_max = |at| (at + 1 < n_trees).then(|| ByteCount::new(WATCHED_BYTES * u64::from(at + 1)));
        let rule = |at| Rule { operation: None, bytes_max: bytes_max(at), tree: at as usize };
        Some(Forest { epoch: 1, hosts: self.hosts.clone(), trees, rules: (0..n_trees).map(rule).collect() })
    }
}

/// Returns the variables that set whether waiting ranks yield their core. MPICH has no such setting.
fn waiting(flavour: Flavour, is_yielding: bool) -> Vec<(String, String)> {
    match flavour {
        Flavour::OpenMpi => vec![("OMPI_MCA_mpi_yield_when_idle".to_owned(), u8::from(is_yielding).to_string())],
        Flavour::Mpich => Vec::new(),
    }
}
