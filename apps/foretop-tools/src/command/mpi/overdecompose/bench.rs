//! One run of a sweep: started with the waiting library in it, limited, and read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::{Context, bail};
use mpi_job::{Folder, Process};
use mpi_run::{Flavour, Launcher, Outcome, Placing};
use overdecomposition::record::{RunEnd, SweepRun};
use overdecomposition::{RankPlacing, SweepSettings, SweepTrial, WaitMode, shares, substituted};
use regex::Regex;
use tempfile::TempDir;

use super::super::program;
use super::output::{last_lines, last_match, read_ranks, tail};
use super::process::{self, RunLimits};
use super::tuning;
use command_line::terminal::say;

const WAITER: &str = "libmpi_wait.so";
/// The environment that the waiting library reads.
const MODE: &str = "FORETOP_MPI_WAIT";
const PROCESSORS: &str = "FORETOP_MPI_PROCESSORS";
const PLACING: &str = "FORETOP_MPI_PLACING";
const INTO: &str = "FORETOP_MPI_WAIT_FOLDER";
const JOB: &str = "FORETOP_MPI_JOB";
const PRELOAD: &str = "LD_PRELOAD";

/// Bytes that a run may print.
const OUTPUT_BYTES_MAX: u64 = 256 << 20;

/// Runs the program, each time in the same way but for the number of ranks.
pub struct SweepBench {
    launcher: Launcher,
    /// The waiting library, or the reason why ranks run without it.
    library: Result<PathBuf, String>,
    answer: Option<Regex>,
    time: Option<Regex>,
    /// The program and its arguments, before those of a run are put in.
    words: Vec<String>,
    /// Weight of each host; none if ranks are spread evenly.
    weights: Vec<f64>,
    scratch: TempDir,
}

impl SweepBench {
    pub fn new(
        settings: &SweepSettings,
        mpi: Option<Flavour>,
        answer: Option<Regex>,
        time: Option<Regex>,
    ) -> anyhow::Result<Self> {
        let mut words = settings.program.clone();
        if let Some(own) = own_program(&words[0], mpi) {
            words[0] = text(&own)?;
        }
        let launcher = program::launcher_of(Path::new(&words[0]), mpi)?;
        let library = program::find_library(WAITER);
        let library = match settings.wait {
            WaitMode::Library => library.map_err(|error| format!("{error:#}")),
            mode => Ok(library.with_context(|| format!("ranks cannot wait by `{}`", mode.name()))?),
        };
        if let Err(why) = &library {
            say(&format!("warning: ranks are neither bound nor accounted for: {why}"));
        }
        let scratch = tempfile::tempdir().context("cannot make a folder for output")?;
        Ok(Self { launcher, library, answer, time, words, weights: Vec::new(), scratch })
    }

    pub fn flavour(&self) -> Flavour {
        self.launcher.flavour
    }

    /// Whether ranks report, or the reason why they do not.
    pub fn counters(&self) -> Result<(), String> {
        self.library.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Runs a program that tunes itself at 1:1, and returns the side that it found; `None` if an interruption came.
    pub fn tuned_side(&self, settings: &SweepSettings, interrupted: &Receiver<()>) -> anyhow::Result<Option<u32>> {
        let files = tempfile::tempdir_in(self.scratch.path()).context("cannot make a folder for a run")?;
        let result = files.path().join("result.jsonl");
        let trial = SweepTrial { ratio: 1, n_ranks: settings.n_processors, round: 0 };
        let words: Vec<String> = self.words.iter().cloned().chain(["--out".to_owned(), text(&result)?]).collect();
        let Some((end, _)) = self.limited(settings, &trial, &words, files.path(), interrupted)? else {
            return Ok(None);
        };
        if let Some(fault) = end.fault() {
            bail!("cannot tune at 1:1: {fault}: {}", last_lines(&tail(&files.path().join("stderr"))?));
        }
        let side = tuning::side_of(&Outcome::read(&result)?);
        Ok(Some(side.context("cannot tune at 1:1: the program's result has no side of a grid")?))
    }

    /// Has all runs spread their ranks over hosts by these weights.
    pub fn use_weights(&mut self, weights: Vec<f64>) {
        self.weights = weights;
    }

    /// Has all runs use this side of a grid.
    pub fn use_side(&mut self, side: u32) {
        self.words = tuning::with_side(&self.words, side);
    }

    /// Makes one run; `None` if an interruption came.
    pub fn run(
        &self,
        settings: &SweepSettings,
        trial: &SweepTrial,
        interrupted: &Receiver<()>,
    ) -> anyhow::Result<Option<SweepRun>> {
        let files = tempfile::tempdir_in(self.scratch.path()).context("cannot make a folder for a run")?;
        let ended = self.limited(settings, trial, &self.words, files.path(), interrupted)?;
        let Some((end, launcher_seconds)) = ended else { return Ok(None) };
        let output = tail(&files.path().join("stdout"))?;
        let (ranks, calls) = read_ranks(files.path(), trial, end);
        let found = |regex: &Option<Regex>| regex.as_ref().and_then(|regex| last_match(regex, &output));
        Ok(Some(SweepRun {
            trial: *trial,
            end,
            launcher_seconds,
            program_seconds: found(&self.time).and_then(|seconds| seconds.parse().ok()),
            answer: found(&self.answer),
            error: (end != RunEnd::Well)
                .then(|| tail(&files.path().join("stderr")))
                .transpose()?
                .map(|text| last_lines(&text)),
            ranks,
            calls,
        }))
    }

    /// Runs these words to their end or the limit, in a job of their own.
    fn limited(
        &self,
        settings: &SweepSettings,
        trial: &SweepTrial,
        words: &[String],
        files: &Path,
        interrupted: &Receiver<()>,
    ) -> anyhow::Result<Option<(RunEnd, f64)>> {
        let outputs = ["stdout", "stderr"].map(|name| files.join(name));
        let time = Duration::from_millis(settings.limit_ms);
        let limits = RunLimits { time, outputs: &outputs, output_bytes: OUTPUT_BYTES_MAX };
        let this = Process::this();
        let job = mpi_job::root().join(format!("overdecompose-{:x}-{:x}", this.pid, this.started));
        let folder = Folder::create(&job)?;
        let ended = self
            .command(settings, trial, words, &job, files)
            .and_then(|command| process::run(command, limits, interrupted));
        folder.remove()?;
        ended
    }

    fn command(
        &self,
        settings: &SweepSettings,
        trial: &SweepTrial,
        words: &[String],
        job: &Path,
        files: &Path,
    ) -> anyhow::Result<Command> {
        let words: Vec<String> = words.iter().map(|word| substituted(word, trial)).collect();
        let mut environment = Vec::new();
        if let Ok(library) = &self.library {
            let others = std::env::var(PRELOAD).ok().filter(|others| !others.is_empty());
            let preloaded: Vec<String> = std::iter::once(text(library)?).chain(others).collect();
            environment.extend([
                (PRELOAD, preloaded.join(":")),
                (MODE, settings.wait.name().to_owned()),
                (PROCESSORS, settings.processors_a_host().to_string()),
                (PLACING, settings.placing.name().to_owned()),
                (INTO, text(files)?),
                (JOB, text(job)?),
            ]);
        }
        let environment = environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let hosts = hosts(settings, trial, &self.weights);
        let placing = Placing { n_ranks: trial.n_ranks, hosts, environment, ..Placing::default() };
        let mut command = self.launcher.command(&placing, Path::new(&words[0]));
        let file =
            |name: &str| File::create(files.join(name)).with_context(|| format!("cannot make a file for {name}"));
        command.args(&words[1..]).stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?);
        Ok(command)
    }
}

/// Returns one of our own programs by its name, in the places where `foretop mpi` looks for them.
fn own_program(name: &str, mpi: Option<Flavour>) -> Option<PathBuf> {
    if name.contains('/') || !name.starts_with("foretop-") {
        return None;
    }
    program::find(name, mpi).ok().map(|program| program.path)
}

/// Returns hosts as launchers have them: each with all its ranks for blocked placing, in turn for cyclic placing.
fn hosts(settings: &SweepSettings, trial: &SweepTrial, weights: &[f64]) -> Vec<String> {
    if settings.placing == RankPlacing::Cyclic {
        return settings.hosts.clone();
    }
    let even = vec![1.0; settings.hosts.len()];
    let shares = shares(trial.n_ranks, if weights.is_empty() { &even } else { weights });
    let with_ranks = settings.hosts.iter().zip(shares).filter(|(_, share)| *share > 0);
    with_ranks.map(|(host, share)| format!("{host}:{share}")).collect()
}

fn text(path: &Path) -> anyhow::Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("`{}` is no text", path.display()))
}
