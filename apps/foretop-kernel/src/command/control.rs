//! `foretop kernel on|off|set|lease|release`: what controllers ask of an agent.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use kernel::control::{Answer, Change, PointSetting, Request, share_of_core};
use program::{Failure, written};
use text::help::examples;
use units::span;

use crate::argument::AgentAt;

/// The agent, and the lease to change it.
#[derive(Args)]
struct Controlled {
    #[command(flatten)]
    agent: AgentAt,

    /// The token that `foretop kernel lease` printed, if anyone has a lease
    #[arg(long, env = "FORETOP_KERNEL_LEASE")]
    lease: Option<String>,

    /// Apply to this node only, by its number; may be repeated [default: all]
    #[arg(long, value_name = "N")]
    node: Vec<u32>,
}

impl Controlled {
    fn change(self, change: Change) -> Result<(), Failure> {
        let nodes = (!self.node.is_empty()).then_some(self.node);
        self.agent.ask(&Request::Set(Change { token: self.lease, nodes, ..change })).map(|_| ())
    }
}

/// Turn the whole instrumentation on, or only some subsystems
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel on", "foretop kernel on vm fs --node 7"]))]
pub struct On {
    /// Subsystems to turn on, together with the whole instrumentation [default: the whole as it was set]
    #[arg(value_name = "SUBSYSTEM")]
    subsystems: Vec<String>,

    #[command(flatten)]
    controlled: Controlled,
}

/// Turn the whole instrumentation off, or only some subsystems; nothing stays attached
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel off", "foretop kernel off fs"]))]
pub struct Off {
    /// Subsystems to turn off [default: the whole]
    #[arg(value_name = "SUBSYSTEM")]
    subsystems: Vec<String>,

    #[command(flatten)]
    controlled: Controlled,
}

impl On {
    pub fn run(self, _out: &mut dyn Write) -> Result<(), Failure> {
        self.controlled.change(Change::on(self.subsystems))
    }
}

impl Off {
    pub fn run(self, _out: &mut dyn Write) -> Result<(), Failure> {
        self.controlled.change(Change::off(self.subsystems))
    }
}

/// Change how an agent measures: points, budget, interval, size groups
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop kernel set --budget 0.5% --interval 5s",
    "foretop kernel set --point fs.Read=trace --point vm.FileMap=inactive",
]))]
pub struct Set {
    /// The state of a point: `inactive`, `summary` or `trace`; may be repeated
    #[arg(long = "point", value_name = "SUBSYSTEM.POINT=STATE")]
    points: Vec<PointSetting>,

    /// The overhead budget of all probes: a share of a core
    #[arg(long, value_name = "SHARE", value_parser = share_of_core)]
    budget: Option<f64>,

    /// Time between two pulls
    #[arg(long, value_parser = span::parse)]
    interval: Option<Duration>,

    /// Limits of the size groups in bytes, ascending; counts are reset
    #[arg(long, value_name = "BYTES,…")]
    groups: Option<String>,

    #[command(flatten)]
    controlled: Controlled,
}

impl Set {
    pub fn run(self, _out: &mut dyn Write) -> Result<(), Failure> {
        let mut change = Change {
            budget_cores: self.budget,
            interval_ms: self.interval.map(|interval| interval.as_millis() as u64),
            groups: self.groups,
            ..Change::default()
        };
        self.points.into_iter().for_each(|point| change.set_point(point));
        self.controlled.change(change)
    }
}

/// Get the exclusive right to change settings for a while; prints the token for `--lease`
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel lease --for 10min", "foretop kernel lease --wait --name nightly"]))]
pub struct Lease {
    /// The length of the lease
    #[arg(long = "for", value_name = "SPAN", default_value = "10min", value_parser = span::parse)]
    how_long: Duration,

    /// Your name, which is shown to those who are refused meanwhile [default: user and process]
    #[arg(long)]
    name: Option<String>,

    /// Wait in the queue if someone else has the lease
    #[arg(long)]
    wait: bool,

    #[command(flatten)]
    agent: AgentAt,
}

impl Lease {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let user = std::env::var("USER").unwrap_or_else(|_| "somebody".into());
        let name = self.name.unwrap_or_else(|| format!("{user} (process {})", std::process::id()));
        let seconds = u32::try_from(self.how_long.as_secs()).unwrap_or(u32::MAX);
        let Answer::Leased { token, is_held, ahead } =
            self.agent.ask(&Request::Lease { name, seconds, wait: self.wait })?
        else {
            return Err(Failure::work("the agent answered something else than a lease"));
        };
        written(writeln!(out, "{token}"))?;
        if !is_held {
            written(writeln!(out, "in the queue behind {}", text::printable(&ahead.join(", "))))?;
        }
        Ok(())
    }
}

/// Give a lease back, or leave the queue for it
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel release 1f3a-2"]))]
pub struct Release {
    /// The token that `foretop kernel lease` printed
    #[arg(value_name = "TOKEN")]
    token: String,

    #[command(flatten)]
    agent: AgentAt,
}

impl Release {
    pub fn run(self, _out: &mut dyn Write) -> Result<(), Failure> {
        self.agent.ask(&Request::Release { token: self.token }).map(|_| ())
    }
}
