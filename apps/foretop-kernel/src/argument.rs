//! Arguments that commands have in common: which subsystems of what, and how they are read.

use std::io::{Cursor, Read};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use http_client::Trust;
use kernel::control::{Answer, Request};
use kernel::{Bpf, BpfOpener, Client, DEFAULT_SOCKET, GroupLimits, Node, Opener, ProcOpener, Subsystem};
use node_api::{ClientError, NodeUrl};
use program::Failure;
use secret::{Form, Privacy};

use crate::command::failed;
use crate::mpi_calls::{self, WithMpi};

/// The agent to ask: by its socket, or through a node that was started with `foretop up --kernel`.
#[derive(Args)]
pub struct AgentAt {
    /// The agent's socket
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,

    /// Ask through this node: http://host:7311
    #[arg(long = "through", value_name = "URL", conflicts_with = "socket")]
    url: Option<NodeUrl>,

    /// File with the node's token
    #[arg(long, value_name = "PATH", env = "FORETOP_TOKEN_FILE")]
    token_file: Option<PathBuf>,

    /// Certificates (PEM) to trust for https addresses, instead of the system's
    #[arg(long, value_name = "FILE", env = "FORETOP_CA")]
    ca: Option<PathBuf>,
}

impl AgentAt {
    /// Asks the agent, and waits for the answer.
    pub fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        self.line()?.ask(request)
    }

    /// A way to ask it more than once.
    pub fn line(&self) -> Result<Line, Failure> {
        let Some(url) = &self.url else { return Ok(Line::Socket(self.socket.clone())) };
        let read = |path: &PathBuf| secret::read(path, Form::Token, Privacy::Advised).map_err(Failure::usage_of);
        let token = self.token_file.as_ref().map(read).transpose()?.map(|found| {
            if let Some(exposed) = found.exposed {
                eprintln!("foretop kernel: warning: {exposed}");
            }
            found.secret
        });
        let trust =
            self.ca.as_deref().map(Trust::from_file).transpose().map_err(Failure::usage_of)?.unwrap_or_default();
        Ok(Line::Node(Box::new(node_api::Client::trusting(&trust, url.clone(), token))))
    }
}

/// The way to an agent.
pub enum Line {
    Socket(PathBuf),
    Node(Box<node_api::Client>),
}

impl Line {
    /// Asks the agent, and waits for the answer.
    pub fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        match self {
            Self::Socket(path) => Client::connect(path).and_then(|mut client| client.ask(request)).map_err(failed),
            Self::Node(client) => client.kernel(request).map_err(of_node),
        }
    }

    /// Receives a file of records of all that is measured.
    pub fn receive(&self) -> Result<Box<dyn Read + Send>, Failure> {
        match self {
            Self::Socket(path) => {
                let (first, socket) = Client::connect(path).and_then(Client::receive).map_err(failed)?;
                Ok(Box::new(Cursor::new(first).chain(socket)))
            }
            Self::Node(client) => Ok(Box::new(client.kernel_records().map_err(of_node)?)),
        }
    }
}

fn of_node(error: ClientError) -> Failure {
    match error {
        ClientError::Refused { message, .. } => Failure::work(message),
        error => Failure::of(error),
    }
}

/// Source of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// Programs in the kernel if they can be loaded, else /proc, with a note
    Best,
    /// Programs in the kernel only
    Bpf,
    /// Counts of /proc only: no root, no probes, no times
    Proc,
}

/// Subsystems to measure, the node, and the source of counters.
#[derive(Args)]
pub struct Measured {
    /// Subsystems: cpu, task, vm, fs … [default: all]
    #[arg(value_name = "SUBSYSTEM")]
    subsystems: Vec<String>,

    /// Points of your own, in TOML: tracepoints, functions and USDT probes; docs/kernel/user.md. Without names of
    /// subsystems, only these
    #[arg(long, value_name = "FILE.toml")]
    points: Option<PathBuf>,

    /// The node to measure: `host`, `cgroup:/sys/fs/cgroup/…`, or `tree:PID` for a process and its descendants
    #[arg(long, default_value = "host")]
    node: String,

    /// The source of counters
    #[arg(long, value_enum, default_value_t = Source::Best)]
    pub source: Source,

    /// Limits of the size groups in bytes, ascending [default: 64,512,4096,32768,262144,1048576,8388608]
    #[arg(long, value_name = "BYTES,…")]
    pub groups: Option<String>,
}

impl Measured {
    /// The subsystems that are named, or all.
    pub fn subsystems(&self) -> Result<Vec<&'static Subsystem>, Failure> {
        let named = self.subsystems.iter().map(|name| kernel::find(name).map_err(failed));
        let mut named = named.collect::<Result<Vec<_>, _>>()?;
        match &self.points {
            Some(path) => named.push(user_points(path)?),
            None if named.is_empty() => named = kernel::all().to_vec(),
            None => {}
        }
        Ok(named)
    }

    /// Sizes that are counted together.
    pub fn limits(&self) -> Result<GroupLimits, Failure> {
        self.groups.as_deref().map_or_else(|| Ok(GroupLimits::default()), |text| text.parse().map_err(failed))
    }

    /// Returns the node that is measured.
    pub fn node(&self) -> Result<Node, Failure> {
        self.node.parse().map_err(failed)
    }
}

/// The subsystem `user`, with the points of a file.
pub fn user_points(path: &std::path::Path) -> Result<&'static Subsystem, Failure> {
    let told = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| Failure::work(told(&error)))?;
    kernel::user::subsystem(&text).map_err(|error| Failure::usage(told(&error)))
}

/// Returns the opener that arms these subsystems for these nodes. A note gives the reason if it does so by /proc, where
/// that was left open.
pub fn opener(
    source: Source,
    nodes: &[Node],
    wanted: &[&'static Subsystem],
    notes: &mut Vec<String>,
) -> Result<Box<dyn Opener>, Failure> {
    opener_with_ring(source, nodes, wanted, kernel::RING_BYTES, notes)
}

/// The same, with so much room for records of traced points.
pub fn opener_with_ring(
    source: Source,
    nodes: &[Node],
    wanted: &[&'static Subsystem],
    ring_bytes: u32,
    notes: &mut Vec<String>,
) -> Result<Box<dyn Opener>, Failure> {
    let with_mpi = |others| Box::new(WithMpi::beside(others)) as Box<dyn Opener>;
    let is_told_apart = nodes.iter().all(|node| *node == Node::Host) || wanted.iter().all(|one| mpi_calls::knows(one));
    let by_proc = || match is_told_apart {
        true => Ok(with_mpi(Box::new(ProcOpener))),
        false => Err(failed(kernel::Error::WholeHostOnly { arm: "/proc" })),
    };
    if source == Source::Proc {
        return by_proc();
    }
    // Whether programs can be loaded at all is the same for all nodes.
    match Bpf::open(Node::Host, GroupLimits::default()) {
        Ok(_) => Ok(with_mpi(Box::new(BpfOpener::with_ring(ring_bytes)))),
        Err(error @ (kernel::Error::NoBtf | kernel::Error::NotAllowed)) if source == Source::Best => {
            notes.push(format!("{error}; counting by /proc"));
            by_proc()
        }
        Err(error) => Err(failed(error)),
    }
}

/// A group of this system, by its name or number.
pub fn group(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let groups = std::fs::read_to_string("/etc/group").map_err(|error| format!("cannot read `/etc/group`: {error}"))?;
    let number = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(text)).then(|| fields.nth(1)?.parse().ok()).flatten()
    });
    number.ok_or_else(|| format!("there is no group `{text}` in /etc/group; give its name there, or its number"))
}
