//! `foretop crossval`: which model predicts a signal, found out by random test cases.

mod compare;
mod progress;
mod report;
mod run;
mod source;

use std::io::Write;

use clap::{Args, Subcommand, ValueEnum};
use crossval::Metric;

use text::help::examples;

/// Find the best model of a signal by random test cases
///
/// A template gives the candidate models and the lengths of fits and tests. Cases are drawn from it at random,
/// evaluated as a node would run them, and written to a Parquet file. The report shows which model wins, by how much,
/// and whether that could be chance.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop crossval run examples/crossval/host-load.toml --traces testdata/nab --cases 20000 --seed 1 --out cases.parquet",
    "foretop crossval report cases.parquet --html report.html",
    "foretop crossval compare before.parquet after.parquet",
]))]
pub struct Crossval {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    Run(Box<run::RunCases>),
    Report(report::WriteReport),
    Compare(compare::CompareCases),
}

impl Crossval {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.part {
            Part::Run(command) => command.run(out),
            Part::Report(command) => command.run(out),
            Part::Compare(command) => command.run(out),
        }
    }
}

/// The metric that ranks models.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum MetricName {
    /// Mean squared error.
    Mse,
    /// Mean absolute error.
    Mae,
    /// Continuous ranked probability score, of means and error bars.
    Crps,
    /// Score of the 95 % interval.
    Interval,
}

impl MetricName {
    fn metric(self) -> Metric {
        match self {
            Self::Mse => Metric::MeanSquared,
            Self::Mae => Metric::MeanAbsolute,
            Self::Crps => Metric::Crps,
            Self::Interval => Metric::IntervalScore,
        }
    }
}
