//! `foretop mpi study`: published studies of collectives, made again on these hosts.

mod trial;
mod wan;
mod watched;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use miniapp::record::RunSeen;
use mpi_run::{Document, Flavour, Header, Measurement, Outcome, Writer};
use mpi_tree::{Host, Tree};
use program::Progress;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tree_study::record::{Paired, Run, kind};
use tree_study::{Pair, Settings, Topology, TreeStudy, Trial, WATCHED, configurations, report};

use self::trial::Bench;
use command_line::argument::drawing::{Drawing, Kind};
use command_line::failure::OrUsage;
use command_line::interruption::interruptions;
use command_line::terminal::{say, write_json};
use text::help::examples;

/// Repeat published studies on these hosts
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi study trees --quick", "foretop mpi study wan --quick"]))]
pub struct Study {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Trees(Trees),
    Wan(wan::Wan),
}

/// Measure how much the shape of a tree matters, and the overhead of watching it
///
/// Repeats the speed-ups and pathmaps of Bongo, Anshus and Bjørndalen (Euro-Par 2004) and their Tables 1 to 3 (ICPP
/// 2005), with their figures beside those measured here. The folder gets a report, its tables as CSV and JSON,
/// pictures, and all results: the same command resumes a stopped study.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi study trees --quick",
    "foretop mpi study trees --hosts a:1,b:1,c:1,d:1 --hosts a:4,b:4 --out study",
]))]
struct Trees {
    /// Hosts with their ranks; each use is a topology of its own [default: this host]
    #[arg(long, value_name = "HOST:RANKS,…")]
    hosts: Vec<Topology>,

    /// The number of processes on this host
    #[arg(short = 'n', long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..), conflicts_with = "hosts")]
    ranks: u32,

    /// The MPI library: openmpi or mpich [default: the first one found]
    #[arg(long, value_name = "LIBRARY")]
    mpi: Option<Flavour>,

    /// Rehearse in a minute on one host; the figures have little meaning
    #[arg(long)]
    quick: bool,

    /// The number of runs of each tree [default: 5, or 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// The number of pairs of stretches to measure for each overhead [default: 9, or 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pairs: Option<u32>,

    /// The folder for all results
    #[arg(long, value_name = "FOLDER", default_value = "tree-study")]
    out: PathBuf,
}

/// Hosts of the ranks, and the trees over them.
struct Place {
    hosts: Vec<Host>,
    trees: Vec<(String, Tree)>,
}

/// Threads of a parallel gather.
const N_HELPERS: u32 = 4;
/// All results of a study, in its folder.
const RESULTS: &str = "study.jsonl";

impl Study {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.what {
            What::Trees(trees) => trees.run(out),
            What::Wan(wan) => wan.run(out),
        }
    }
}

impl Trees {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let settings = self.settings();
        let interrupted = interruptions()?;
        std::fs::create_dir_all(&self.out).with_context(|| format!("cannot make `{}`", self.out.display()))?;
        let bench = Bench::new(self.mpi, settings.n_calls, &self.out)?;
        let place = |topology| {
            let hosts = bench.place(topology)?;
            anyhow::Ok(Place { trees: configurations(&hosts), hosts })
        };
        let places = settings.topologies.iter().map(place).collect::<anyhow::Result<Vec<_>>>()?;
        let kinds = [kind::SETTINGS, kind::RUN, kind::PAIR];
        let mut writer = open(&self.out.join(RESULTS), &settings, &kinds, &bench.header()?)?;
        let is_over = self.compare(&settings, &bench, &places, &mut writer, &interrupted)?
            && self.watch(&settings, &bench, &places[0], &mut writer, &interrupted)?;
        if !is_over {
            say("stopped; run the same command to resume");
        }
        let document = report(writer.outcome())?;
        write_report(&self.out, &TreeStudy, (writer.outcome(), &document), kind::RUN, out)
    }

    /// Times all trees. Gives whether it came to the end.
    fn compare(
        &self,
        settings: &Settings,
        bench: &Bench,
        places: &[Place],
        writer: &mut Writer,
        interrupted: &Receiver<()>,
    ) -> anyhow::Result<bool> {
        let done: Vec<Trial> = writer.outcome().all::<Run>(kind::RUN)?.into_iter().map(|run| run.trial).collect();
        let names = |place: &Place| place.trees.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let trials = places.iter().enumerate().flat_map(|(at, place)| settings.trials(at, &names(place)));
        let left: Vec<Trial> = trials.filter(|trial| !done.contains(trial)).collect();
        say(&format!("{} runs are left, {} are done; results in {}", left.len(), done.len(), self.out.display()));
        let mut progress = Progress::start();
        for (at, trial) in left.iter().enumerate() {
            let topology = &settings.topologies[trial.topology];
            if let Some(line) = progress.line(clock::instant(), &topology.to_string(), at as u64, left.len() as u64) {
                say(&format!("{line}; {trial}"));
            }
            let (run, inside) = bench.run(trial, topology, &places[trial.topology])?;
            if interrupted.try_recv().is_ok() {
                return Ok(false);
            }
            // The run is the last to be written: what stands before it belongs to it.
            if let Some(inside) = inside {
                writer.record(kind::INSIDE, &inside)?;
            }
            writer.record(kind::RUN, &run)?;
        }
        Ok(true)
    }

    /// Measures what watching costs on the first topology. Gives whether it came to the end.
    fn watch(
        &self,
        settings: &Settings,
        bench: &Bench,
        place: &Place,
        writer: &mut Writer,
        interrupted: &Receiver<()>,
    ) -> anyhow::Result<bool> {
        let done: Vec<Pair> =
            writer.outcome().all::<Paired>(kind::PAIR)?.into_iter().map(|paired| paired.pair).collect();
        let mut progress = Progress::start();
        for workload in WATCHED {
            let left: Vec<Pair> = settings.pairs(workload).into_iter().filter(|pair| !done.contains(pair)).collect();
            if left.is_empty() {
                continue;
            }
            say(&format!("{} pairs are left of {workload}", left.len()));
            let mut watched = bench.start(workload, &settings.topologies[0], place)?;
            for (at, pair) in left.iter().enumerate() {
                if let Some(line) = progress.line(clock::instant(), "watching", at as u64, left.len() as u64) {
                    say(&format!("{line}; {}", pair.subject));
                }
                let paired = watched.measure(pair, Duration::from_millis(settings.stretch_ms));
                if interrupted.try_recv().is_ok() {
                    return Ok(false);
                }
                writer.record(kind::PAIR, &paired?)?;
            }
        }
        Ok(true)
    }

    fn settings(&self) -> Settings {
        let here = || vec![Topology { hosts: Vec::new(), n_ranks: self.ranks }];
        let topologies = if self.hosts.is_empty() { here() } else { self.hosts.clone() };
        let (n_calls, n_rounds, n_pairs, stretch_ms) =
            if self.quick { (2000, 2, 2, 200) } else { (10_000, 5, 9, 1000) };
        Settings {
            topologies,
            n_calls,
            n_rounds: self.rounds.unwrap_or(n_rounds),
            n_pairs: self.pairs.unwrap_or(n_pairs),
            stretch_ms,
            n_helpers: N_HELPERS,
        }
    }
}

/// Returns the program's record of its run.
fn run_seen(outcome: &Outcome) -> anyhow::Result<RunSeen> {
    let seen: Vec<RunSeen> = outcome.all(miniapp::record::kind::RUN)?;
    seen.into_iter().next().context("the program's result says nothing of its run")
}

/// Writes the report, its tables and pictures beside the results.
fn write_report(
    folder: &Path,
    study: &dyn Measurement,
    (outcome, document): (&Outcome, &Document),
    runs: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    write!(out, "{}", document.to_text())?;
    let mut names = Vec::new();
    for (name, picture) in study.pictures(outcome)? {
        let name = format!("{name}.svg");
        Drawing::new(folder.join(&name), Kind::Svg).draw(&picture)?;
        names.push(name);
    }
    let mut json = Vec::new();
    write_json(&mut json, document)?;
    let files = [
        ("report.md", document.to_markdown(&names).into_bytes()),
        ("report.json", json),
        ("runs.csv", outcome.csv(runs).into_bytes()),
    ];
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::write(&path, content).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(writeln!(out, "\n{}", folder.join("report.md").display())?)
}

/// The results of a study that begins, or of one with the same settings that goes on. The first of the kinds is that of
/// the settings; what stands behind the last record of any of them belongs to a run that broke off.
pub fn open<S: Serialize + DeserializeOwned + PartialEq>(
    path: &Path,
    settings: &S,
    kinds: &[&str],
    header: &Header,
) -> anyhow::Result<Writer> {
    if !path.exists() {
        let mut writer = Writer::create(Some(path), header)?;
        writer.record(kinds[0], settings)?;
        return Ok(writer);
    }
    let before = Outcome::read(path)?;
    if before.all::<S>(kinds[0])?.first() != Some(settings) {
        let path = path.display();
        let error = anyhow!("`{path}` is of a study with other settings: choose another place with --out");
        return Err(error).or_usage();
    }
    let last = before.records.iter().rev().map(|(kind, _)| kind.as_str()).find(|kind| kinds.contains(kind));
    Ok(Writer::resume(path, last.unwrap_or(kinds[0]))?)
}
