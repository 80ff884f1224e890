//! `foretop internal pool-load`: what loads a pool of prediction servers.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use component::pool::Traffic;

use command_line::argument::{Broker, positive_span};
use text::help::examples;

/// Publish measurements of hosts that do not exist, to load a pool of prediction servers
#[derive(Args)]
#[command(after_help = examples(&["foretop internal pool-load --nats nats://broker --hosts 50"]))]
pub struct PoolLoad {
    /// The number of hosts
    #[arg(long, value_name = "N", default_value = "100")]
    hosts: u32,

    /// The number of signals of each host
    #[arg(long, value_name = "N", default_value = "79", value_parser = clap::value_parser!(u32).range(1..=4096))]
    signals: u32,

    /// Time between two measurements of a host
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = positive_span)]
    step: Duration,

    /// The number of measurements of each host
    #[arg(long, value_name = "N", default_value = "60")]
    count: u64,

    #[command(flatten)]
    broker: Broker,
}

impl PoolLoad {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let traffic = Traffic {
            prefix: "foretop.samples".to_owned(),
            n_hosts: self.hosts,
            n_signals: self.signals,
            step: self.step,
            first: 0,
            n_steps: self.count,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut n_sent = 0_u64;
        runtime.block_on(traffic.run(&self.broker.security(), |_| n_sent += 1))?;
        writeln!(out, "{n_sent} messages")?;
        Ok(())
    }
}
