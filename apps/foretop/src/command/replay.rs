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

use command_line::argument::{NodeArgs, SampleFile, positive_span};
use command_line::failure::OrUsage;
use command_line::interruption::interruptions;
use command_line::terminal::say;
use text::help::examples;

/// No request carries more; the rest follows in the next one.
const BATCH_MAX: usize = 1000;
/// The time between two writes of the line of progress on a terminal.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);
/// The time between two lines of progress elsewhere.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// Feed a recorded trace into a running node as a signal
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop replay trace.csv --speed 60",
    "foretop replay load.txt --step 1s --speed 10 --as lab.load --unit tasks --keep",
]))]
pub struct Replay {
    #[command(flatten)]
    source: SampleFile,

    /// The speed, as a multiple of the recorded one
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

    /// The trace's step, if its samples have no times
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    step: Option<Duration>,

    /// Keep the signal on the node at the end
    #[arg(long)]
    keep: bool,

    #[command(flatten)]
    node: NodeArgs,
}

/// The way in which a feed ended, when nothing failed.
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
        let n = series.samples().len();
        let takes = span::format(whole_seconds(pace.deadline(n.saturating_sub(1))));
        say(&format!("{n} samples, one every {}, take {takes}", span::format(pace.step)));
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
            (Some(grid), None) => Ok(grid.step.length()),
            (None, Some(step)) => Ok(step),
            (None, None) => anyhow::bail!("the samples have no times; give their step, such as --step 1s"),
            (Some(grid), Some(_)) => anyhow::bail!(
                "the samples have times, {} apart; leave --step out, and use --speed to go faster or slower",
                grid.step
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
    let mut progress = Progress::new(samples.len(), pace);
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
    pace: Pace,
    shown: Instant,
    is_terminal: bool,
    is_open: bool,
}

impl Progress {
    fn new(n_total: usize, pace: Pace) -> Self {
        Self { n_total, pace, shown: clock::instant(), is_terminal: io::stderr().is_terminal(), is_open: false }
    }

    fn show(&mut self, n_sent: usize) {
        let period = if self.is_terminal { PROGRESS_EVERY } else { LINE_EVERY };
        if self.shown.elapsed() < period {
            return;
        }
        self.shown = clock::instant();
        let line = progress_line(n_sent, self.n_total, self.pace);
        if self.is_terminal {
            self.is_open = true;
            let _ = write!(io::stderr(), "\r{line}\x1b[K");
        } else {
            say(&line);
        }
    }
}

/// `120 of 600 samples, 20 %, 8m left`.
fn progress_line(n_sent: usize, n_total: usize, pace: Pace) -> String {
    let left = pace.deadline(n_total).saturating_sub(pace.deadline(n_sent));
    let percent = 100 * n_sent / n_total.max(1);
    format!("{n_sent} of {n_total} samples, {percent} %, {} left", span::format(whole_seconds(left)))
}

/// Rounded up.
fn whole_seconds(span: Duration) -> Duration {
    Duration::from_secs(span.as_secs() + u64::from(span.subsec_nanos() > 0))
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_open {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_how_long_the_rest_takes() {
        let pace = Pace { step: Duration::from_millis(1500) };
        assert_eq!(progress_line(120, 600, pace), "120 of 600 samples, 20 %, 12m left");
        assert_eq!(progress_line(599, 600, pace), "599 of 600 samples, 99 %, 2s left");
    }
}
