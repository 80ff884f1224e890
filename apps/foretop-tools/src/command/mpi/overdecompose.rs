//! `foretop mpi overdecompose`: the same program with more and more ranks a processor, and whether that pays.

mod bench;
mod output;
mod process;
mod smt;
mod tuning;
mod weights;

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::Args;
use mpi_run::{Flavour, Header, Writer};
use overdecomposition::record::{SweepHost, SweepRun, TunedSide, WeighedHosts, kind};
use overdecomposition::{
    HostWeights, Overdecomposition, RankPlacing, SweepError, SweepSettings, SweepTrial, WaitMode, rank_placing, report,
    wait_mode,
};
use program::Progress;
use regex::Regex;

use self::bench::SweepBench;
use self::smt::Smt;
use super::study::open;
use command_line::argument::{NodeAccess, positive_span};
use command_line::failure::OrUsage;
use command_line::interruption::interruptions;
use command_line::terminal::say;
use text::help::examples;

/// Measure whether more ranks than processors make a program faster
///
/// Runs the unmodified program with 1, 2, 4 … ranks a processor, in random order, and accounts for the time against the
/// run with one. Ends in a verdict: the best ratio or no gain, with what limits it. All runs go into a result file; the
/// same command resumes a stopped sweep.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi overdecompose --ratios 1,2,4 --repeat 5 -- ./heat --grid {grid}",
    "foretop mpi overdecompose --advise -- ./heat",
    "foretop mpi overdecompose --ranks 4,16 --processors 4 --hosts a,b -- ./bt",
    "foretop mpi show overdecomposition.jsonl",
]))]
pub struct Overdecompose {
    /// The numbers of ranks a processor; 1 must be among them
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2,4", conflicts_with = "ranks")]
    ratios: Vec<u32>,

    /// The numbers of ranks, for programs that need squares or powers; one a processor must be among them
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    ranks: Vec<u32>,

    /// The number of runs at each ratio
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Make one run at 1:1 only, and print what published measurements found for programs that communicate alike
    #[arg(long)]
    advise: bool,

    /// The number of processors of each host that ranks may use [default: all of this host]
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..))]
    processors: Option<u32>,

    /// The threads of each core that ranks may use: all, or one, where cores have several (SMT)
    #[arg(long, value_enum, default_value = "on")]
    smt: Smt,

    /// The hosts to run on [default: this one]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    hosts: Vec<String>,

    /// The placing of ranks: blocked puts neighbouring ranks on one processor, cyclic on different ones
    #[arg(long, value_name = "blocked|cyclic", default_value = "blocked", value_parser = rank_placing)]
    placing: RankPlacing,

    /// The ranks of hosts: even, or in proportion to the cpu.availability that their nodes forecast
    #[arg(long, value_name = "even|forecast", default_value = "even")]
    weights: HostWeights,

    #[command(flatten)]
    access: NodeAccess,

    /// The way in which ranks wait: as the library does, by yielding the core, or by sleeping
    #[arg(long, value_name = "library|yield|block", default_value = "block", value_parser = wait_mode)]
    wait: WaitMode,

    /// The time after which a run is killed
    #[arg(long, value_name = "SPAN", value_parser = positive_span, default_value = "60s")]
    limit: Duration,

    /// The answer in the program's output: the last match of this regular expression, or of its first group. Runs with
    /// another answer than those at 1:1 do not count
    #[arg(long, value_name = "REGEX")]
    answer: Option<Regex>,

    /// The run time in seconds in the program's output, likewise [default: from MPI_Init to MPI_Finalize]
    #[arg(long, value_name = "REGEX")]
    time: Option<Regex>,

    /// Seed of the order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The MPI library: openmpi or mpich [default: the one that the program names]
    #[arg(long, value_name = "LIBRARY")]
    mpi: Option<Flavour>,

    /// The file for results, as JSON Lines
    #[arg(long, value_name = "FILE.jsonl", default_value = "overdecomposition.jsonl")]
    out: PathBuf,

    /// The program and its arguments; {ranks}, {grid} (as in 4x2) and {ratio} are replaced in them
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

impl Overdecompose {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let settings = self.settings().or_usage()?;
        if self.smt == Smt::Off {
            smt::restrict_to(&smt::processors(self.smt))?;
        }
        let interrupted = interruptions()?;
        let asked = self.ask_weights()?;
        let mut bench = SweepBench::new(&settings, self.mpi, self.answer, self.time)?;
        if let (true, Err(why)) = (self.advise, bench.counters()) {
            bail!("--advise needs what ranks report: {why}");
        }
        let arguments = std::env::args().skip(1).collect();
        let header = Header::of(&Overdecomposition, bench.flavour().to_string(), arguments, self.seed, Vec::new());
        let kinds = [kind::SETTINGS, kind::WEIGHTS, kind::TUNED, kind::ADVISED, kind::RUN];
        let mut writer = open(&self.out, &settings, &kinds, &header)?;
        let host = SweepHost { smt: smt::state(), counters: bench.counters() };
        if writer.outcome().all::<SweepHost>(kind::HOST)?.last() != Some(&host) {
            writer.record(kind::HOST, &host)?;
        }
        bench.use_weights(weigh(asked, &mut writer)?);
        let is_over = match self.advise {
            _ if !tune(&settings, &mut bench, &mut writer, &interrupted)? => false,
            true => advise(&settings, &bench, &mut writer, &interrupted)?,
            false => sweep(&settings, &bench, &mut writer, &interrupted)?,
        };
        if !is_over {
            say("stopped; run the same command to resume");
        }
        Ok(out.write_all(report(writer.outcome())?.to_text().as_bytes())?)
    }

    /// Asks the nodes of hosts for their weights, unless the result that is resumed has them.
    fn ask_weights(&self) -> anyhow::Result<Vec<f64>> {
        if self.weights == HostWeights::Even || self.out.exists() {
            return Ok(Vec::new());
        }
        weights::forecast(&self.hosts, self.limit, &self.access)
    }

    fn settings(&self) -> anyhow::Result<SweepSettings> {
        ensure!(
            self.smt == Smt::On || self.hosts.is_empty(),
            "--smt off restricts ranks on this host only: leave out --hosts, or turn SMT off on those hosts"
        );
        let here = u32::try_from(smt::processors(self.smt).len()).unwrap_or(1).max(1);
        let of_host = self.processors.unwrap_or(here);
        ensure!(
            !self.hosts.is_empty() || of_host <= here,
            "--processors {of_host} is more than the {here} cores that this process may run on: use {here} or less"
        );
        if self.weights == HostWeights::Forecast && (self.hosts.len() < 2 || self.placing == RankPlacing::Cyclic) {
            return Err(SweepError::NothingToWeigh.into());
        }
        let n_processors = of_host * u32::try_from(self.hosts.len().max(1))?;
        let ranks = match &self.ranks[..] {
            [] => SweepSettings::ranks_of_ratios(&self.ratios, n_processors)?,
            ranks => SweepSettings::ranks_as_given(ranks, n_processors)?,
        };
        let text = |regex: &Option<Regex>| regex.as_ref().map(|regex| regex.as_str().to_owned());
        Ok(SweepSettings {
            program: self.program.clone(),
            hosts: self.hosts.clone(),
            n_processors,
            uses_smt: self.smt == Smt::On,
            ranks,
            n_repeats: self.repeat,
            seed: self.seed,
            wait: self.wait,
            placing: self.placing,
            weights: self.weights,
            limit_ms: u64::try_from(self.limit.as_millis())?,
            answer: text(&self.answer),
            time: text(&self.time),
        })
    }
}

/// Returns the weights that the result has, else these, which it has from now on.
fn weigh(asked: Vec<f64>, writer: &mut Writer) -> anyhow::Result<Vec<f64>> {
    if let Some(before) = writer.outcome().all::<WeighedHosts>(kind::WEIGHTS)?.first() {
        return Ok(before.weights.clone());
    }
    if !asked.is_empty() {
        writer.record(kind::WEIGHTS, &WeighedHosts { weights: asked.clone() })?;
    }
    Ok(asked)
}

/// Tunes a program that tunes itself, once and at 1:1. Returns whether it came to the end.
fn tune(
    settings: &SweepSettings,
    bench: &mut SweepBench,
    writer: &mut Writer,
    interrupted: &Receiver<()>,
) -> anyhow::Result<bool> {
    if !tuning::is_tuned(&settings.program) {
        return Ok(true);
    }
    let before = writer.outcome().all::<TunedSide>(kind::TUNED)?.first().copied();
    let tuned = match before {
        Some(tuned) => tuned,
        None => {
            say("tuning at 1:1");
            let Some(side) = bench.tuned_side(settings, interrupted)? else { return Ok(false) };
            let tuned = TunedSide { side };
            writer.record(kind::TUNED, &tuned)?;
            tuned
        }
    };
    say(&format!("all runs have a grid of {} points on a side", tuned.side));
    bench.use_side(tuned.side);
    Ok(true)
}

/// Makes all runs that are left. Returns whether it came to the end.
fn sweep(
    settings: &SweepSettings,
    bench: &SweepBench,
    writer: &mut Writer,
    interrupted: &Receiver<()>,
) -> anyhow::Result<bool> {
    let done: Vec<SweepTrial> = writer.outcome().all::<SweepRun>(kind::RUN)?.into_iter().map(|run| run.trial).collect();
    let left: Vec<SweepTrial> = settings.trials().into_iter().filter(|trial| !done.contains(trial)).collect();
    say(&format!("{} runs are left, {} are done", left.len(), done.len()));
    let mut progress = Progress::start();
    for (at, trial) in left.iter().enumerate() {
        if let Some(line) = progress.line(clock::instant(), "runs", at as u64, left.len() as u64) {
            say(&format!("{line}; {trial}"));
        }
        let Some(run) = bench.run(settings, trial, interrupted)? else { return Ok(false) };
        record(writer, kind::RUN, &run)?;
    }
    Ok(true)
}

/// Makes one run at 1:1. Returns whether it came to the end.
fn advise(
    settings: &SweepSettings,
    bench: &SweepBench,
    writer: &mut Writer,
    interrupted: &Receiver<()>,
) -> anyhow::Result<bool> {
    let trial = SweepTrial { ratio: 1, n_ranks: settings.n_processors, round: 0 };
    let Some(run) = bench.run(settings, &trial, interrupted)? else { return Ok(false) };
    if let Some(fault) = run.end.fault() {
        bail!("there is no advice: {fault}: {}", run.error.unwrap_or_default());
    }
    ensure!(run.ranks.len() == run.trial.n_ranks as usize, "there is no advice: not all ranks ended by MPI_Finalize");
    record(writer, kind::ADVISED, &run)?;
    Ok(true)
}

/// Writes a run, and reports at once if it went wrong.
fn record(writer: &mut Writer, kind: &str, run: &SweepRun) -> anyhow::Result<()> {
    if let Some(fault) = run.end.fault() {
        let error = run.error.as_deref().and_then(|error| error.lines().last());
        say(&format!("{}: {fault}{}", run.trial, error.map_or_else(String::new, |line| format!(": {line}"))));
    }
    Ok(writer.record(kind, run)?)
}
