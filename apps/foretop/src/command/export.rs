//! `foretop export`: gets samples out of a node.

use std::io::Write;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use node::api;
use serde::Serialize;
use units::{Timestamp, span};

use super::ask::{positive_span, with_near_names};
use crate::cli::{NodeArgs, examples};
use crate::client::{Client, ClientError, RangeText, moment};
use crate::failure::OrUsage;
use crate::terminal::write_json;

/// A node gives at most 100,000 values at once; half of that keeps an answer below a few megabytes.
const PAGE_STEPS: u32 = 50_000;

/// Print the samples that a node holds of a signal
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

    /// The first moment that is left out [default: now]
    #[arg(long, value_name = "TIME|-LENGTH", allow_hyphen_values = true)]
    to: Option<Moment>,

    /// Means over buckets of this length instead of the samples
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    step: Option<Duration>,

    /// How to print them
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,

    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    /// A line `time,value` for each sample; the value of a gap is empty.
    Csv,
    /// For programs; see docs/formats/cli.md.
    Json,
}

/// A time as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    At(Timestamp),
    Before(Duration),
}

/// Samples of a signal that a node is asked for.
pub struct Query<'a> {
    pub signal: &'a str,
    pub from: Moment,
    /// Now if `None`.
    pub to: Option<Moment>,
    /// That of the signal if `None`.
    pub step: Option<Duration>,
}

impl FromStr for Moment {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Seconds since 1970 may be negative as well, but have no unit.
        match text.strip_prefix('-').map(span::parse) {
            Some(Ok(span)) => Ok(Self::Before(span)),
            _ => Ok(Self::At(text.parse()?)),
        }
    }
}

impl Moment {
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Before(span) => now - span,
        }
    }
}

#[derive(Serialize)]
struct Samples {
    id: String,
    unit: String,
    samples: Vec<Sample>,
}

/// A sample and its moment; without a value it is a gap.
#[derive(Serialize)]
pub struct Sample {
    time: Timestamp,
    pub value: Option<f64>,
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

impl Query<'_> {
    /// The series, and its samples page by page, without the gaps at both ends.
    pub fn ask(
        &self,
        client: &Client,
    ) -> anyhow::Result<(api::Series, impl Iterator<Item = anyhow::Result<Vec<Sample>>>)> {
        let explain = |error: ClientError| with_near_names(client, self.signal, error);
        let detail = client.detail(self.signal).map_err(explain)?;
        let pages = self.pages(Duration::try_from_secs_f64(detail.series.step_seconds)?)?;
        let mut trim = Trim::default();
        let samples = pages.into_iter().map(move |page| Ok(trim.take(self.page(client, page).map_err(explain)?)));
        Ok((detail.series, samples))
    }

    /// The range in parts that the node answers at once.
    fn pages(&self, series_step: Duration) -> anyhow::Result<Vec<(Timestamp, Timestamp)>> {
        let now = Timestamp::from_system(SystemTime::now());
        let from = self.from.resolve(now);
        let to = self.to.map_or(now + series_step, |to| to.resolve(now));
        let is_range = if from < to { Ok(()) } else { Err(anyhow::anyhow!("there is no time from {from} to {to}")) };
        is_range.or_usage()?;
        let step = self.step.unwrap_or(series_step);
        // Pages begin on the grid of buckets, so that no bucket is cut in two.
        let first = from.floor_to(step);
        let starts = std::iter::successors(Some(first), |start| Some(*start + step * PAGE_STEPS));
        let starts = starts.take_while(|start| *start < to);
        Ok(starts.map(|start| (start.max(from), (start + step * PAGE_STEPS).min(to))).collect())
    }

    fn page(&self, client: &Client, (from, to): (Timestamp, Timestamp)) -> Result<Vec<Sample>, ClientError> {
        let range = RangeText { from: Some(from.to_string()), to: Some(to.to_string()) };
        let api::Samples { start, step_seconds, values, .. } = client.samples(self.signal, range, self.step)?;
        let sample = |(idx, value)| Sample { time: moment(start, step_seconds, idx), value };
        Ok(values.into_iter().enumerate().map(sample).collect())
    }
}

/// Leaves out the gaps before the first value and after the last one: nothing was measured there yet, or any more.
#[derive(Default)]
struct Trim {
    has_begun: bool,
    gaps: Vec<Sample>,
}

impl Trim {
    /// What is known to lie between two values, this page included.
    fn take(&mut self, page: Vec<Sample>) -> Vec<Sample> {
        let mut kept = Vec::with_capacity(page.len());
        for sample in page {
            if sample.value.is_some() {
                self.has_begun = true;
                kept.append(&mut self.gaps);
                kept.push(sample);
            } else if self.has_begun {
                self.gaps.push(sample);
            }
        }
        kept
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_at_both_ends_are_left_out_across_pages() {
        let page = |values: &[Option<f64>]| {
            values.iter().map(|value| Sample { time: Timestamp::from_nanos(0), value: *value }).collect()
        };
        let mut trim = Trim::default();
        let taken: Vec<Vec<Option<f64>>> = [page(&[None, Some(1.0), None]), page(&[None]), page(&[Some(2.0), None])]
            .map(|page| trim.take(page).iter().map(|sample| sample.value).collect())
            .to_vec();
        assert_eq!(taken, [vec![Some(1.0)], vec![], vec![None, None, Some(2.0)]]);
    }

    #[test]
    fn a_length_with_a_minus_is_before_now() {
        let now = Timestamp::from_nanos(600_000_000_000);
        assert_eq!("-10min".parse::<Moment>().unwrap().resolve(now), Timestamp::from_nanos(0));
        assert_eq!("-5".parse::<Moment>().unwrap(), Moment::At(Timestamp::from_nanos(-5_000_000_000)));
        assert!("10min".parse::<Moment>().is_err());
    }
}
