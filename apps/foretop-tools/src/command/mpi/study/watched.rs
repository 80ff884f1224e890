//! A program that runs for as long as it is needed, and what a call takes in it while something is switched on and off.
//!
//! Both stretches of a pair are of the same run, one right after the other, so that starting the program counts in
//! neither.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clock::Stopwatch;
use mpi_job::{Folder, RingFile};
use mpi_run::{Flavour, Launcher, Placing};
use mpi_trace::RingKind;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tree_study::record::{Monitored, Paired};
use tree_study::{Monitor, Pair, Subject};

/// Calls that a program makes before it is measured: those by which it tunes its work, and more.
const N_CALLS_FIRST: u64 = 3000;
/// Number of records in each ring, so that monitors lose little to their own sleep.
const N_RECORDS: u64 = 32_768;
/// Time that a program, or a monitor, has to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval of checks whether it has begun.
const LOOK: Duration = Duration::from_millis(10);
/// Monitors of other hosts go on reading for 3 s or 4 after nobody asks them any more.
const SETTLING: Duration = Duration::from_secs(5);
/// Interval at which monitors report.
const TOLD_EVERY: &str = "200ms";

/// A program under a launcher, over the trees of a file.
pub struct Program<'a> {
    pub flavour: Flavour,
    pub n_ranks: u32,
    /// Hosts as launchers name them.
    pub hosts: &'a [String],
    pub tree: &'a Path,
    pub words: Vec<OsString>,
    /// Folder of files that are needed on all hosts.
    pub scratch: &'a Path,
}

/// The program as it runs.
pub struct Watched {
    launched: Ended,
    folder: PathBuf,
    /// Ring of the lowest rank of this host: a record for each call.
    calls: RingFile,
    levels: Levels,
    /// Monitors of other hosts, and where they are.
    monitors: Vec<(Ended, String)>,
    token: PathBuf,
}

/// Line that monitors print of a tree.
#[derive(Deserialize)]
struct Line {
    tree: String,
    elapsed_seconds: f64,
    records_lost: u64,
    results_gathered: u64,
    results_missed: u64,
    cpu_seconds: f64,
}

/// A process that is asked to end when nobody needs it any more.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

/// Starts commands of this program on all hosts of a job.
struct Levels {
    launcher: Launcher,
    hosts: Vec<String>,
    job: PathBuf,
}

impl Levels {
    /// Records stages on all hosts, or calls alone.
    fn set(&self, level: &str) -> anyhow::Result<()> {
        let names: Vec<&str> = self.hosts.iter().map(|host| name(host)).collect();
        let mut command = on(&self.launcher, &names)?;
        command.args(["mpi", "trace", "level"]).arg(&self.job).arg(level);
        let done = command.stdout(Stdio::null()).status().context("cannot start the launcher")?;
        ensure!(done.success(), "the level of recording cannot be changed: the command ended with {done}");
        Ok(())
    }
}

/// A host without its number of ranks.
fn name(host: &str) -> &str {
    host.split_once(':').map_or(host, |(name, _)| name)
}

/// Returns the command of this program on each of these hosts; on this one where none is named.
fn on(launcher: &Launcher, hosts: &[&str]) -> anyhow::Result<Command> {
    let n_ranks = hosts.len().max(1) as u32;
    let placing =
        Placing { n_ranks, hosts: hosts.iter().map(|host| format!("{host}:1")).collect(), ..Placing::default() };
    Ok(launcher.command(&placing, &std::env::current_exe()?))
}

impl Program<'_> {
    /// Starts it, and waits until it is in its stride.
    pub fn start(&self) -> anyhow::Result<Watched> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["mpi", "trace", "-n", &self.n_ranks.to_string(), "--mpi", &self.flavour.to_string()]);
        command.args(["--ring", &N_RECORDS.to_string()]);
        if !self.hosts.is_empty() {
            command.args(["--hosts", &self.hosts.join(",")]);
        }
        command.arg("--tree").arg(self.tree).arg("--out").arg(self.scratch.join("watched")).arg("--");
        let child = command.args(&self.words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut launched = Ended(child.context("cannot start this program again")?);
        let prefix = format!("trace-{:x}-", launched.0.id());
        let (folder, calls) = wait("the program makes calls", || {
            if let Some(ended) = launched.0.try_wait()? {
                bail!("the program ended with {ended}");
            }
            let folders = Folder::all(&mpi_job::root())?;
            let is_it = |folder: &Folder| {
                folder.path().file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
            };
            let Some(folder) = folders.into_iter().find(is_it) else { return Ok(None) };
            let rings = folder.rings()?.into_iter().flatten().filter(|ring| ring.header.kind == RingKind::Calls);
            let lowest = rings.min_by_key(|ring| ring.header.rank);
            Ok(lowest
                .filter(|ring| ring.ring().n_written() >= N_CALLS_FIRST)
                .map(|ring| (folder.path().to_owned(), ring)))
        })?;
        let levels =
            Levels { launcher: Launcher::find(self.flavour)?, hosts: self.hosts.to_vec(), job: folder.clone() };
        let token = self.scratch.join("token");
        if !token.exists() {
            let made = Command::new(std::env::current_exe()?.with_file_name("foretop"))
                .args(["token", "new"])
                .arg(&token)
                .output()?;
            ensure!(made.status.success(), "no token can be made: {}", String::from_utf8_lossy(&made.stderr));
        }
        let mut watched = Watched { launched, folder, calls, levels, monitors: Vec::new(), token };
        let others: Vec<&str> = self.hosts.iter().skip(1).map(|host| name(host)).collect();
        for host in others {
            let monitor = watched.monitor_of(host)?;
            watched.monitors.push(monitor);
        }
        Ok(watched)
    }
}

impl Watched {
    /// Starts a monitor of another host, and returns the address that it listens at.
    fn monitor_of(&self, host: &str) -> anyhow::Result<(Ended, String)> {
        let mut command = on(&self.levels.launcher, &[host])?;
        command.args(["mpi", "monitor"]).arg(&self.folder).arg("--token-file").arg(&self.token);
        command.args(["--allow-plain", "--unannounced", "server:tcp:0.0.0.0:0"]);
        let mut child = Ended(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?);
        let lines = lines_of(&mut child.0);
        let line = lines.recv_timeout(PATIENCE).with_context(|| format!("the monitor of {host} does not begin"))?;
        let port = line.rsplit_once(':').and_then(|(_, port)| port.trim().parse::<u16>().ok());
        let port = port.with_context(|| format!("the monitor of {host} says `{line}`, and not where it is"))?;
        Ok((child, format!("tcp:{host}:{port}")))
    }

    /// Both stretches of a pair.
    pub fn measure(&mut self, pair: &Pair, stretch: Duration) -> anyhow::Result<Paired> {
        if let Some(ended) = self.launched.0.try_wait()? {
            bail!("the program ended with {ended}");
        }
        let (without_ns, (with_ns, monitor)) = if pair.round.is_multiple_of(2) {
            (self.without(pair.subject, stretch)?, self.with(pair.subject, stretch)?)
        } else {
            let with = self.with(pair.subject, stretch)?;
            (self.without(pair.subject, stretch)?, with)
        };
        Ok(Paired { pair: *pair, without_ns, with_ns, monitor })
    }

    fn without(&self, subject: Subject, stretch: Duration) -> anyhow::Result<f64> {
        if subject != Subject::Collectors {
            return self.call_ns(stretch);
        }
        self.levels.set("calls")?;
        let without_ns = self.call_ns(stretch)?;
        self.levels.set("trees")?;
        Ok(without_ns)
    }

    fn with(&self, subject: Subject, stretch: Duration) -> anyhow::Result<(f64, Option<Monitored>)> {
        let Subject::Monitor(monitor) = subject else { return Ok((self.call_ns(stretch)?, None)) };
        let (child, lines) = self.watch(monitor)?;
        // What it says first tells that it is up.
        let first = newest(&lines, monitor.n_trees)?;
        let with_ns = self.call_ns(stretch)?;
        let last = newest(&lines, monitor.n_trees)?;
        drop(child);
        if !self.monitors.is_empty() {
            clock::sleep(SETTLING);
        }
        let gathered: u64 = last.values().map(|line| line.results_gathered).sum();
        let missed: u64 = last.values().map(|line| line.results_missed).sum();
        let both = || first.values().zip(last.values());
        let cpu_ratio = |(first, last): (&Line, &Line)| {
            (last.cpu_seconds - first.cpu_seconds) / (last.elapsed_seconds - first.elapsed_seconds)
        };
        let monitored = Monitored {
            gathered_ratio: gathered as f64 / (gathered + missed).max(1) as f64,
            n_discarded: both().map(|(first, last)| last.records_lost - first.records_lost).sum(),
            cpu_ratio: both().map(cpu_ratio).sum(),
        };
        Ok((with_ns, Some(monitored)))
    }

    /// A monitor of the whole job on this host, and what it prints.
    fn watch(&self, monitor: Monitor) -> anyhow::Result<(Ended, Receiver<String>)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["mpi", "watch"]).arg(&self.folder).args(["--monitor", monitor.kind.name()]);
        command.args(["--helpers", &monitor.n_helpers.to_string(), "--gate", monitor.gate.name()]);
        for tree in 0..monitor.n_trees {
            command.args(["--tree", &tree.to_string()]);
        }
        command.args(["--every", TOLD_EVERY, "--json"]);
        if !self.monitors.is_empty() {
            command.args(["--allow-plain", "--token-file"]).arg(&self.token);
        }
        for (_, place) in &self.monitors {
            command.args(["--from", &format!("source:{place}")]);
        }
        let mut child = Ended(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?);
        let lines = lines_of(&mut child.0);
        Ok((child, lines))
    }

    /// Returns the mean time of a call on this host's lowest rank, over so long a time.
    fn call_ns(&self, stretch: Duration) -> anyhow::Result<f64> {
        let (watch, n_before) = (Stopwatch::start(), self.calls.ring().n_written());
        clock::sleep(stretch);
        let n_calls = self.calls.ring().n_written() - n_before;
        ensure!(n_calls > 0, "the program made no call in {} ms", stretch.as_millis());
        Ok(watch.elapsed().as_nanos() as f64 / n_calls as f64)
    }
}

/// Returns the lines that a process prints. They are read whether anybody asks for them or not, so that the process is
/// never held up.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let stdout = child.stdout.take().expect("it was piped");
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        lines.try_for_each(|line| sender.send(line))
    });
    receiver
}

/// Returns the last line of a monitor about each tree, as soon as there is a line of each.
fn newest(lines: &Receiver<String>, n_trees: u32) -> anyhow::Result<BTreeMap<String, Line>> {
    let mut newest = BTreeMap::new();
    let mut take = |text: String| {
        let line: Line = serde_json::from_str(&text).context("a monitor's line cannot be read")?;
        newest.insert(line.tree.clone(), line);
        anyhow::Ok(newest.len())
    };
    let mut n_told = 0;
    for text in lines.try_iter() {
        n_told = take(text)?;
    }
    while n_told < n_trees as usize {
        n_told = take(lines.recv_timeout(PATIENCE).context("the monitor tells nothing")?)?;
    }
    Ok(newest)
}

/// Looks again and again.
fn wait<T>(what: &str, mut look: impl FnMut() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
    let watch = Stopwatch::start();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(watch.elapsed() < PATIENCE, "waited {} s until {what}", PATIENCE.as_secs());
        clock::sleep(LOOK);
    }
}
