//! `foretop-ace`: emulates applications that compute and communicate, and tells predicted from actual run times. See
//! the crate `ace`.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::BufReader;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::process::ExitCode;

use ace::record::{Basis, RANK, SWEEP};
use ace::{Ace, Application, Applications, Effort, Load, Pattern, Placement, Plan, Sizes, Span, Sweep};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clock::Stopwatch;
use foretop_mpi::{Output, Teller, header, print_first, run, run_alone, say, writer};
use mpi_run::{Ending, Outcome, Session};
use mpi_trace::{Mode, Trace};
use predict::Spec;
use program::{Failure, Fault};
use units::{ByteCount, Confidence};

/// Emulate applications that compute and exchange messages, and compare predicted and actual run times
#[derive(Debug, Parser)]
#[command(version, about, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every combination of loads, sizes, patterns and numbers of applications; continues an existing file
    Sweep(SweepArguments),
    /// Make an emulated application from a recorded run's communication, and print it as TOML; needs no MPI
    Fit(FitArguments),
    /// List the differences between two results that are beyond chance; needs no MPI
    Compare(CompareArguments),
}

#[derive(Args, Debug)]
struct FitArguments {
    /// Calls of all ranks, as CSV; see docs/formats/communication-trace.md
    #[arg(value_name = "TRACE.csv")]
    trace: PathBuf,
}

#[derive(Args, Debug)]
struct CompareArguments {
    /// The earlier result
    #[arg(value_name = "FIRST.jsonl")]
    first: PathBuf,
    /// The later result
    #[arg(value_name = "SECOND.jsonl")]
    second: PathBuf,
    /// Joint confidence of all intervals
    #[arg(long, default_value_t)]
    confidence: Confidence,
    /// Seed for all random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Commands that read files only.
const ALONE: [&str; 2] = ["fit", "compare"];
/// The answer to those who put flags before such a command.
const ALONE_FIRST: &str =
    "the command comes first: foretop-ace fit TRACE.csv, or foretop-ace compare FIRST.jsonl SECOND.jsonl";

#[derive(Args, Debug)]
struct RunArguments {
    /// Read the applications from a file instead of flags
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = APPLICATION_FLAGS)]
    config: Option<PathBuf>,
    /// Share of a cycle spent on communication, in percent, from 1 to 95
    #[arg(long, value_name = "PERCENT", default_value = "50", help_heading = "Application")]
    load: Load,
    /// Size of messages: 1MiB, uniform(1KiB..64KiB), lognormal(64KiB, 1.0) or mix(1KiB: 3, 1MiB: 1)
    #[arg(long, default_value = "1MiB", help_heading = "Application")]
    size: Sizes,
    /// Communication pattern: ring, pairs, halo-2d, halo-3d, permutation, scatter, gather, allgather, alltoall,
    /// allreduce, master-worker
    #[arg(long, default_value = "ring", help_heading = "Application")]
    pattern: Pattern,
    /// Number of applications of this kind that share the ranks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Application")]
    applications: u32,
    /// Time from the start of one application to that of the next
    #[arg(long, value_name = "SPAN", default_value = "0s", help_heading = "Application")]
    start_offset: Span,
    #[command(flatten)]
    cycles: Cycles,
    #[command(flatten)]
    method: MethodArguments,
    #[command(flatten)]
    output: Output,
}

/// Flags that say what a file says as well.
const APPLICATION_FLAGS: [&str; 10] = [
    "start_offset",
    "load",
    "size",
    "pattern",
    "applications",
    "mode",
    "iterations",
    "time",
    "placement",
    "synchronize_every",
];

/// Options that all applications have in common.
#[derive(Args, Debug)]
struct Cycles {
    /// Mode of messages between two ranks: blocking, non-blocking or synchronous
    #[arg(long, default_value = "blocking", help_heading = "Application")]
    mode: Mode,
    /// Cycles of a run [default: 1000]
    #[arg(long, value_name = "N", conflicts_with = "time", help_heading = "Application")]
    iterations: Option<NonZeroU64>,
    /// Target time of a run, such as 10s, which sets the number of cycles
    #[arg(long, value_name = "SPAN", help_heading = "Application")]
    time: Option<Span>,
    /// Placement of applications on the ranks
    #[arg(long, value_enum, default_value_t, help_heading = "Application")]
    placement: PlacementName,
    /// Wait for all ranks before the exchange of every Nth cycle; 0 for never
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Application")]
    synchronize_every: u32,
}

#[derive(Args, Debug)]
struct MethodArguments {
    /// Basis of the prediction of T_comm
    #[arg(long, value_enum, default_value_t)]
    predict_by: BasisName,
    /// The model that forecasts the coming cycles during the run
    #[arg(long, value_name = "MODEL", default_value = "NWS")]
    model: Spec,
    /// Measure less in phase one, for a first look: predictions then include any disturbance
    #[arg(long)]
    quick: bool,
}

#[derive(Args, Debug)]
struct SweepArguments {
    /// Loads in percent
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "PERCENT",
        default_value = "10,20,30,40,50,60,70,80",
        help_heading = "Sweep"
    )]
    loads: Vec<Load>,
    /// Sizes of messages
    #[arg(long, value_delimiter = ',', value_name = "SIZE", default_value = "1MiB", help_heading = "Sweep")]
    sizes: Vec<ByteCount>,
    /// Communication patterns
    #[arg(long, value_delimiter = ',', value_name = "PATTERN", default_value = "ring", help_heading = "Sweep")]
    patterns: Vec<Pattern>,
    /// Numbers of applications
    #[arg(long, value_delimiter = ',', value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Sweep")]
    applications: Vec<u32>,
    /// Number of runs with the same settings
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Sweep")]
    repetitions: u32,
    #[command(flatten)]
    cycles: Cycles,
    #[command(flatten)]
    method: MethodArguments,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum PlacementName {
    /// The first ranks are the first application's, and so on
    #[default]
    Blocked,
    /// Ranks are assigned to applications in turn
    Interleaved,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum BasisName {
    /// Measured times of the exchange itself
    #[default]
    Benchmark,
    /// Linear model of ping-pong times
    Model,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|command| ALONE.contains(&command.as_str())) {
        return run_alone(|arguments: Arguments| match arguments.command {
            Some(Command::Fit(arguments)) => fit(&arguments),
            Some(Command::Compare(arguments)) => compare(&arguments),
            _ => Err(Failure::usage(ALONE_FIRST)),
        });
    }
    run(|session, arguments: Arguments| match arguments.command {
        None => emulate(session, &arguments.run),
        Some(Command::Sweep(arguments)) => emulate_all(session, &arguments),
        Some(Command::Fit(_) | Command::Compare(_)) => session.agree(Err(Failure::usage(ALONE_FIRST))),
    })
}

/// An application from a trace.
fn fit(arguments: &FitArguments) -> Result<(), Failure> {
    let path = arguments.trace.display();
    let file = File::open(&arguments.trace)
        .map_err(|error| Failure::work(format!("cannot read a communication trace from {path}: {error}")))?;
    let trace =
        Trace::read(BufReader::new(file)).map_err(|error| Failure::work(format!("{path}, {}", Failure::of(error))))?;
    let fitted = ace::fit(&trace).map_err(Failure::of)?;
    say(&fitted.toml())
}

/// Two results beside each other.
fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let first = Outcome::read(&arguments.first).map_err(Failure::of)?;
    let second = Outcome::read(&arguments.second).map_err(Failure::of)?;
    let found = ace::compare(&first, &second, arguments.confidence, arguments.seed).map_err(Failure::of)?;
    say(&found.table())
}

/// One run.
fn emulate(session: &Session, arguments: &RunArguments) -> Result<(), Ending> {
    let clock = Stopwatch::start();
    let output = &arguments.output;
    let applications = session.first_finds(|| arguments.applications())?;
    let plan = Plan { applications, method: arguments.method.method(output.seed), cell: None };
    session.agree(plan.check(session.n_ranks()))?;
    let header = header(session, &Ace, output.seed, &clock);
    let mut writer = writer(session, output.out.as_deref(), &header)?;
    let mut teller = Teller::new(session, output);
    ace::run(session, &plan, &clock, &mut writer, &mut |what, done, total| teller.tell(what, done, total))?;
    print_first(session, &Ace, writer.outcome(), output.format, RANK)
}

/// A sweep, from where it stands.
fn emulate_all(session: &Session, arguments: &SweepArguments) -> Result<(), Ending> {
    let clock = Stopwatch::start();
    let output = &arguments.output;
    let sweep = arguments.sweep();
    session.agree(sweep.check(session.n_ranks()))?;
    let header = header(session, &Ace, output.seed, &clock);
    let out = output.out.as_deref().filter(|_| session.is_first());
    let mut writer = session.agree(Sweep::writer(out, &header))?;
    let mut teller = Teller::new(session, output);
    sweep.run(session, &clock, &mut writer, &mut |what, done, total| teller.tell(what, done, total))?;
    print_first(session, &Ace, writer.outcome(), output.format, SWEEP)
}

impl RunArguments {
    fn applications(&self) -> Result<Applications, Failure> {
        if let Some(path) = &self.config {
            return Applications::read(path).map_err(|error| Failure { fault: Fault::Usage, ..Failure::of(error) });
        }
        let application = |number| Application {
            name: format!("a{number}"),
            ranks: None,
            pattern: self.pattern,
            mode: self.cycles.mode,
            size: self.size.clone(),
            load_percent: self.load,
            iterations: self.cycles.iterations,
            time: self.cycles.time,
            start_offset: Span(self.start_offset.0 * (number - 1)),
            synchronize_every: self.cycles.synchronize_every,
        };
        Ok(Applications {
            placement: self.cycles.placement.into(),
            applications: (1..=self.applications).map(application).collect(),
        })
    }
}

impl SweepArguments {
    fn sweep(&self) -> Sweep {
        Sweep {
            patterns: self.patterns.clone(),
            n_applications: self.applications.clone(),
            sizes: self.sizes.clone(),
            loads: self.loads.clone(),
            repetitions: self.repetitions,
            mode: self.cycles.mode,
            placement: self.cycles.placement.into(),
            iterations: self.cycles.iterations,
            time: self.cycles.time,
            synchronize_every: self.cycles.synchronize_every,
            method: self.method.method(self.output.seed),
        }
    }
}

impl MethodArguments {
    fn method(&self, seed: u64) -> ace::Method {
        let basis = match self.predict_by {
            BasisName::Benchmark => Basis::Benchmark,
            BasisName::Model => Basis::Model,
        };
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        ace::Method { basis, forecast_model: self.model.clone(), seed, effort }
    }
}

impl From<PlacementName> for Placement {
    fn from(name: PlacementName) -> Self {
        match name {
            PlacementName::Blocked => Self::Blocked,
            PlacementName::Interleaved => Self::Interleaved,
        }
    }
}
