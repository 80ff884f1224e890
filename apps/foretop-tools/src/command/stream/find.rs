//! `foretop stream find`: which streams run.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use signal::Glob;
use stream::registry::{Announcement, Query, Registry, find};
use text::printable;
use units::span;

use command_line::argument::Broker;
use command_line::failure::OrUsage;
use command_line::terminal::write_json;
use text::help::examples;

/// Find running streams on this host, on the local network, and through a NATS server
///
/// In a pattern, `*` stands for any text and `?` for one character: load.* matches every signal that begins with load.
#[derive(Args)]
#[command(after_help = examples(&["foretop stream find", "foretop stream find --signal 'load.*' --model 'AR(*)' --json"]))]
pub struct Find {
    /// The component that offers the stream, as in pred-server
    #[arg(long, value_name = "PATTERN")]
    component: Option<Glob>,

    /// The stream's name
    #[arg(long, value_name = "PATTERN")]
    name: Option<Glob>,

    /// The host whose signals these are
    #[arg(long, value_name = "PATTERN")]
    stream_host: Option<Glob>,

    /// A signal in the stream
    #[arg(long, value_name = "PATTERN")]
    signal: Option<Glob>,

    /// The model that forecasts the signal
    #[arg(long, value_name = "PATTERN")]
    model: Option<Glob>,

    /// Search this host only
    #[arg(long)]
    local: bool,

    /// The time to wait for answers from the network
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = span::parse)]
    wait: Duration,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    broker: Broker,
}

impl Find {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { component, name: stream, stream_host: host, signal, model, local, wait, json, broker } = self;
        let across = broker.is_given() && !local;
        let mut security = broker.security();
        security.registry = Registry { lan: !local, across, ..Registry::default() };
        let found = find(&Query { component, stream, host, signal, model }, wait, &security).or_usage()?;
        if json {
            return Ok(write_json(out, &found)?);
        }
        for stream in &found {
            writeln!(out, "{}", printable(&line(stream)))?;
        }
        Ok(())
    }
}

fn line(found: &Announcement) -> String {
    let model = found.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
    let signals = match &found.signals[..] {
        [] => "no signals".to_owned(),
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    };
    let places = [&found.addresses[..], &found.servers[..]].concat().join(" ");
    format!("{}: {signals}{model}: {places}", found.name())
}
