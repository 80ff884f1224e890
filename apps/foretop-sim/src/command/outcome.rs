//! `foretop sim show`, `plot` and `compare`: results that were written before.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use mpi_run::Measurement;
use mpi_sim::result::{RankTimes, Run, Simulation, compared, kind};
use picture::Kind;
use program::{Failure, written};
use text::help::examples;
use units::span;

use crate::argument::{draw, kinds, result};

/// Print a result again
#[derive(Args)]
#[command(after_help = examples(&["foretop sim show there.jsonl", "foretop sim show there.jsonl --csv sim.rank"]))]
pub struct Show {
    /// The result file of a command, written with --out
    #[arg(value_name = "RESULT.jsonl")]
    result: PathBuf,

    /// Print the records of this kind as CSV
    #[arg(long, value_name = "KIND")]
    csv: Option<String>,
}

/// Draw where the time of a result's ranks went, or a sweep
#[derive(Args)]
#[command(after_help = examples(&["foretop sim plot there.jsonl", "foretop sim plot sweep.jsonl --kind png --into plots"]))]
pub struct Plot {
    /// The result file of a command, written with --out
    #[arg(value_name = "RESULT.jsonl")]
    result: PathBuf,

    /// The folder to draw into [default: that of the result]
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,

    /// The format of the pictures
    #[arg(long, value_parser = kinds(), default_value = "svg")]
    kind: Kind,
}

/// Compare a prediction with real runs, or with other predictions
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim compare there.jsonl --measured 1.31s --measured 1.28s --measured 1.35s",
    "foretop sim compare there.jsonl other.jsonl",
]))]
pub struct Compare {
    /// The prediction to compare with others
    #[arg(value_name = "RESULT.jsonl")]
    predicted: PathBuf,

    /// Other predictions
    #[arg(value_name = "OTHER.jsonl")]
    others: Vec<PathBuf>,

    /// The time of a real run, once for each run
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    measured: Vec<std::time::Duration>,
}

impl Show {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let outcome = result(&self.result)?;
        let text = match &self.csv {
            None => Simulation.table(&outcome).map_err(Failure::of)?,
            Some(kind) if outcome.kinds().contains(&kind.as_str()) => outcome.csv(kind),
            Some(kind) => {
                let kinds = outcome.kinds().join(", ");
                return Err(Failure::usage(format!("there is no `{kind}` in it; there are {kinds}")));
            }
        };
        written(out.write_all(text.as_bytes()))
    }
}

impl Plot {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let outcome = result(&self.result)?;
        let folder = self.into.as_deref().or(self.result.parent()).unwrap_or(Path::new(""));
        let stem = self.result.file_stem().unwrap_or_default().to_string_lossy();
        for (name, picture) in Simulation.pictures(&outcome).map_err(Failure::of)? {
            let file = draw(&picture, self.kind, folder, &format!("{stem}-{name}"))?;
            written(writeln!(out, "{}", file.display()))?;
        }
        Ok(())
    }
}

impl Compare {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.others.is_empty() && self.measured.is_empty() {
            return Err(Failure::usage("nothing to compare with: name other results, or real times with --measured"));
        }
        let (predicted, ranks) = run_of(&self.predicted)?;
        if !self.measured.is_empty() {
            let real: Vec<f64> = self.measured.iter().map(|span| span.as_nanos() as f64).collect();
            written(writeln!(out, "{}", compared(predicted.span_ns as f64, &real)))?;
        }
        for path in &self.others {
            let (other, of_ranks) = run_of(path)?;
            let ratio = text::figure::number(other.span_ns as f64 / (predicted.span_ns as f64).max(1.0));
            let text = match of_ranks == ranks {
                true => "all ranks' times are identical".to_owned(),
                false => format!("{ratio} times as long, {} ranks, {} messages", other.n_ranks, other.n_messages),
            };
            written(writeln!(out, "{}: {text}", path.display()))?;
        }
        Ok(())
    }
}

/// The run that a result is of, and its ranks.
fn run_of(path: &Path) -> Result<(Run, Vec<RankTimes>), Failure> {
    let outcome = result(path)?;
    let runs: Vec<Run> = outcome.all(kind::RUN).map_err(Failure::of)?;
    let none = || Failure::usage(format!("`{}` has no run in it; a sweep cannot be compared", path.display()));
    Ok((runs.into_iter().next().ok_or_else(none)?, outcome.all(kind::RANK).map_err(Failure::of)?))
}
