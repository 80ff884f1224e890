//! `foretop mpi`: measurements under MPI, started by the launcher that belongs to them, and what became of them.

mod analyze;
mod launch;
mod monitor;
mod noise;
mod overdecompose;
mod program;
mod result;
mod study;
pub mod trace;
mod tree;
mod watch;

use std::io::Write;

use ::noise::Noise;
use ace::Ace;
use clap::{Args, Subcommand};
use comb::Comb;
use miniapp::Miniapp;
use mpi_run::Measurement;
use overdecomposition::Overdecomposition;
use tree_study::TreeStudy;
use wan_study::WanStudy;

use text::help::examples;

/// All measurements: whose results can be shown and drawn.
const MEASUREMENTS: [&dyn Measurement; 7] = [&Ace, &Comb, &Miniapp, &Noise, &Overdecomposition, &TreeStudy, &WanStudy];

/// Measure, trace and speed up MPI programs
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi ace --ranks 2 --load 50 --size 1MiB --out ace.jsonl",
    "foretop mpi comb --ranks 2 --mpi mpich",
    "foretop mpi noise --ranks 2 --time 20s",
    "foretop mpi noise --local --time 10s",
    "foretop mpi sort --ranks 4 --size 32MB --out measured",
    "foretop mpi plot ace.jsonl",
    "foretop mpi tree make --shape 8-way --hosts a:0-3,b:4-7 --out tree.toml",
    "foretop mpi trace -n 4 -- ./heat 512",
    "foretop mpi overdecompose --ratios 1,2,4 -- ./heat {grid}",
]))]
pub struct Mpi {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Measure message costs, and how long an application with such messages takes
    #[command(disable_help_flag = true)]
    Ace(launch::Words),
    /// Measure how much CPU is left while messages are in flight
    #[command(disable_help_flag = true)]
    Comb(launch::Words),
    /// Run small programs that depend on allreduce: gsum, compute-gsum, noise-allreduce, sor
    #[command(disable_help_flag = true)]
    Miniapp(launch::Words),
    /// Measure how much of a program's time the operating system takes
    #[command(disable_help_flag = true)]
    Noise(launch::Words),
    /// Run a parallel sort that drives files, processors, memory and messages in turn
    #[command(disable_help_flag = true)]
    Sort(launch::Words),
    Show(result::Show),
    Plot(result::Plot),
    Tree(tree::Tree),
    Study(study::Study),
    Analyze(analyze::Analyze),
    Watch(watch::Watch),
    Monitor(monitor::Monitor),
    Trace(trace::Trace),
    Overdecompose(overdecompose::Overdecompose),
}

impl Mpi {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.what {
            What::Ace(words) => launch::run(Ace.name(), words, out),
            What::Comb(words) => launch::run(Comb.name(), words, out),
            What::Miniapp(words) => launch::run(Miniapp.name(), words, out),
            What::Noise(words) if noise::is_here(&words.words) => noise::run(words.words, out),
            What::Noise(words) => launch::run(Noise.name(), words, out),
            What::Sort(words) => launch::run("sort", words, out),
            What::Show(command) => command.run(out),
            What::Plot(command) => command.run(out),
            What::Tree(command) => command.run(out),
            What::Study(command) => command.run(out),
            What::Analyze(command) => command.run(out),
            What::Watch(command) => command.run(out),
            What::Monitor(command) => command.run(out),
            What::Trace(command) => command.run(out),
            What::Overdecompose(command) => command.run(out),
        }
    }
}
