//! `foretop replay`: feeds a recorded trace into a running node, as if it happened now.

mod pace;

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::Args;
use node_api::{self as api, Client, ClientError};
use pace::{Pace, Speed};
use series::Series;
use units::span;

use crate::argument::{NodeArgs, SampleFile, positive_span};
use crate::failure::OrUsage;
use crate::help::examples;
use crate::interruption::interruptions;
use crate::terminal::say;

/// No request carries more; the rest follows in the next one.
const BATCH_MAX: usize = 1000;
/// How often the line of progress is written again.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// Feed a recorded trace into a running node as a signal
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop replay trace.csv --speed 60",
    "foretop replay load.txt --step 1s --speed 10 --as lab.load --unit tasks --keep",
]))]
pub struct Replay {
    #[command(flatten)]
    source: SampleFile,

    /// How many times faster than it was recorded
    #[arg(long, value_name = "FACTOR", default_value = "1")]
    speed: Speed,

    /// Name of the signal [default: replay. and the file's name]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,

    /// Unit of the samples
    #[arg(long, value_name = "TEXT")]
    unit: Option<String>,

    /// The model to forecast it with [default: the node's]
    #[arg(long, value_name = "TEXT")]
    model: Option<predict::Spec>,

    /// The trace's step, where its samples have no times
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    step: Option<Duration>,

    /// Leave the signal on the node at the end
    #[arg(long)]
    keep: bool,

    #[command(flatten)]
    node: NodeArgs,
}

/// How a feed ended, when nothing failed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Complete,
    Interrupted,
}

impl Replay {
    pub fn run(self) -> anyhow::Result<()> {
        let series = self.source.read()?;
        let pace = Pace::new(self.trace_step(&series).or_usage()?, self.speed).or_usage()?;
        let client = self.node.client()?;
        let name = self.name.clone().unwrap_or_else(|| format!("replay.{}", self.source.stem()));
        let interrupted = interruptions()?;
        let created = client.create(&api::NewSeries {
            id: name.clone(),
            unit: self.unit.clone(),
            sentence: Some(format!("Replay of {} at {} times its speed.", self.source.stem(), self.speed)),
            step: span::format(pace.step),
            model: self.model.as_ref().map(ToString::to_string),
        });
        created.map_err(|error| with_remedy(error, &name))?;
        let fed = feed(&client, &name, series.samples(), pace, &interrupted);
        // Also after a failure: a signal that nobody feeds is of no use, and would be in the way of the next try.
        let removed = if self.keep { Ok(()) } else { client.remove(&name) };
        let what = if self.keep { "it stays on the node" } else { "it is removed" };
        match fed? {
            End::Complete => say(&format!("replayed {} samples as `{name}`; {what}", series.samples().len())),
            End::Interrupted => say(&format!("interrupted; `{name}`: {what}")),
        }
        Ok(removed?)
    }

    fn trace_step(&self, series: &Series) -> anyhow::Result<Duration> {
        match (series.grid(), self.step) {
            (Some(grid), None) => Ok(grid.step),
            (None, Some(step)) => Ok(step),
            (None, None) => anyhow::bail!("the samples have no times; say how far apart they are, as in --step 1s"),
            (Some(grid), Some(_)) => anyhow::bail!(
                "the samples have times, {} apart; leave --step out, and use --speed to go faster or slower",
                span::format(grid.step)
            ),
        }
    }
}

fn with_remedy(error: ClientError, name: &str) -> anyhow::Error {
    let is_conflict = error.code() == Some(api::ErrorCode::Conflict);
    let error = anyhow::Error::from(error);
    if !is_conflict {
        return error;
    }
    error.context(format!("cannot make `{name}`; choose another name with --as, or remove it with `foretop forget`"))
}

/// Sends every sample when its deadline has come. Deadlines are counted from the start, so that a slow request
/// delays what follows it and does not shift it.
fn feed(
    client: &Client,
    name: &str,
    samples: &[f64],
    pace: Pace,
    interrupted: &mpsc::Receiver<()>,
) -> Result<End, ClientError> {
    let start = clock::instant();
    let mut progress = Progress::new(samples.len());
    let mut n_sent = 0;
    while n_sent < samples.len() {
        let until_due = pace.deadline(n_sent).saturating_sub(start.elapsed());
        if !matches!(interrupted.recv_timeout(until_due), Err(mpsc::RecvTimeoutError::Timeout)) {
            return Ok(End::Interrupted);
        }
        let n_due = pace.n_due(start.elapsed()).min(samples.len()).max(n_sent + 1).min(n_sent + BATCH_MAX);
        let batch: Vec<Option<f64>> = samples[n_sent..n_due].iter().map(|&x| (!x.is_nan()).then_some(x)).collect();
        client.push(name, &batch)?;
        n_sent = n_due;
        progress.show(n_sent);
    }
    Ok(End::Complete)
}

/// One line on standard error that is written over, if that is a terminal.
struct Progress {
    n_total: usize,
    shown: Option<Instant>,
    is_terminal: bool,
}

impl Progress {
    fn new(n_total: usize) -> Self {
        Self { n_total, shown: None, is_terminal: io::stderr().is_terminal() }
    }

    fn show(&mut self, n_sent: usize) {
        if !self.is_terminal || self.shown.is_some_and(|shown| shown.elapsed() < PROGRESS_EVERY) {
            return;
        }
        self.shown = Some(clock::instant());
        let percent = 100 * n_sent / self.n_total;
        let _ = write!(io::stderr(), "\r{n_sent} of {} samples, {percent} %\x1b[K", self.n_total);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
