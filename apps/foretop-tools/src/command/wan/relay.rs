//! `foretop wan relay`: a link for one program, without root.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::Args;
use netmodel::Description;
use wan::{Protocol, RelayPlan};
use watch::Watch;

use super::live;
use crate::publisher::Publishing;
use command_line::failure::OrUsage;
use command_line::interruption;
use command_line::terminal::say;
use text::help::examples;

/// Keys of a link whose values are numbers or switches; all others are words.
const WITHOUT_UNIT: [&str; 3] = ["burst", "cycles-per-sec", "drawn"];

/// Delay the messages of a program to a server, over TCP or UDP
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop wan relay --listen 127.0.0.1:8080 --to 10.0.0.5:80 --model latency=25ms,bandwidth=10Mbit/s",
    "foretop wan relay --udp --listen 127.0.0.1:5353 --to 10.0.0.5:53 --model latency=25ms,loss=1%",
    "foretop wan relay --listen 127.0.0.1:8080 --to 10.0.0.5:80 --model eventspace/vvgw-roadrunner",
]))]
pub struct Relay {
    /// The link: KEY=VALUE,… as in docs/formats/link-trace.md, or the name of a profile
    #[arg(long, value_name = "LINK", value_parser = model)]
    model: Description,

    /// The link from the server back to the program [default: the same]
    #[arg(long, value_name = "LINK", value_parser = model)]
    back: Option<Description>,

    #[command(flatten)]
    serving: Serving,
}

/// Addresses and limits of a relay.
#[derive(Args)]
pub struct Serving {
    /// The address that programs connect to instead
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    listen: SocketAddr,

    /// The server
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    to: SocketAddr,

    /// Relay UDP datagrams instead of TCP connections
    #[arg(long)]
    udp: bool,

    /// The limit of programs that are connected at the same time
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    clients_max: usize,

    /// Seed for all random draws
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    publishing: Publishing,
}

impl Relay {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let back = self.back.unwrap_or_else(|| self.model.clone());
        self.serving.run(self.model, back, out)
    }
}

impl Serving {
    /// Relays over these links until it is interrupted.
    pub fn run(self, there: Description, back: Description, out: &mut dyn Write) -> anyhow::Result<()> {
        let plan = RelayPlan {
            protocol: if self.udp { Protocol::Udp } else { Protocol::Tcp },
            listen: self.listen,
            to: self.to,
            there,
            back,
            clients_max: self.clients_max,
            seed: self.seed,
        };
        let interruptions = interruption::interruptions()?;
        let watch = Watch::new(Arc::new(clock::System::start()));
        let relay = match wan::Relay::start(&plan, |path: &Path| std::fs::read_to_string(path), &watch) {
            Err(error @ (wan::RelayError::Link { .. } | wan::RelayError::Stream)) => return Err(error).or_usage(),
            other => other?,
        };
        writeln!(out, "listening at {}, relaying to {}, seed {}", relay.address(), plan.to, plan.seed)?;
        if relay.clients_max() < plan.clients_max {
            let room = relay.clients_max();
            say(&format!(
                "foretop: warning: the limit of open files (`ulimit -Hn`) has room for {room} clients instead of {}",
                plan.clients_max
            ));
        }
        out.flush()?;
        let [there, back] = relay.directions();
        let directions = [live::Way::new("there", there), live::Way::new("back", back)];
        let publisher = self.publishing.start("wan-relay", "wan.relay", live::EVERY)?;
        live::show(out, &directions, publisher, &interruptions, &watch)
    }
}

/// A name or an address, with a port.
pub fn address(text: &str) -> anyhow::Result<SocketAddr> {
    let wrong = || format!("`{text}` is no address: write HOST:PORT");
    text.to_socket_addrs().with_context(wrong)?.next().with_context(wrong)
}

/// `latency=10ms,bandwidth=100Mbit/s`, or the name of a profile.
fn model(text: &str) -> anyhow::Result<Description> {
    let entry = |entry: &str| match entry.split_once('=') {
        Some((key, value)) => {
            let (key, value) = (key.trim(), value.trim());
            let plain = value.parse().ok().filter(|_| WITHOUT_UNIT.contains(&key));
            Ok((key.to_owned(), plain.unwrap_or_else(|| toml::Value::String(value.to_owned()))))
        }
        None if !text.contains('=') => Ok(("profile".to_owned(), toml::Value::String(text.to_owned()))),
        None => Err(anyhow!("`{entry}` is not KEY=VALUE, as in latency=10ms,bandwidth=100Mbit/s")),
    };
    let table = text.split(',').map(entry).collect::<anyhow::Result<toml::Table>>()?;
    table.try_into().map_err(|error: toml::de::Error| anyhow!("{}", error.message().trim().replace('\n', ", ")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_link_is_one_word() {
        let described = model("latency=10ms,bandwidth=100Mbit/s,loss=0.5%,burst=3,order=free").unwrap();
        assert_eq!(described.latency, Some(Duration::from_millis(10)));
        assert_eq!(described.burst, Some(3.0));
        assert_eq!(model("varg/princeton-tromso").unwrap().profile.as_deref(), Some("varg/princeton-tromso"));
        for (text, told) in [("latency=10", "unit"), ("latency=10ms,fast", "`fast`"), ("delay=10ms", "delay")] {
            let error = format!("{:#}", model(text).unwrap_err());
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
