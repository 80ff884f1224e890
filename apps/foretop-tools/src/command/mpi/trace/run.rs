//! Starts a program with the tracer in it, files what its rings hold, and prints a summary at the end.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use mpi_job::{Folder, Process, Sidecar};
use mpi_run::{Flavour, Outcome, Placing};
use mpi_trace::{Alignment, Operation, Recording, RingKind};
use rustix::process::{Pid, Signal, kill_process};

use super::super::program;
use super::{count, n_lost};
use command_line::failure::{OrUsage, ProgramFailed};
use command_line::interruption;
use command_line::terminal::say;

/// The environment that the tracer reads.
const JOB: &str = "FORETOP_MPI_JOB";
const INTO: &str = "FORETOP_MPI_TRACE";
const LEVEL: &str = "FORETOP_MPI_LEVEL";
const RING: &str = "FORETOP_MPI_RING";
const TREE: &str = "FORETOP_MPI_TREE";
const PRELOAD: &str = "LD_PRELOAD";

const TRACER: &str = "libmpi_tracer.so";
const COLLECTIVES: &str = "libmpi_coll.so";

/// Calls reach the tracer by the names of MPI's functions, which the dynamic linker finds in it first.
const NO_TRACE: &str = "no trace: the program called no MPI function by its name. Calls of a statically linked library cannot be \
                        traced, nor those through a handle of dlopen (ctypes.CDLL(\"libmpi.so\"), cffi, MPItrampoline, Julia); \
                        those through the process itself (ctypes.CDLL(None)) can";

/// Ranks that are named where many did not end as they should.
const UNFINISHED_SHOWN: usize = 8;
/// Records of a ring that somebody reads all of, or that times are taken from.
const RECORDS: u64 = 32_768;
/// Shortest time between two looks: such a ring is full after 30 ms of the quickest calls.
const PACE_MIN: Duration = Duration::from_millis(4);
/// Signals are passed on within this time.
const PACE_MAX: Duration = Duration::from_millis(64);

#[derive(Args)]
pub struct Run {
    /// The number of processes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,

    /// The MPI library: openmpi or mpich [default: the one that the program names]
    #[arg(long, value_name = "LIBRARY")]
    mpi: Option<Flavour>,

    /// The hosts to run on, in turn [default: this one]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    hosts: Vec<String>,

    /// The folder for trace files; existing ones are replaced
    #[arg(long, value_name = "DIR", default_value = "foretop-trace")]
    out: PathBuf,

    /// The records to keep when a ring is full
    #[arg(long, value_enum, default_value = "latest")]
    keep: Keep,

    /// The initial level of recording
    #[arg(long, value_enum, default_value = "trees")]
    level: Level,

    /// The number of records in the ring of a thread, a power of two [default: 1024 to 32768, so that all ranks of a
    /// host have a megabyte together; 32768 with --keep all]
    #[arg(long, value_name = "RECORDS", value_parser = power_of_two)]
    ring: Option<u64>,

    /// Run collective operations over the trees of this file
    #[arg(long, value_name = "FILE")]
    pub tree: Option<PathBuf>,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Keep {
    /// The latest records of each thread.
    Latest,
    /// All records, which are filed while the program runs. On other hosts, that takes a `foretop mpi trace sidecar`.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Level {
    /// Nothing.
    Off,
    /// The calls of the program.
    Calls,
    /// The calls, and the stages of collective operations over trees.
    Trees,
}

impl Level {
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Calls => "calls",
            Self::Trees => "trees",
        }
    }
}

fn power_of_two(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(n) if n.is_power_of_two() && n <= mpi_trace::CAPACITY_MAX => Ok(n),
        _ => Err(format!("it must be a power of two up to {}", mpi_trace::CAPACITY_MAX)),
    }
}

impl Run {
    pub fn run(self) -> anyhow::Result<()> {
        let ended = self.trace(&[], true)?;
        self.sum_up(&self.out);
        hand_on(ended)
    }

    /// A run for its times alone: its calls, or also its stages in the trees of a file.
    pub fn timed(program: Vec<OsString>, ranks: u32, mpi: Option<Flavour>, hosts: Vec<String>, out: PathBuf) -> Self {
        let (keep, level, ring, tree) = (Keep::Latest, Level::Trees, Some(RECORDS), None);
        Self { ranks, mpi, hosts, out, keep, level, ring, tree, program }
    }

    /// Runs the program, with more in its environment, and returns how it ended. Its trace is in the folder.
    pub fn trace(&self, environment: &[(String, String)], shows_output: bool) -> anyhow::Result<ExitStatus> {
        let (program, arguments) = self.program.split_first().expect("clap asks for a program");
        let launcher = program::launcher_of(Path::new(program), self.mpi)?;
        let into = std::path::absolute(&self.out).context("cannot tell where this is")?;
        remove_old(&into).with_context(|| format!("cannot remove old trace files from `{}`", into.display()))?;
        let this = Process::this();
        let path = mpi_job::root().join(format!("trace-{:x}-{:x}", this.pid, this.started));
        let mut placing = self.placing(&path, &into)?;
        placing.environment.extend_from_slice(environment);
        let mut command = launcher.command(&placing, Path::new(program));
        command.args(arguments);
        if !shows_output {
            command.stdout(Stdio::null());
        }

        let folder = Folder::create(&path)?;
        folder.look_after()?;
        let mut sidecar = Sidecar::new(folder.clone(), into.clone());
        let ended = command
            .spawn()
            .with_context(|| format!("cannot start `{}`", launcher.program.display()))
            .and_then(|child| self.follow(child, &mut sidecar));
        let filed = sidecar.finish();
        folder.remove()?;
        let ended = ended?;
        filed?;
        Ok(ended)
    }

    /// Runs one of our programs for its result, which `--out` puts into this file.
    pub fn result(mut self, environment: &[(String, String)], path: &Path) -> anyhow::Result<Outcome> {
        // What an earlier run left must not be taken for this one's.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        self.program.extend(["--out".into(), path.as_os_str().to_owned()]);
        let ended = self.trace(environment, false)?;
        ensure!(ended.success(), "`{}` ended with {ended}", self.program[0].display());
        Ok(Outcome::read(path)?)
    }

    fn placing(&self, job: &Path, into: &Path) -> anyhow::Result<Placing> {
        let mut environment = Vec::new();
        let mut set = |name: &str, value: &str| environment.push((name.to_owned(), value.to_owned()));
        let text =
            |path: &Path| path.to_str().map(str::to_owned).with_context(|| format!("`{}` is no text", path.display()));
        let mut preloaded = vec![text(&program::find_library(TRACER)?)?];
        if let Some(tree) = &self.tree {
            let checked = std::fs::read_to_string(tree).map_err(anyhow::Error::from);
            let checked =
                checked.and_then(|text| Ok(mpi_tree::Forest::parse(&text)?.check_n_ranks(self.ranks as usize)?));
            checked.with_context(|| format!("`{}` is of no use as a tree file", tree.display())).or_usage()?;
            preloaded.push(text(&program::find_library(COLLECTIVES)?)?);
            set(TREE, &text(&std::path::absolute(tree)?)?);
        }
        preloaded.extend(std::env::var(PRELOAD).ok().filter(|others| !others.is_empty()));
        set(JOB, &text(job)?);
        set(INTO, &text(into)?);
        set(LEVEL, self.level.word());
        if let Some(ring) = self.ring.or_else(|| (self.keep == Keep::All).then_some(RECORDS)) {
            set(RING, &ring.to_string());
        }
        set(PRELOAD, &preloaded.join(":"));
        Ok(Placing { n_ranks: self.ranks, hosts: self.hosts.clone(), environment, ..Placing::default() })
    }

    /// Files records until the launcher ends. Signals to this process are passed on to it, so that what was recorded is
    /// filed whatever happens.
    fn follow(&self, mut child: Child, sidecar: &mut Sidecar) -> anyhow::Result<ExitStatus> {
        let mut signals = interruption::watch()?;
        let launcher = Pid::from_child(&child);
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(child.wait()));
        let mut pace = PACE_MIN;
        loop {
            if self.keep == Keep::All {
                let n_events = sidecar.follow()?;
                pace = if n_events > 0 { PACE_MIN } else { (pace * 2).min(PACE_MAX) };
            } else {
                pace = PACE_MAX;
            }
            sidecar.sample()?;
            match receiver.recv_timeout(pace) {
                Ok(ended) => return ended.context("cannot wait for the launcher"),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("nobody waits for the launcher"),
            }
            for signal in signals.pending() {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    // It may have ended meanwhile.
                    let _ = kill_process(launcher, signal);
                }
            }
        }
    }

    /// Prints a summary of the trace, in a few lines on standard error: standard output is the program's.
    fn sum_up(&self, into: &Path) {
        let recordings = match mpi_job::read(into) {
            Ok(recordings) => recordings,
            Err(_) => {
                say(NO_TRACE);
                return;
            }
        };
        let n_events: usize = recordings.iter().map(|recording| recording.n_events()).sum();
        let n_lost: u64 = recordings.iter().map(n_lost).sum();
        let n_bytes: u64 = file_sizes(into).unwrap_or(0);
        let hosts: std::collections::BTreeSet<&str> =
            recordings.iter().map(|recording| recording.head.host.as_str()).collect();
        let error_ns =
            recordings.iter().map(|recording| Alignment::error_ns(&recording.alignment())).max().unwrap_or(0);
        say(&format!(
            "traced {} of {} ranks on {} in `{}`: {n_events} records, {:.1} bytes each on disk; {}",
            recordings.len(),
            self.ranks,
            count(hosts.len(), "host"),
            self.out.display(),
            n_bytes as f64 / n_events.max(1) as f64,
            if n_lost == 0 {
                "none lost".to_owned()
            } else {
                format!("{n_lost} older ones lost (--keep all keeps them)")
            },
        ));
        if let Some(line) = unfinished(&recordings) {
            say(&line);
        }
        if hosts.len() > 1 {
            say(&format!("clocks of the hosts agree within {}", text::figure::span_ns(error_ns as f64)));
        }
    }
}

/// The ranks that ended without `MPI_Finalize`, and the last call that each completed: the one that it was in when it
/// ended has no record.
fn unfinished(recordings: &[Recording]) -> Option<String> {
    let ranks = recordings.iter().filter_map(|recording| {
        let calls =
            recording.rings.iter().filter(|ring| ring.note.kind == RingKind::Calls).flat_map(|ring| &ring.events);
        let last = calls.clone().max_by_key(|event| event.end)?;
        let is_finalized = calls.clone().any(|event| event.operation == Operation::FINALIZE);
        (!is_finalized).then(|| format!("{} (after {})", recording.head.rank, last.operation.name()))
    });
    let ranks: Vec<String> = ranks.collect();
    let shown = ranks[..ranks.len().min(UNFINISHED_SHOWN)].join(", ");
    let more = match ranks.len().saturating_sub(UNFINISHED_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!ranks.is_empty()).then(|| {
        format!(
            "ended without MPI_Finalize: rank {shown}{more}; a call that a rank was in when it ended is not recorded"
        )
    })
}

fn trace_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "ftrace")).collect())
}

fn remove_old(folder: &Path) -> io::Result<()> {
    trace_files(folder)?.iter().try_for_each(std::fs::remove_file)
}

fn file_sizes(folder: &Path) -> io::Result<u64> {
    trace_files(folder)?.iter().map(|path| Ok(path.metadata()?.len())).sum()
}

/// Returns the status as a shell would: the program's own status, or 128 and the signal that ended it.
fn hand_on(ended: ExitStatus) -> anyhow::Result<()> {
    match (ended.code(), ended.signal()) {
        (Some(0), _) => Ok(()),
        (Some(status), _) => Err(ProgramFailed(status as u8).into()),
        (None, signal) => Err(ProgramFailed(128 + signal.unwrap_or(0) as u8).into()),
    }
}
