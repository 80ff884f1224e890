//! `foretop-noise`: how much of a program's time the operating system takes. See the crate `noise`.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use clock::Stopwatch;
use foretop_mpi::{Output, Teller, header, print_first, run, writer};
use mpi_run::{Ending, Session};
use noise::record::kind;
use noise::{Injection, JointPlan, Noise, Work};
use program::Failure;
use units::span;

/// Measure how much of a program's time the operating system takes.
///
/// Under MPI, all ranks repeatedly work for a known time and then meet in an allreduce. Iterations with a late rank are
/// counted, with how late it was, on which host, and the cost. `foretop mpi noise --local` watches the cores of a host
/// without MPI.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    /// Length of the measurement, for each --work [default: 20s]
    #[arg(long, value_name = "SPAN", value_parser = span::parse, conflicts_with = "quick")]
    time: Option<Duration>,
    /// Measure for 2 s, for a first look
    #[arg(long)]
    quick: bool,
    /// Time between two allreduces: spans, or `allreduce` for the mean latency of one
    #[arg(long, value_name = "SPAN,...", value_delimiter = ',', default_value = "1ms")]
    work: Vec<Work>,
    /// Count iterations in which a rank is this much later than its median; the mean latency of an allreduce is always
    /// added
    #[arg(long, value_name = "SPAN,...", value_delimiter = ',', value_parser = span::parse, default_value = "2ms,5ms,10ms")]
    threshold: Vec<Duration>,
    /// Only work: no rank waits for another
    #[arg(long)]
    no_allreduce: bool,
    /// Make noise on these ranks only
    #[arg(long, value_name = "RANK,...", value_delimiter = ',', requires = "inject")]
    inject_ranks: Vec<u32>,
    /// Make noise of this length and period to test the measurement: a thread spins on the measured core
    #[arg(long, value_name = "LENGTH/PERIOD")]
    inject: Option<Injection>,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    fn time(&self) -> Duration {
        self.time.unwrap_or(Duration::from_secs(if self.quick { 2 } else { 20 }))
    }

    fn joint_plan(&self) -> JointPlan {
        JointPlan {
            works: self.work.clone(),
            time: self.time(),
            thresholds: self.threshold.clone(),
            injection: self.inject,
            injected_ranks: self.inject_ranks.clone(),
            is_apart: self.no_allreduce,
        }
    }
}

fn main() -> ExitCode {
    run(under_mpi)
}

fn under_mpi(session: &Session, arguments: Arguments) -> Result<(), Ending> {
    let plan = arguments.joint_plan();
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
