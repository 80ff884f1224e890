//! One run of a sweep: started with the waiting library in it, limited, and read.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::Context;
use mpi_job::{Folder, Process};
use mpi_run::{Flavour, Launcher, Placing, allowed_cpus};
use overdecomposition::record::{RunEnd, SweepRun};
use overdecomposition::{CallWait, RankPlacing, RankWait, SweepSettings, SweepTrial, WaitMode, substituted};
use procfs::CurrentSI;
use regex::Regex;
use tempfile::TempDir;

use super::super::program;
use super::process;
use command_line::terminal::say;

const WAITER: &str = "libmpi_wait.so";
/// The environment that the waiting library reads.
const MODE: &str = "FORETOP_MPI_WAIT";
const PROCESSORS: &str = "FORETOP_MPI_PROCESSORS";
const PLACING: &str = "FORETOP_MPI_PLACING";
const INTO: &str = "FORETOP_MPI_WAIT_FOLDER";
const JOB: &str = "FORETOP_MPI_JOB";
const PRELOAD: &str = "LD_PRELOAD";

/// Bytes at the end of a program's output that are searched: programs print answers last, and some print without end.
const OUTPUT_MAX: u64 = 1 << 20;
/// Lines of standard error that are kept of a run that failed.
const N_ERROR_LINES: usize = 20;

/// Runs the program, each time in the same way but for the number of ranks.
pub struct SweepBench {
    launcher: Launcher,
    /// The waiting library, or the reason why ranks run without it.
    library: Result<PathBuf, String>,
    answer: Option<Regex>,
    time: Option<Regex>,
    scratch: TempDir,
}

impl SweepBench {
    pub fn new(
        settings: &SweepSettings,
        mpi: Option<Flavour>,
        answer: Option<Regex>,
        time: Option<Regex>,
    ) -> anyhow::Result<Self> {
        let launcher = program::launcher_of(Path::new(&settings.program[0]), mpi)?;
        let library = program::find_library(WAITER);
        let library = match settings.wait {
            WaitMode::Library => library.map_err(|error| format!("{error:#}")),
            mode => Ok(library.with_context(|| format!("ranks cannot wait by `{}`", mode.name()))?),
        };
        if let Err(why) = &library {
            say(&format!("warning: ranks are neither bound nor accounted for: {why}"));
        }
        let scratch = tempfile::tempdir().context("cannot make a folder for output")?;
        Ok(Self { launcher, library, answer, time, scratch })
    }

    pub fn flavour(&self) -> Flavour {
        self.launcher.flavour
    }

    /// Whether ranks report, or the reason why they do not.
    pub fn counters(&self) -> Result<(), String> {
        self.library.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Makes one run; `None` if an interruption came.
    pub fn run(
        &self,
        settings: &SweepSettings,
        trial: &SweepTrial,
        interrupted: &Receiver<()>,
    ) -> anyhow::Result<Option<SweepRun>> {
        let files = tempfile::tempdir_in(self.scratch.path()).context("cannot make a folder for a run")?;
        let this = Process::this();
        let job = mpi_job::root().join(format!("overdecompose-{:x}-{:x}", this.pid, this.started));
        let folder = Folder::create(&job)?;
        let stolen = steal_seconds(settings);
        let ended = self
            .command(settings, trial, &job, files.path())
            .and_then(|command| process::run(command, Duration::from_millis(settings.limit_ms), interrupted));
        folder.remove()?;
        let Some((end, launcher_seconds)) = ended? else { return Ok(None) };
        let steal_seconds = steal_seconds(settings).zip(stolen).map(|(after, before)| (after - before).max(0.0));
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
            steal_seconds,
            ranks,
            calls,
        }))
    }

    fn command(
        &self,
        settings: &SweepSettings,
        trial: &SweepTrial,
        job: &Path,
        files: &Path,
    ) -> anyhow::Result<Command> {
        let words: Vec<String> = settings.program.iter().map(|word| substituted(word, trial)).collect();
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
        let hosts = hosts(settings, trial);
        let placing = Placing { n_ranks: trial.n_ranks, hosts, environment, ..Placing::default() };
        let mut command = self.launcher.command(&placing, Path::new(&words[0]));
        let file =
            |name: &str| File::create(files.join(name)).with_context(|| format!("cannot make a file for {name}"));
        command.args(&words[1..]).stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?);
        Ok(command)
    }
}

/// Returns hosts as launchers have them: each with all its ranks for blocked placing, in turn for cyclic placing.
fn hosts(settings: &SweepSettings, trial: &SweepTrial) -> Vec<String> {
    let n_ranks = trial.ratio * settings.processors_a_host();
    match settings.placing {
        RankPlacing::Blocked => settings.hosts.iter().map(|host| format!("{host}:{n_ranks}")).collect(),
        RankPlacing::Cyclic => settings.hosts.clone(),
    }
}

/// Returns the time that the hypervisor has taken from the processors to which ranks of this host bind themselves.
fn steal_seconds(settings: &SweepSettings) -> Option<f64> {
    let stat = procfs::KernelStats::current().ok()?;
    let processors = allowed_cpus().into_iter().take(settings.processors_a_host() as usize);
    processors.map(|cpu| Some(stat.cpu_time.get(cpu as usize)?.steal_duration()?.as_secs_f64())).sum()
}

fn text(path: &Path) -> anyhow::Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("`{}` is no text", path.display()))
}

/// Reads the files of all ranks. A rank of a run that ended badly has none; any other fault is reported.
fn read_ranks(folder: &Path, trial: &SweepTrial, end: RunEnd) -> (Vec<RankWait>, Vec<CallWait>) {
    let mut ranks = Vec::new();
    let mut calls = Vec::new();
    for number in 0..trial.n_ranks {
        let path = folder.join(format!("wait-{number}.jsonl"));
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        match RankWait::read(&text) {
            Ok((rank, of_rank)) => {
                ranks.push(rank);
                calls.extend(of_rank);
            }
            Err(error) if end == RunEnd::Well => say(&format!("{trial}: rank {number}: {}", text::with_causes(&error))),
            Err(_) => {}
        }
    }
    (ranks, CallWait::merged(calls))
}

/// Returns the end of a file as text.
fn tail(path: &Path) -> anyhow::Result<String> {
    let unreadable = || format!("cannot read `{}`", path.display());
    let mut file = File::open(path).with_context(unreadable)?;
    let n_bytes = file.metadata().with_context(unreadable)?.len();
    file.seek(SeekFrom::Start(n_bytes.saturating_sub(OUTPUT_MAX))).with_context(unreadable)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).with_context(unreadable)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(N_ERROR_LINES)..].join("\n")
}

/// Returns the first group of the last match, or the whole match if there are no groups.
fn last_match(regex: &Regex, text: &str) -> Option<String> {
    let found = regex.captures_iter(text).last()?;
    found.get(1).or_else(|| found.get(0)).map(|found| found.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_match_counts_and_its_first_group_if_there_is_one() {
        let text = "lu: verified, sum 12ab, 0.5 s\nlu: verified, sum 34cd, 0.25 s\n";
        let found = |pattern| last_match(&Regex::new(pattern).unwrap(), text);
        assert_eq!(found("sum ([0-9a-f]+)").as_deref(), Some("34cd"));
        assert_eq!(found("verified").as_deref(), Some("verified"));
        assert_eq!(found("WRONG"), None);
    }

    #[test]
    fn errors_keep_their_last_lines_that_are_not_empty() {
        let text = (0..30).map(|line| format!("line {line}\n\n")).collect::<String>();
        let kept = last_lines(&text);
        assert!(kept.starts_with("line 10\n") && kept.ends_with("line 29"), "{kept}");
        assert_eq!(last_lines("\n"), "");
    }
}
