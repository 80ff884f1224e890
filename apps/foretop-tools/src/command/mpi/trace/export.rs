//! Traces in other forms: one file for all ranks, CSV, JSON, Parquet, records, and what Perfetto shows.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use crossval::{Cells, Column};
use mpi_trace::{Operation, Placed, Subject, Timeline};

use super::{read, records};
use text::help::examples;

/// Merge all ranks into one trace file, on the clock of rank 0's host
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi trace merge foretop-trace -o run-1.ftrace"]))]
pub struct Merge {
    /// A folder of trace files, or a running job
    trace: PathBuf,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Export the calls of all ranks for other programs
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi trace export foretop-trace --format csv -o calls.csv && foretop-ace fit calls.csv",
    "foretop mpi trace export foretop-trace --format perfetto -o run.json   # open it at ui.perfetto.dev",
    "foretop mpi trace export foretop-trace --format records -o run.records   # for `foretop kernel merge`",
]))]
pub struct Export {
    /// A folder of trace files, a trace file, or a running job
    trace: PathBuf,

    /// The format of the output
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,

    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    /// The calls that move data: docs/formats/communication-trace.md, for `foretop-ace fit`.
    Csv,
    /// All calls, as columns; docs/formats/cli.md.
    Parquet,
    /// All calls, stages in trees, messages and waits; docs/formats/cli.md.
    Json,
    /// Trace events, for ui.perfetto.dev and chrome://tracing.
    Perfetto,
    /// Records of calls and messages, for `foretop kernel merge` and `plot`; docs/formats/record.md.
    Records,
}

impl Merge {
    pub fn run(self, _: &mut dyn Write) -> anyhow::Result<()> {
        let recordings = read(&self.trace)?;
        let to = create(&self.output)?;
        mpi_trace::merge(&recordings, to).with_context(|| format!("cannot write `{}`", self.output.display()))
    }
}

impl Export {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let recordings = read(&self.trace)?;
        let timeline = Timeline::of(&recordings);
        match &self.output {
            None => self.write(&timeline, out),
            Some(path) => {
                let mut to = create(path)?;
                self.write(&timeline, &mut to).with_context(|| format!("cannot write `{}`", path.display()))
            }
        }
    }

    fn write(&self, timeline: &Timeline, to: &mut dyn Write) -> anyhow::Result<()> {
        match self.format {
            Format::Csv if timeline.rows().next().is_none() => bail!("the trace has no calls that move data"),
            Format::Csv => mpi_trace::write_csv(timeline, to)?,
            Format::Json => mpi_trace::write_json(timeline, to)?,
            Format::Perfetto => mpi_trace::write_perfetto(timeline, to)?,
            Format::Records => records::write(timeline, to)?,
            Format::Parquet => {
                let metadata =
                    [("n_ranks", timeline.n_ranks().to_string()), ("error_ns", timeline.error_ns().to_string())];
                to.write_all(&crossval::encode(&columns(timeline), &metadata)?)?;
                to.flush()?;
            }
        }
        Ok(())
    }
}

fn create(path: &Path) -> anyhow::Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot make `{}`", path.display()))?;
    Ok(BufWriter::new(file))
}

/// A row for each call, by rank and start.
fn columns(timeline: &Timeline) -> Vec<Column> {
    let names: Vec<Arc<str>> = Operation::ALL.iter().map(|operation| operation.name().into()).collect();
    let words =
        |of: &dyn Fn(&Placed) -> Arc<str>| Cells::Words(timeline.calls().iter().map(|call| Some(of(call))).collect());
    let wholes = |of: &dyn Fn(&Placed) -> Option<i64>| Cells::Whole(timeline.calls().iter().map(of).collect());
    let tag = |call: &Placed| match call.event.subject {
        Subject::Call { tag, .. } | Subject::Part { tag, .. } => tag.map(i64::from),
        Subject::Stage { .. } => None,
    };
    // Times and sizes beyond what a signed number holds do not occur in 292 years.
    let large = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let column = |name, cells| Column { name, cells };
    vec![
        column("rank", wholes(&|call| Some(call.rank.into()))),
        column("thread", wholes(&|call| Some(call.thread.into()))),
        column("start_ns", wholes(&|call| Some(large(call.start_ns)))),
        column("end_ns", wholes(&|call| Some(large(call.end_ns)))),
        column("call", words(&|call| names[usize::from(call.event.operation.code())].clone())),
        column(
            "communicator",
            wholes(&|call| call.communicator_and_peer().map(|(communicator, _)| communicator.into())),
        ),
        column("peer", wholes(&|call| timeline.peer(call).map(i64::from))),
        column("tag", wholes(&tag)),
        column("size_bytes", wholes(&|call| Some(large(call.event.bytes)))),
        column("is_failed", wholes(&|call| Some(call.event.is_failed.into()))),
        column("is_part", wholes(&|call| Some(call.event.is_part().into()))),
    ]
}
