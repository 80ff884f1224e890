//! `foretop mpi show` and `foretop mpi plot`: a result that was written before, as a table or as pictures.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use mpi_run::{Measurement, Outcome};

use super::MEASUREMENTS;
use command_line::argument::drawing::{Drawing, Kind, kinds};
use command_line::failure::OrUsage;
use command_line::terminal::say;
use text::help::examples;

/// Print a result again
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi show ace.jsonl", "foretop mpi show ace.jsonl --csv ace.rank"]))]
pub struct Show {
    /// The result file of a program, written with --out
    #[arg(value_name = "RESULT.jsonl")]
    result: PathBuf,

    /// Print the records of this kind as CSV
    #[arg(long, value_name = "KIND")]
    csv: Option<String>,
}

/// Draw the plots of a result
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi plot comb.jsonl", "foretop mpi plot ace.jsonl --kind png --into plots"]))]
pub struct Plot {
    /// The result file of a program, written with --out
    #[arg(value_name = "RESULT.jsonl")]
    result: PathBuf,

    /// The folder to draw into; files are named after the result and the plot [default: the folder of the result]
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,

    /// The format of the pictures
    #[arg(long, value_parser = kinds(), default_value = "svg")]
    kind: Kind,
}

impl Show {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let outcome = read(&self.result)?;
        let text = match &self.csv {
            None => of_program(&outcome)?.table(&outcome)?,
            Some(kind) => {
                let kinds = outcome.kinds();
                if !kinds.contains(&kind.as_str()) {
                    let error = anyhow!("there is no `{kind}` in it; there are {}", kinds.join(", "));
                    return Err(error).or_usage();
                }
                outcome.csv(kind)
            }
        };
        out.write_all(text.as_bytes())?;
        Ok(())
    }
}

impl Plot {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let outcome = read(&self.result)?;
        let folder = self.into.clone().unwrap_or_else(|| self.result.parent().unwrap_or(Path::new("")).to_owned());
        let stem = self.result.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (name, picture) in of_program(&outcome)?.pictures(&outcome)? {
            let file = folder.join(format!("{stem}-{name}.{}", self.kind.extension()));
            let drawing = Drawing::new(file, self.kind);
            drawing.draw(&picture)?;
            writeln!(out, "{}", drawing.path().display())?;
        }
        Ok(())
    }
}

/// The measurement that made a result.
fn of_program(outcome: &Outcome) -> anyhow::Result<&'static dyn Measurement> {
    let program = &outcome.header.program;
    MEASUREMENTS.into_iter().find(|measurement| measurement.name() == program).ok_or_else(|| {
        let known = MEASUREMENTS.map(Measurement::name).join(", ");
        anyhow!("this is a result of `{program}`; only those of {known} can be shown")
    })
}

fn read(path: &Path) -> anyhow::Result<Outcome> {
    let outcome = Outcome::read(path).with_context(|| format!("`{}` is of no use", path.display()))?;
    if outcome.is_truncated {
        say("the last line of the result broke off and is left out: its run was ended before its time");
    }
    Ok(outcome)
}
