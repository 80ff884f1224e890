//! `foretop-noise`: how much of a program's time the operating system takes. See the crate `noise`.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use clock::Stopwatch;
use foretop_mpi::{Output, Teller, header, own_arguments, print, print_first, run, run_alone, writer};
use mpi_run::{ClockQuality, Ending, Failure, Header, Placement, Session, Writer, allowed_cpus};
use noise::record::kind;
use noise::{Injection, LocalPlan, Method, Noise, PlanError, TogetherPlan, Work};
use units::span;

/// Asks for a host without MPI; looked for before MPI is begun.
const LOCAL_FLAG: &str = "--local";

/// Measures how much of a program's time the operating system takes.
///
/// Under MPI, all ranks repeatedly work for a known time and then meet in an allreduce. Iterations with a late rank are
/// counted, with how late it was, on which host, and the cost. With --local, no MPI is used: a thread on each core finds
/// out when time was taken from it, how regularly, and by whom.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    /// Watch the cores of this host, without MPI
    #[arg(long, conflicts_with_all = ["work", "threshold", "inject_ranks"])]
    local: bool,
    /// How long to measure: for each --work, or both methods together [default: 20s]
    #[arg(long, value_name = "SPAN", value_parser = span::parse, conflicts_with = "quick")]
    time: Option<Duration>,
    /// Measure for 2 s, for a first look
    #[arg(long)]
    quick: bool,
    /// Time between two allreduces: spans, or `allreduce` for the mean latency of one
    #[arg(long, value_name = "SPAN,...", value_delimiter = ',', default_value = "1ms", help_heading = "Under MPI")]
    work: Vec<Work>,
    /// Count iterations in which a rank is this much later than its median; the mean latency of an allreduce is always added
    #[arg(long, value_name = "SPAN,...", value_delimiter = ',', value_parser = span::parse, default_value = "2ms,5ms,10ms", help_heading = "Under MPI")]
    threshold: Vec<Duration>,
    /// Make noise on these ranks only
    #[arg(long, value_name = "RANK,...", value_delimiter = ',', requires = "inject", help_heading = "Under MPI")]
    inject_ranks: Vec<u32>,
    /// Make noise of this length and period to test the measurement: a thread spins on the measured core
    #[arg(long, value_name = "LENGTH/PERIOD")]
    inject: Option<Injection>,
    /// Watch these cores [default: all that this process may run on]
    #[arg(long, value_name = "LIST", value_parser = cores, requires = "local", help_heading = "On one host")]
    cpus: Option<Cores>,
    /// Length of a quantum [default: 100us]
    #[arg(long, value_name = "SPAN", value_parser = span::parse, requires = "local", help_heading = "On one host")]
    quantum: Option<Duration>,
    /// How to watch [default: both methods, one after the other]
    #[arg(long, value_enum, requires = "local", help_heading = "On one host")]
    method: Option<Methods>,
    /// Do not record kernel events, even if this user may
    #[arg(long, requires = "local", help_heading = "On one host")]
    no_tracepoints: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Methods {
    /// Time the same work repeatedly; also shows who took the time
    FixedWork,
    /// Count the work done in the same time, repeatedly
    FixedTime,
}

/// One argument with several cores in it.
#[derive(Clone, Debug)]
struct Cores(Vec<u32>);

fn cores(text: &str) -> Result<Cores, PlanError> {
    noise::cpus(text).map(Cores)
}

impl Arguments {
    fn time(&self) -> Duration {
        self.time.unwrap_or(Duration::from_secs(if self.quick { 2 } else { 20 }))
    }

    fn together(&self) -> TogetherPlan {
        TogetherPlan {
            works: self.work.clone(),
            time: self.time(),
            thresholds: self.threshold.clone(),
            injection: self.inject,
            injected_ranks: self.inject_ranks.clone(),
        }
    }

    fn local(&self) -> LocalPlan {
        LocalPlan {
            time: self.time(),
            quantum: self.quantum.unwrap_or(Duration::from_micros(100)),
            methods: match self.method {
                None => vec![Method::FixedWork, Method::FixedTime],
                Some(Methods::FixedWork) => vec![Method::FixedWork],
                Some(Methods::FixedTime) => vec![Method::FixedTime],
            },
            cpus: self.cpus.clone().map_or_else(allowed_cpus, |cores| cores.0),
            injection: self.inject,
            is_traced: !self.no_tracepoints,
        }
    }
}

fn main() -> ExitCode {
    if std::env::args_os().skip(1).any(|argument| argument == LOCAL_FLAG) {
        run_alone(on_this_host)
    } else {
        run(under_mpi)
    }
}

fn on_this_host(arguments: Arguments) -> Result<(), Failure> {
    let (plan, clock) = (arguments.local(), Stopwatch::start());
    let output = &arguments.output;
    plan.check(&allowed_cpus(), &ClockQuality::survey(&clock)).map_err(Failure::usage)?;
    let header = Header::of(&Noise, "none".to_owned(), own_arguments(), output.seed, vec![Placement::alone(&clock)]);
    let mut writer = Writer::create(output.out.as_deref(), &header).map_err(Failure::of)?;
    let mut teller = Teller::alone(output);
    let mut tell = |done, total| teller.tell("seconds watched", done, total);
    noise::run_alone(&plan, clock, output.seed, &mut writer, &mut tell).map_err(Failure::of)?;
    print(&Noise, writer.outcome(), output.format, kind::CORE)
}

fn under_mpi(session: &Session, arguments: Arguments) -> Result<(), Ending> {
    let plan = arguments.together();
    let output = &arguments.output;
    session.agree(plan.check(session.n_ranks()).map_err(Failure::usage))?;
    let clock = Stopwatch::start();
    let header = header(session, &Noise, output.seed, &clock);
    let mut writer = writer(session, output.out.as_deref(), &header)?;
    let mut teller = Teller::new(session, output);
    let mut tell = |what: &str, done, total| teller.tell(what, done, total);
    noise::run(session, &plan, clock, &header, &mut writer, &mut tell)?;
    print_first(session, &Noise, writer.outcome(), output.format, kind::LATE)
}
