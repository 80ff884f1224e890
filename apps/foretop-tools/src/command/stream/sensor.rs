//! `foretop stream load-server` and `flow-server`: measurements of this host, and of the network around it.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use component::{Meter, SensorServer, SourceMeter, Synthetic};
use feed::transfer::{TransferSettings, TransferSource};
use node::Feed;
use secret::Token;
use sensor::Host;
use signal::Selection;
use stream::Mirror;
use units::span;

use super::wiring::Wiring;
use command_line::argument::Peer;
use command_line::failure::OrUsage;
use command_line::snmp::snmp_of;
use text::help::examples;

/// The signals to measure, and the step.
#[derive(Args)]
pub struct SensorArgs {
    /// Time between measurements; 0, with --synthetic only, for as fast as possible
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = step)]
    pub step: Duration,

    /// Measure signals that match, as in 'cpu.*'; may be repeated [default: load.1m, load.5m and load.15m]
    #[arg(long, value_name = "GLOB")]
    signal: Vec<String>,

    /// Read /proc and /sys below this folder: a recorded host
    #[arg(long, value_name = "PATH", default_value = "/")]
    root: PathBuf,

    /// Measure nothing; generate values of an autoregressive process
    #[arg(long, conflicts_with = "signal")]
    synthetic: bool,

    /// Seed for the generated values
    #[arg(long, value_name = "N", default_value = "1", requires = "synthetic")]
    seed: u64,

    /// Mean of the generated values
    #[arg(long, value_name = "X", default_value = "10", requires = "synthetic", allow_negative_numbers = true)]
    mean: f64,

    /// Correlation of neighbouring generated values, within (-1, 1)
    #[arg(long, value_name = "X", default_value = "0.9", requires = "synthetic", allow_negative_numbers = true)]
    correlation: f64,
}

/// Measure this host at each step, and send the measurements
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream load-server connect:tcp:5001 server:tcp:5000",
    "foretop stream load-server --step 100ms --signal cpu.availability --signal 'memory.*' --allow-plain target:udp:239.99.99.99:5012",
    "foretop stream load-server --synthetic --step 1ms connect:tcp:5001",
]))]
pub struct LoadServer {
    #[command(flatten)]
    wiring: Wiring,

    #[command(flatten)]
    sensor: SensorArgs,
}

/// Measure the bandwidth of flows at each step, by short transfers to a peer or by the counters of SNMP agents, and
/// send the measurements
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream flow-server --peer db2=db2.example:7312 --token-file ~/.config/foretop/token connect:tcp:5001",
    "foretop stream flow-server --snmp foretop.toml connect:tcp:5001",
]))]
pub struct FlowServer {
    #[command(flatten)]
    wiring: Wiring,

    /// The peer of the transfers: its name, and the address of its responder
    #[arg(long, value_name = "NAME=HOST:PORT", required_unless_present = "snmp")]
    peer: Option<Peer>,

    /// Ask the agents in the [snmp] section of this configuration of a node, without transfers
    #[arg(long, value_name = "PATH", conflicts_with = "peer")]
    snmp: Option<PathBuf>,

    /// File with the token for transfers [default: that of --token-file]
    #[arg(long, value_name = "PATH", env = "FORETOP_FLOW_TOKEN_FILE")]
    flow_token_file: Option<PathBuf>,

    /// Time between measurements [default: 1min between transfers, `every` of [snmp]]
    #[arg(long, value_name = "TIME", value_parser = step)]
    step: Option<Duration>,
}

/// A transfer is a load, so there is one a minute.
const BETWEEN_TRANSFERS: Duration = Duration::from_secs(60);

/// Zero needs no unit.
fn step(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let step = span::parse(text).map_err(|error| error.to_string())?;
    let (least, most) = (SensorServer::STEP_MIN, SensorServer::STEP_MAX);
    if step.is_zero() || (least..=most).contains(&step) {
        return Ok(step);
    }
    Err(format!("a step is {} to {}, not {text}", span::format(least), span::format(most)))
}

impl SensorArgs {
    /// Returns the name of the stream if none is given.
    pub fn stream_name(&self) -> &'static str {
        if self.synthetic { "synthetic" } else { "load" }
    }

    /// # Errors
    /// When what is asked for cannot be measured.
    pub fn meter(&self) -> anyhow::Result<Box<dyn Meter>> {
        if self.synthetic {
            return Ok(Box::new(Synthetic::new(self.seed, self.mean, self.correlation).or_usage()?));
        }
        if self.step.is_zero() {
            return Err(anyhow::anyhow!(
                "a step of 0 is only for --synthetic; give a sensor a longer one, such as 10ms"
            ))
            .or_usage();
        }
        let (host, globs) = match &self.signal[..] {
            [] => (Host::open_load(&self.root)?, &["load.*".to_owned()][..]),
            globs => (Host::open(&self.root)?, globs),
        };
        Ok(Box::new(SourceMeter::new(Box::new(host), Selection::new(globs, &[]).or_usage()?)))
    }
}

impl LoadServer {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { wiring, sensor } = self;
        let stream = wiring.name.clone().unwrap_or_else(|| sensor.stream_name().to_owned());
        let server = SensorServer::new(stream, wiring.host(), sensor.step, sensor.meter()?);
        wiring.run("load-server", Mirror::new("load-server", server).every(sensor.step), None, out).map(drop)
    }
}

impl FlowServer {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (stream, feed) = match (&self.snmp, &self.peer) {
            (Some(configuration), _) => {
                let (step, source) = snmp_of(configuration).or_usage()?;
                let source = Box::new(source);
                ("flow".to_owned(), Feed { name: "snmp".to_owned(), step, n_signals_max: None, source })
            }
            (None, Some(peer)) => (format!("flow.{}", peer.name), self.transfers(peer)?),
            (None, None) => unreachable!("one of the two is required"),
        };
        let step = self.step.unwrap_or(feed.step);
        anyhow::ensure!(!step.is_zero(), "a measurement needs time: the step must be more than 0");
        let meter = SourceMeter::new(feed.source, Selection::default());
        let stream = self.wiring.name.clone().unwrap_or(stream);
        let mirror = SensorServer::mirror_elsewhere("flow-server", stream, self.wiring.host(), step, meter)?;
        self.wiring.run("flow-server", mirror, None, out).map(drop)
    }

    fn transfers(&self, peer: &Peer) -> anyhow::Result<Feed> {
        let token = self.flow_token_file.as_ref().or(self.wiring.protection.token_file.as_ref());
        let token =
            Token::from_file(token.context("transfers need a token: give --token-file").or_usage()?).or_usage()?;
        let settings = TransferSettings::new(&peer.name, &peer.address, token);
        let source = Box::new(TransferSource::new(settings).or_usage()?);
        Ok(Feed { name: peer.name.clone(), step: BETWEEN_TRANSFERS, n_signals_max: None, source })
    }
}
