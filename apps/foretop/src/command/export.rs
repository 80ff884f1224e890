//! `foretop export`: gets samples out of a node.

use std::io::Write;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;
use units::Moment;

use command_line::argument::{NodeArgs, positive_span};
use command_line::history::{Query, Sample};
use command_line::terminal::write_json;
use text::help::examples;

/// Print the samples of a signal that a node has stored
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop export load.1m --from -1h > load.csv",
    "foretop export cpu.busy --from 2026-11-21T09:00:00Z --to 2026-11-21T10:00:00Z --step 1min --format json",
]))]
pub struct Export {
    /// The signal
    signal: String,

    /// The earliest moment: a time, or a length of time before now with a minus sign
    #[arg(long, value_name = "TIME|-LENGTH", default_value = "-10min", allow_hyphen_values = true)]
    from: Moment,

    /// The end, exclusive [default: now]
    #[arg(long, value_name = "TIME|-LENGTH", allow_hyphen_values = true)]
    to: Option<Moment>,

    /// Print means over buckets of this length instead of the samples
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    step: Option<Duration>,

    /// The format of the samples
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,

    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    /// A line `time,value` for each sample; the value of a gap is empty.
    Csv,
    /// JSON for programs; see docs/formats/cli.md.
    Json,
}

#[derive(Serialize)]
struct Samples {
    id: String,
    unit: String,
    samples: Vec<Sample>,
}

impl Export {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let client = self.node.client()?;
        let query = Query { signal: &self.signal, from: self.from, to: self.to, step: self.step };
        let (series, samples) = query.ask(&client)?;
        match self.format {
            Format::Csv => write_csv(out, samples),
            Format::Json => {
                let samples = samples.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
                Ok(write_json(out, &Samples { id: series.id, unit: series.unit, samples })?)
            }
        }
    }
}

/// Neither a time nor a number holds a comma, so none needs quoting.
fn write_csv(out: &mut dyn Write, pages: impl Iterator<Item = anyhow::Result<Vec<Sample>>>) -> anyhow::Result<()> {
    writeln!(out, "time,value")?;
    for page in pages {
        for Sample { time, value } in page? {
            writeln!(out, "{time},{}", value.map_or_else(String::new, |value| value.to_string()))?;
        }
    }
    Ok(())
}
