//! `foretop wan record` and `replay`: links as traces, out of what is known already, and relays that follow them.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use netmodel::{AtEnd, Description, Expected, Spread, Trace};
use node_api::{Client, Forecast};
use units::{Bandwidth, Confidence, Moment};
use wan::{Ways, messages_between};

use super::relay::Serving;
use crate::command::mpi::trace;
use command_line::argument::{NodeArgs, positive_span};
use command_line::failure::OrUsage;
use command_line::history::{Query, Sample};
use text::help::examples;

/// Make a link's trace from a node's signals and forecasts, or from a program's messages
#[derive(Args)]
#[command(subcommand_value_name = "COMMAND", after_help = examples(&[
    "foretop wan record flow db2 --from -24h --out yesterday.csv",
    "foretop wan record flow db2 --ahead 12h --out tonight.csv",
    "foretop wan record mpi foretop-trace --from node1 --to node2 --two-way --out link.csv",
]))]
pub struct Record {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Flow(Flow),
    Mpi(Messages),
}

/// Make a trace from the signals `flow.PEER` and `flow.PEER.round_trip` of a node
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop wan record flow db2 --from -24h --out yesterday.csv",
    "foretop wan record flow db2 --ahead 12h --out tonight.csv",
]))]
struct Flow {
    /// The peer, as in the signals' names
    peer: String,

    /// The earliest moment: a time, or a length of time before now with a minus sign
    #[arg(long, value_name = "TIME|-LENGTH", default_value = "-24h", allow_hyphen_values = true)]
    from: Moment,

    /// The end, exclusive [default: now]
    #[arg(long, value_name = "TIME|-LENGTH", allow_hyphen_values = true)]
    to: Option<Moment>,

    /// Instead of the past, use the node's forecast for this long from now on, drawn with its standard errors
    #[arg(long, value_name = "TIME", value_parser = positive_span, conflicts_with_all = ["from", "to"])]
    ahead: Option<Duration>,

    /// Seed for the draws
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "ahead")]
    seed: u64,

    /// The one-way latency, instead of half of the signal `flow.PEER.round_trip`
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    latency: Option<Duration>,

    #[command(flatten)]
    node: NodeArgs,

    #[command(flatten)]
    output: Output,
}

/// Make a trace from the messages of an MPI program, as `foretop mpi trace` records them
#[derive(Args)]
#[command(after_help = examples(&["foretop wan record mpi foretop-trace --from node1 --to node2 --two-way --out link.csv"]))]
struct Messages {
    /// Trace files, or their folder
    trace: PathBuf,

    /// The host of the senders
    #[arg(long, value_name = "HOST")]
    from: String,

    /// The host of the receivers
    #[arg(long, value_name = "HOST")]
    to: String,

    /// Use half of a message and the next one back, so that clocks need not agree
    #[arg(long)]
    two_way: bool,

    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct Output {
    /// The file to write [default: standard output]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
}

/// Relay over a link that behaves as in its trace, from the trace's beginning on
#[derive(Args)]
#[command(after_help = examples(&["foretop wan replay tonight.csv --listen 127.0.0.1:8080 --to 10.0.0.5:80"]))]
pub struct Replay {
    /// The trace of the link from the program to the server
    #[arg(value_name = "TRACE")]
    there: PathBuf,

    /// The trace of the link back [default: the same]
    #[arg(value_name = "BACK")]
    back: Option<PathBuf>,

    /// Behaviour after the last point
    #[arg(long, value_enum, default_value = "stop")]
    at_end: End,

    #[command(flatten)]
    serving: Serving,
}

/// Values of `--at-end`, as `netmodel::AtEnd`.
#[derive(Clone, Copy, ValueEnum)]
enum End {
    /// Connections break
    Stop,
    /// The trace begins again
    Loop,
    /// The last values stay
    Hold,
}

impl Record {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.what {
            What::Flow(flow) => flow.output.write(&flow.trace()?, out),
            What::Mpi(messages) => messages.output.write(&messages.trace()?, out),
        }
    }
}

impl Output {
    pub fn write(&self, trace: &Trace, out: &mut dyn Write) -> anyhow::Result<()> {
        let text = trace.to_csv();
        match &self.out {
            None => Ok(write!(out, "{text}")?),
            Some(path) => std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display())),
        }
    }
}

impl Flow {
    fn trace(&self) -> anyhow::Result<Trace> {
        let client = self.node.client()?;
        let (rate, round_trip) = (format!("flow.{}", self.peer), format!("flow.{}.round_trip", self.peer));
        match self.ahead {
            None => self.of_past(&client, &rate, &round_trip),
            Some(ahead) => self.of_forecasts(&client, &rate, &round_trip, ahead),
        }
    }

    fn of_past(&self, client: &Client, rate: &str, round_trip: &str) -> anyhow::Result<Trace> {
        let samples = |signal: &str| {
            let (_, pages) = Query { signal, from: self.from, to: self.to, step: None }.ask(client)?;
            let pages = pages.collect::<anyhow::Result<Vec<Vec<Sample>>>>()?;
            let values = pages.into_iter().flatten().filter_map(|sample| Some((sample.time, sample.value?)));
            Ok::<Vec<_>, anyhow::Error>(values.collect())
        };
        let rates = samples(rate)?;
        let (first, _) = *rates.first().with_context(|| format!("the node has no sample of `{rate}` in that time"))?;
        let round_trips = if self.latency.is_none() { samples(round_trip)? } else { Vec::new() };
        let first = round_trips.first().map_or(first, |(time, _)| first.min(*time));
        let latencies = round_trips.into_iter().map(|(time, seconds)| {
            Ok((
                time.saturating_since(first),
                Duration::try_from_secs_f64(seconds / 2.0).context("a round trip is no time")?,
            ))
        });
        let latencies = self.latency.map(|latency| Ok((Duration::ZERO, latency))).into_iter().chain(latencies);
        // Where nothing gets through, the link is as slow as can be said.
        let bits = |bytes_per_sec: f64| Bandwidth::new(((8.0 * bytes_per_sec) as u64).max(1));
        let rates = rates.into_iter().filter_map(|(time, value)| Some((time.saturating_since(first), bits(value)?)));
        Ok(Trace::new(latencies.collect::<anyhow::Result<Vec<_>>>()?, rates)?)
    }

    fn of_forecasts(&self, client: &Client, rate: &str, round_trip: &str, ahead: Duration) -> anyhow::Result<Trace> {
        let forecast = |signal: &str| {
            let forecast = client.forecast(signal, ahead, Confidence::default());
            forecast.map_err(|error| command_line::near_name::explain_unknown_signal(client, signal, error))
        };
        let rate = forecast(rate)?;
        let step = Duration::try_from_secs_f64(rate.step_seconds)?;
        let spreads = |forecast: &Forecast, factor: f64| -> Vec<Spread> {
            let steps = forecast.mean.iter().zip(&forecast.standard_error);
            steps.map(|(mean, error)| Spread { mean: mean * factor, deviation: error * factor }).collect()
        };
        let latencies = match self.latency {
            Some(latency) => vec![Spread { mean: latency.as_nanos() as f64, deviation: 0.0 }; rate.mean.len()],
            None => {
                let round_trip = forecast(round_trip)?;
                if round_trip.step_seconds != rate.step_seconds {
                    return Err(anyhow!(
                        "`{}` and `{}` have different steps: give the latency, as in --latency 10ms",
                        rate.id,
                        round_trip.id
                    ));
                }
                spreads(&round_trip, 0.5e9)
            }
        };
        let expected: Vec<Expected> = latencies
            .into_iter()
            .zip(spreads(&rate, 8.0))
            .map(|(latency_ns, rate)| Expected { latency_ns, rate_bits_per_sec: Some(rate) })
            .collect();
        Ok(Trace::drawn(step, &expected, self.seed)?)
    }
}

impl Messages {
    fn trace(&self) -> anyhow::Result<Trace> {
        let ways = if self.two_way { Ways::Two } else { Ways::One };
        messages_between(&trace::read(&self.trace)?, &self.from, &self.to, ways).or_usage()
    }
}

impl Replay {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let at_end = match self.at_end {
            End::Stop => AtEnd::Stop,
            End::Loop => AtEnd::Loop,
            End::Hold => AtEnd::Hold,
        };
        let link = |path: PathBuf| Description { trace: Some(path), at_end, ..Description::default() };
        let back = self.back.unwrap_or_else(|| self.there.clone());
        self.serving.run(link(self.there), link(back), out)
    }
}
