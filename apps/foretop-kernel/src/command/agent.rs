//! `foretop kernel agent`: the part that needs privileges, and that others control.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kernel::control::{Change, share_of_core};
use kernel::{DEFAULT_SOCKET, Engine, Node, Pulled, Sink};
use program::{Failure, Interruption, written};
use text::help::examples;
use units::span;

use super::failed;
use super::record::{FileFormat, RATE_CAP};
use crate::argument::{self, Source};
use crate::capture::{Capture, Origin};
use crate::delivery::Delivery;

/// Serve controllers on a Unix socket; the agent is dormant until one of them turns it on
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop kernel agent",
    "foretop kernel agent --on --budget 1%",
    "foretop kernel agent --points points.toml --budget 1%",
    "foretop kernel agent --group foretop",
    "foretop kernel agent --node 0=host --node 7=tree:4711 --socket /tmp/kernel.sock",
]))]
pub struct Agent {
    /// The socket that controllers connect to; for this user alone, unless --group names others
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,

    /// A group whose members may connect too, such as that of a node's user, by name or number
    #[arg(long, value_name = "GROUP", value_parser = argument::group)]
    group: Option<u32>,

    /// A node with its number, such as `0=host`, `1=cgroup:/sys/fs/cgroup/…` or `7=tree:PID`; may be repeated [default:
    /// 0=host]
    #[arg(long, value_name = "N=NODE", value_parser = numbered)]
    node: Vec<(u32, Node)>,

    /// Points of your own, in TOML, as subsystem `user` of each node: tracepoints, functions and USDT probes;
    /// docs/kernel/user.md
    #[arg(long, value_name = "FILE.toml")]
    points: Option<PathBuf>,

    /// The source of counters
    #[arg(long, value_enum, default_value_t = Source::Best)]
    source: Source,

    /// Time between two pulls
    #[arg(long, default_value = "10 s", value_parser = span::parse)]
    interval: Duration,

    /// The overhead budget of all probes: a share of a core
    #[arg(long, value_name = "SHARE", value_parser = share_of_core)]
    budget: Option<f64>,

    /// A folder for a file of all measurements [default: none; controllers ask for summaries]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// The file's format
    #[arg(long, value_enum, default_value_t = FileFormat::Own)]
    format: FileFormat,

    /// The rate of traced events, per second, above which points only count and an alarm is raised
    #[arg(long, value_name = "N", default_value_t = RATE_CAP)]
    rate_cap: u64,

    #[command(flatten)]
    delivery: Delivery,

    /// Measure from the start, rather than when a controller turns it on
    #[arg(long)]
    on: bool,
}

fn numbered(text: &str) -> Result<(u32, Node), String> {
    let (number, node) = text.split_once('=').ok_or_else(|| format!("`{text}` has no number; write `0={text}`"))?;
    let number = number.parse().map_err(|_| format!("`{number}` is not the number of a node"))?;
    Ok((number, node.parse().map_err(|error: kernel::Error| error.to_string())?))
}

/// The sink if there is no file: traced events are taken out, so that their buffer does not stay full; the engine keeps
/// the last for controllers.
struct Discard;

impl Sink for Discard {
    fn pulled(&mut self, engine: &mut Engine, _: &[Pulled]) -> Result<(), kernel::Error> {
        self.traced(engine)
    }

    fn traced(&mut self, engine: &mut Engine) -> Result<(), kernel::Error> {
        engine.drain(|_, _| {}).map(|_| ())
    }
}

impl Agent {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let destination = self.delivery.destination()?;
        let mut nodes: BTreeMap<u32, Node> = BTreeMap::new();
        for (number, node) in self.node {
            if nodes.insert(number, node).is_some() {
                return Err(Failure::usage(format!("node {number} is given twice; give each its own number")));
            }
        }
        if nodes.is_empty() {
            nodes.insert(0, Node::Host);
        }
        let user = self.points.as_deref().map(argument::user_points).transpose()?;
        let mut notes = Vec::new();
        let measured: Vec<Node> = nodes.values().cloned().collect();
        let opener = argument::opener(self.source, &measured, kernel::all(), &mut notes)?;
        for note in notes {
            written(writeln!(out, "note: {note}"))?;
        }
        let is_over = Interruption::watch()?;
        let names = nodes.iter().map(|(number, node)| format!("{number}={node}")).collect();
        let engine = Engine::new(opener, nodes, self.interval.as_millis() as u64, self.budget);
        let mut engine = engine.with_rate_cap(self.rate_cap);
        if let Some(user) = user {
            engine = engine.with_points(user);
        }
        let origin = Origin { nodes: names, title: None };
        let agent = kernel::Agent::listen(engine, &self.socket, self.group).map_err(failed)?;
        let mut agent = agent.with_origin({
            let origin = origin.clone();
            move || origin.attributes()
        });
        if self.on {
            agent.engine().change(&Change { is_on: Some(true), ..Change::default() }).map_err(failed)?;
        }
        written(writeln!(out, "listening at {}", self.socket.display()).and_then(|()| out.flush()))?;
        let mut capture = match self.out {
            None => None,
            Some(folder) => Some(Capture::begin(&folder, self.format.into(), agent.engine(), &origin)?),
        };
        let is_over = || is_over.has_come();
        let sink: &mut dyn Sink = match &mut capture {
            Some(capture) => capture,
            None => &mut Discard,
        };
        agent.serve(is_over, sink).map_err(failed)?;
        if let Some(capture) = capture {
            let (path, _) = capture.end(agent.engine())?;
            written(writeln!(out, "{}", path.display()))?;
            if let Some(place) = destination.take(&path)? {
                written(writeln!(out, "copied to {place}"))?;
            }
        }
        Ok(())
    }
}
