//! `foretop-miniapp`: small programs that live on allreduce. See the crate `miniapp`.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clock::Stopwatch;
use foretop_mpi::{Output, Teller, header, print_first, run, say, writer};
use miniapp::record::kind;
use miniapp::{
    App, Changes, Contributions, ConvergenceTest, Data, Length, Miniapp, NoisePlan, Plan, SorPlan, Straggler, SumPlan,
    relaxation, share,
};
use mpi_run::{Ending, Session};
use program::Failure;
use units::ByteCount;

/// Run small programs that depend on allreduce, as workloads to measure and to change collectives under.
///
/// Each times its calls on every rank, and checks their results: a wrong sum is exit status 1.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    #[command(flatten)]
    Run(Program),
    /// Write the contributions of a relaxation to its convergence test, for noise-allreduce to replay
    Contributions {
        #[command(flatten)]
        grid: Grid,
        /// Number of strips of rows that the grid is cut into
        #[arg(long, value_name = "N", default_value_t = 138)]
        strips: u32,
        /// File for the contributions
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
        /// Seed for all random draws
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

#[derive(Debug, Subcommand)]
enum Program {
    /// Run global sums, one after the other
    Gsum {
        #[command(flatten)]
        sums: Sums,
        #[command(flatten)]
        run: RunArguments,
    },
    /// Run global sums with integer sorting between them
    ComputeGsum {
        #[command(flatten)]
        sums: Sums,
        /// Sort as many integers as leave this share of the time to communication
        #[arg(long, value_name = "PERCENT", value_parser = share, default_value = "50%")]
        share: f64,
        #[command(flatten)]
        run: RunArguments,
    },
    /// Run work of the same length on all ranks, with an allreduce that decides whether to continue
    NoiseAllreduce {
        #[command(flatten)]
        noise: Noise,
        #[command(flatten)]
        run: RunArguments,
    },
    /// Run red-black successive over-relaxation: borders point to point, and an allreduce that tests for convergence
    Sor {
        #[command(flatten)]
        grid: Grid,
        #[command(flatten)]
        run: RunArguments,
    },
}

#[derive(Args, Clone, Debug)]
struct Sums {
    /// Bytes of an allreduce: integers of 4 bytes
    #[arg(long, value_name = "SIZE", default_value = "8B")]
    size: ByteCount,
    /// Cycle through this many sizes: that one, twice that, three times that. A tree file can assign a tree to each
    /// size
    #[arg(long, value_name = "N", default_value_t = 1)]
    sizes: u32,
    /// Number of allreduces
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    calls: u64,
}

#[derive(Args, Clone, Debug)]
struct Grid {
    /// Grid at the start: frosty, tridiagonal or random
    #[arg(long, value_name = "DATA", default_value = "frosty")]
    data: Data,
    /// Points on a side of the grid
    #[arg(long, value_name = "N", default_value_t = 1380)]
    points: u32,
    /// Make the grid so large that ranks are blocked in communication for this share of the time
    #[arg(long, value_name = "PERCENT", value_parser = share, conflicts_with = "points")]
    blocked_share: Option<f64>,
    /// End when the sum of all changes of an iteration is below this
    #[arg(long, value_name = "SUM", default_value_t = 0.01904)]
    epsilon: f64,
    /// Convergence test of ranks: plain (after each iteration), conditional (likewise, without waiting for ranks that
    /// are not needed: preload mpi-coll) or none
    #[arg(long, value_name = "TEST", default_value = "plain")]
    allreduce: ConvergenceTest,
    /// Limit of iterations
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    iterations: u64,
}

#[derive(Args, Clone, Debug)]
struct Noise {
    /// Time that each rank works before each allreduce; ranks that share cores sleep
    #[arg(long, value_name = "TIME", value_parser = units::span::parse, default_value = "30ms")]
    work: Duration,
    /// Number of allreduces
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    calls: u64,
    /// Contributions of ranks: best (each alone decides), worst (all are needed), or a file that `contributions` wrote
    #[arg(long, value_name = "SET", default_value = "best")]
    contributions: Contributions,
    /// Continue as long as the sum is not below this
    #[arg(long, value_name = "SUM", default_value_t = 0.01904)]
    epsilon: f64,
    /// Test of that condition: plain or conditional
    #[arg(long, value_name = "TEST", default_value = "plain")]
    allreduce: ConvergenceTest,
}

#[derive(Args, Clone, Debug)]
struct RunArguments {
    /// Make a rank work this much longer before each allreduce
    #[arg(long, value_name = "RANK:TIME")]
    straggler: Option<Straggler>,
    #[command(flatten)]
    output: Output,
}

impl Program {
    fn plan(self) -> (Plan, Output) {
        let sums = |sums: Sums, communication_ratio| {
            App::Sum(SumPlan { n_calls: sums.calls, size: sums.size, n_sizes: sums.sizes, communication_ratio })
        };
        let (app, run) = match self {
            Self::Gsum { sums: given, run } => (sums(given, None), run),
            Self::ComputeGsum { sums: given, share, run } => (sums(given, Some(share)), run),
            Self::Sor { grid, run } => (App::Sor(grid.plan()), run),
            Self::NoiseAllreduce { noise, run } => (App::Noise(noise.plan()), run),
        };
        (Plan { app, straggler: run.straggler }, run.output)
    }
}

impl Noise {
    fn plan(self) -> NoisePlan {
        NoisePlan {
            work: self.work,
            n_calls: self.calls,
            contributions: self.contributions,
            epsilon: self.epsilon,
            test: self.allreduce,
        }
    }
}

impl Grid {
    fn plan(&self) -> SorPlan {
        SorPlan {
            data: self.data,
            length: self.blocked_share.map_or(Length::Points(self.points), Length::BlockedRatio),
            epsilon: self.epsilon,
            test: self.allreduce,
            n_iterations_max: self.iterations,
        }
    }
}

fn main() -> ExitCode {
    run(|session: &Session, arguments: Arguments| under_mpi(session, arguments))
}

fn under_mpi(session: &Session, arguments: Arguments) -> Result<(), Ending> {
    let (plan, output) = match arguments.task {
        Task::Run(program) => program.plan(),
        Task::Contributions { grid, strips, file, seed } => {
            let written = if session.is_first() { contributions(&grid, strips, &file, seed) } else { Ok(()) };
            return session.agree(written);
        }
    };
    session.agree(plan.check(session.n_ranks()).map_err(Failure::usage))?;
    let clock = Stopwatch::start();
    let header = header(session, &Miniapp, output.seed, &clock);
    let mut writer = writer(session, output.out.as_deref(), &header)?;
    let mut teller = Teller::new(session, &output);
    let mut tell = |what: &str, done, total| teller.tell(what, done, total);
    let n_wrong = miniapp::run(session, &plan, &clock, &header, &mut writer, &mut tell)?;
    print_first(session, &Miniapp, writer.outcome(), output.format, kind::RANK)?;
    let is_right = if n_wrong == 0 { Ok(()) } else { Err(Failure::work(format!("{n_wrong} sums are wrong"))) };
    session.agree(is_right)
}

/// Writes the data of a convergence test, alone.
fn contributions(grid: &Grid, strips: u32, file: &Path, seed: u64) -> Result<(), Failure> {
    let plan = Plan { app: App::Sor(grid.plan()), straggler: None };
    plan.check(strips).map_err(Failure::usage)?;
    let changes = Changes::of(grid.data, seed, grid.points, strips, grid.epsilon, grid.iterations);
    let cannot = |error| Failure::work(format!("cannot write `{}`: {error}", file.display()));
    std::fs::write(file, changes.to_text()).map_err(cannot)?;
    let (strips, iterations) = (format!("{strips} strips"), changes.n_iterations());
    let factor = relaxation(grid.points);
    say(&format!(
        "{}: {iterations} iterations of {n} x {n} points in {strips}, relaxed by {factor:.6}",
        file.display(),
        n = grid.points
    ))
}
