//! `foretop mpi noise --local` and `--threads`: what the system takes of this host's cores, in this process and without
//! MPI.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use clock::Stopwatch;
use mpi_run::{ClockQuality, Header, Measurement, Placement, Writer, allowed_cpus};
use noise::record::kind;
use noise::{Injection, JointPlan, LocalPlan, Method, Noise, PlanError, Work};
use program::Progress;
use units::span;

use command_line::failure::OrUsage;
use command_line::terminal::say;
use text::help::examples;

/// Options with which the measurement is made in this process.
const HERE: [&str; 2] = ["--local", "--threads"];

/// Measure how much of a program's time the operating system takes, without MPI
///
/// A thread on each core (--local) measures when time was taken from it, how regularly, and by whom. Threads of one
/// process (--threads) repeatedly work for a known time and then meet in an allreduce. Without either flag, ranks under
/// MPI do so.
#[derive(Parser)]
#[command(name = "foretop mpi noise", max_term_width = 100, after_help = examples(&[
    "foretop mpi noise --local --time 10s",
    "foretop mpi noise --threads 4 --work 1ms,10ms",
]))]
struct Arguments {
    /// Measure each core by itself
    #[arg(long, required_unless_present = "threads")]
    local: bool,

    /// Measure this many threads together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_096), conflicts_with = "local")]
    threads: Option<u32>,

    /// The length of the measurement: for each --work, or both methods together [default: 20s]
    #[arg(long, value_name = "SPAN", value_parser = span::parse, conflicts_with = "quick")]
    time: Option<Duration>,

    /// Measure for 2 s, for a first look
    #[arg(long)]
    quick: bool,

    /// Make noise of this length and period to test the measurement: a thread spins on the measured core
    #[arg(long, value_name = "LENGTH/PERIOD")]
    inject: Option<Injection>,

    #[command(flatten)]
    together: Together,

    #[command(flatten)]
    apart: Apart,

    /// Write all results to this file, as JSON Lines, while they are measured; `foretop mpi plot` draws them
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Results")]
    out: Option<PathBuf>,

    /// The format of the output
    #[arg(long, value_enum, default_value = "table", help_heading = "Results")]
    format: Format,

    /// Do not print progress
    #[arg(long, short, help_heading = "Results")]
    quiet: bool,

    /// Seed for all random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Options of `--threads`.
#[derive(clap::Args)]
struct Together {
    /// Time between two allreduces: spans, or `allreduce` for the mean latency of one
    #[arg(
        long,
        value_name = "SPAN,...",
        value_delimiter = ',',
        default_value = "1ms",
        conflicts_with = "local",
        help_heading = "Threads"
    )]
    work: Vec<Work>,

    /// Count iterations in which a thread is this much later than its median; the mean latency of an allreduce is
    /// always added
    #[arg(long, value_name = "SPAN,...", value_delimiter = ',', value_parser = span::parse, default_value = "2ms,5ms,10ms", conflicts_with = "local", help_heading = "Threads")]
    threshold: Vec<Duration>,

    /// Only work: no thread waits for another
    #[arg(long, conflicts_with = "local", help_heading = "Threads")]
    no_allreduce: bool,

    /// Make noise on these threads only
    #[arg(
        long,
        value_name = "THREAD,...",
        value_delimiter = ',',
        requires = "inject",
        conflicts_with = "local",
        help_heading = "Threads"
    )]
    inject_ranks: Vec<u32>,
}

/// Options of `--local`.
#[derive(clap::Args)]
struct Apart {
    /// Measure these cores [default: all that this process may run on]
    #[arg(long, value_name = "LIST", value_parser = cores, conflicts_with = "threads", help_heading = "Single cores")]
    cpus: Option<Cores>,

    /// Length of a quantum
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "100us", conflicts_with = "threads", help_heading = "Single cores")]
    quantum: Duration,

    /// The method of measurement [default: both methods, one after the other]
    #[arg(long, value_enum, conflicts_with = "threads", help_heading = "Single cores")]
    method: Option<Methods>,

    /// Do not record kernel events, even if this user may
    #[arg(long, conflicts_with = "threads", help_heading = "Single cores")]
    no_tracepoints: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Methods {
    /// Time the same work repeatedly; also shows what took the time
    FixedWork,
    /// Count the work done in the same time, repeatedly
    FixedTime,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Table for people
    Table,
    /// JSON as in the result file; see docs/formats/mpi-results.md
    Json,
    /// One row per core or class of iterations
    Csv,
}

/// One argument with several cores in it.
#[derive(Clone, Debug)]
struct Cores(Vec<u32>);

fn cores(text: &str) -> Result<Cores, PlanError> {
    noise::cpus(text).map(Cores)
}

/// Whether these words ask for a measurement without MPI.
pub fn is_here(words: &[OsString]) -> bool {
    let is_one = |word: &OsString| {
        let text = word.to_string_lossy();
        HERE.contains(&text.split_once('=').map_or(&*text, |(flag, _)| flag))
    };
    words.iter().any(is_one)
}

/// Measures, and prints what was found.
pub fn run(words: Vec<OsString>, out: &mut dyn Write) -> anyhow::Result<()> {
    let typed = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let arguments = Arguments::try_parse_from([OsString::from("foretop mpi noise")].into_iter().chain(words));
    let arguments = arguments.unwrap_or_else(|error| error.exit());
    match arguments.threads {
        Some(n_threads) => arguments.on_threads(n_threads, typed, out),
        None => arguments.on_cores(typed, out),
    }
}

impl Arguments {
    fn on_cores(&self, typed: Vec<String>, out: &mut dyn Write) -> anyhow::Result<()> {
        let clock = Stopwatch::start();
        let plan = LocalPlan {
            time: self.time(),
            quantum: self.apart.quantum,
            methods: match self.apart.method {
                None => vec![Method::FixedWork, Method::FixedTime],
                Some(Methods::FixedWork) => vec![Method::FixedWork],
                Some(Methods::FixedTime) => vec![Method::FixedTime],
            },
            cpus: self.apart.cpus.clone().map_or_else(allowed_cpus, |cores| cores.0),
            injection: self.inject,
            is_traced: !self.apart.no_tracepoints,
        };
        plan.check(&allowed_cpus(), &ClockQuality::survey(&clock)).or_usage()?;
        let header = self.header(typed, vec![Placement::alone(&clock)]);
        let mut writer = Writer::create(self.out.as_deref(), &header)?;
        let mut progress = Progress::start();
        let mut tell = |done, total| self.tell(&mut progress, "seconds watched", done, total);
        noise::run_alone(&plan, clock, self.seed, &mut writer, &mut tell)?;
        self.print(&writer, kind::CORE, out)
    }

    fn on_threads(&self, n_threads: u32, typed: Vec<String>, out: &mut dyn Write) -> anyhow::Result<()> {
        let clock = Stopwatch::start();
        let plan = JointPlan {
            works: self.together.work.clone(),
            time: self.time(),
            thresholds: self.together.threshold.clone(),
            injection: self.inject,
            injected_ranks: self.together.inject_ranks.clone(),
            is_apart: self.together.no_allreduce,
        };
        plan.check(n_threads).or_usage()?;
        let places = noise::threads(n_threads, &clock).with_context(|| format!("cannot start {n_threads} threads"))?;
        let header = self.header(typed, places);
        let mut writer = Writer::create(self.out.as_deref(), &header)?;
        let mut progress = Progress::start();
        let mut tell = |what: &str, done, total| self.tell(&mut progress, what, done, total);
        noise::run_threads(&plan, clock, &header, &mut writer, &mut tell)?;
        self.print(&writer, kind::LATE, out)
    }

    fn time(&self) -> Duration {
        self.time.unwrap_or(Duration::from_secs(if self.quick { 2 } else { 20 }))
    }

    fn header(&self, typed: Vec<String>, places: Vec<Placement>) -> Header {
        Header::of(&Noise, "none".to_owned(), typed, self.seed, places)
    }

    fn tell(&self, progress: &mut Progress, what: &str, done: u64, total: u64) {
        if let Some(line) = (!self.quiet).then(|| progress.line(clock::instant(), what, done, total)).flatten() {
            say(&line);
        }
    }

    fn print(&self, writer: &Writer, rows: &str, out: &mut dyn Write) -> anyhow::Result<()> {
        let outcome = writer.outcome();
        let text = match self.format {
            Format::Table => Noise.table(outcome)?,
            Format::Json => outcome.json_lines(),
            Format::Csv => outcome.csv(rows),
        };
        Ok(out.write_all(text.as_bytes())?)
    }
}
