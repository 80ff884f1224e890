//! Requests of controllers to an agent, and its answers: a line of JSON each.

mod lease;
mod settings;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use lease::{Lease, Refused};
pub use settings::{PointSetting, share_of_core};

use crate::Traced;

/// A request of a controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// The agent's status.
    Status,
    /// The latest summaries.
    Summaries,
    /// The latest events of traced points.
    Traces,
    /// The agent's clock, to compare it with another.
    Clock,
    /// All that is measured from now on. The connection becomes that of a receiver: a file of records, and no further
    /// answers.
    Receive,
    /// The end of a receiver's file, with the account of what was traced.
    EndReceive {
        /// Name of the receiver, as at the begin of its file.
        receiver: String,
    },
    /// The right to change things, alone.
    Lease {
        /// Name of the asker, for those who are refused meanwhile.
        name: String,
        /// Length of the lease in seconds, from now or from when it is given.
        seconds: u32,
        /// Whether to stand in the queue if another controller has the lease.
        wait: bool,
    },
    /// Gives the lease back, or leaves the queue.
    Release {
        /// Token that came with the lease.
        token: String,
    },
    /// Changes what is measured.
    Set(Change),
}

/// A change: what is not named stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// Token that came with the lease, if a controller has one.
    pub token: Option<String>,
    /// The whole instrumentation.
    pub is_on: Option<bool>,
    /// Numbers of the nodes that the change is for; all nodes if absent.
    pub nodes: Option<Vec<u32>>,
    /// Subsystems by name.
    pub subsystems: BTreeMap<String, SubsystemChange>,
    /// A share of a core for all probes.
    pub budget_cores: Option<f64>,
    /// Time between two pulls.
    pub interval_ms: Option<u64>,
    /// Limits of size groups.
    pub groups: Option<String>,
}

/// A change of a subsystem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SubsystemChange {
    /// The whole subsystem.
    pub is_on: Option<bool>,
    /// Points by name.
    pub points: BTreeMap<String, PointState>,
}

/// State of a point, which decides how its events are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointState {
    /// Nothing.
    Inactive,
    /// Events are counted.
    Summary,
    /// Events are counted, and each leaves a record.
    Trace,
}

/// An answer of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Answer {
    /// The request is done.
    Done,
    /// The lease is the asker's; without a token it is in the queue.
    Leased {
        /// Token to be shown with each change.
        token: String,
        /// Whether the asker may change things already.
        is_held: bool,
        /// Names of the controllers before the asker.
        ahead: Vec<String>,
    },
    /// The agent's status.
    Status(Status),
    /// The latest summaries.
    Summaries {
        /// Summaries of each node and subsystem.
        summaries: Vec<Summarized>,
    },
    /// Latest events of traced points.
    Traces {
        /// The monotonic clock, which the events' times compare with.
        now_ns: u64,
        /// The reason why points that were traced only count, if they had to give way.
        alarm: Option<String>,
        /// Each point with events since it was turned on.
        traces: Vec<TracedPoint>,
    },
    /// The time on the agent's clock.
    Clock {
        /// Time on the monotonic clock.
        now_ns: u64,
    },
    /// The request is not done.
    Refused {
        /// The reason, and what would be right.
        why: String,
    },
}

/// State of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The whole instrumentation.
    pub is_on: bool,
    /// Time between two pulls.
    pub interval_ms: u64,
    /// Share of a core that all probes may take.
    pub budget_cores: Option<f64>,
    /// Share of a core that all probes took in the last interval, by their prices.
    pub cost_cores: f64,
    /// Share of a core that the agent itself took since it began.
    pub own_cores: f64,
    /// Limits of the size groups.
    pub groups: Vec<u64>,
    /// The controller that alone may change things, if there is one, and the number of seconds for which it still may.
    pub holder: Option<(String, u32)>,
    /// Names of the controllers that wait for the lease.
    pub queue: Vec<String>,
    /// The nodes, in the order of their numbers.
    pub nodes: Vec<Numbered>,
    /// Each subsystem of each node.
    pub subsystems: Vec<SubsystemStatus>,
}

/// A node with its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbered {
    /// Number of the node; the numbers of nodes may have gaps.
    pub number: u32,
    /// `host`, `cgroup:PATH` or `tree:PID`.
    pub node: String,
}

/// A subsystem of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubsystemStatus {
    /// The node's number.
    pub node: u32,
    /// The subsystem's name.
    pub name: String,
    /// Whether it is measured.
    pub is_on: bool,
    /// Source of the counters: `bpf`, `proc` or `tracer`.
    pub source: String,
    /// Number of events of which one is looked at; `None` while its probes are off for the budget's sake.
    pub weight: Option<u32>,
    /// Share of a core that its probes took in the last interval.
    pub cost_cores: f64,
    /// Factor by which its programs ran longer lately than when their prices were measured; the cost includes it.
    #[serde(default)]
    pub factor: Option<f64>,
    /// Its points.
    pub points: BTreeMap<String, PointState>,
    /// Parts of its cost: each program, and `counting` what they found.
    pub probes: Vec<Paid>,
    /// Parts that are missing, in words.
    pub missing: Vec<String>,
}

/// A part of a subsystem's cost in the last interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paid {
    /// A program's name, or `counting`.
    pub what: String,
    /// Price of each run or event, as measured on this host.
    pub price_ns: f64,
    /// Time of a run lately, by the kernel's account, counting included and the way into the program not.
    #[serde(default)]
    pub run_ns: Option<f64>,
    /// Runs or events a second.
    pub per_sec: f64,
    /// Share of a core that the runs or events took.
    pub cost_cores: f64,
}

/// The latest events of a traced point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedPoint {
    /// The node's number.
    pub node: u32,
    /// The subsystem's name.
    pub subsystem: String,
    /// The point's name.
    pub point: String,
    /// The arguments that a user named, as events have them.
    #[serde(default)]
    pub fields: Vec<String>,
    /// Whether it still is traced.
    pub is_traced: bool,
    /// Events received.
    pub received: u64,
    /// Events received in the last whole second.
    pub per_sec: f64,
    /// Events of the subsystem that found no room in the ring, until the latest pull.
    pub dropped: u64,
    /// The last of those received, the youngest at the end.
    pub events: Vec<Traced>,
}

/// A summary as JSON has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summarized {
    /// The node's number.
    pub node: u32,
    /// The subsystem's name.
    pub subsystem: String,
    /// `bpf`, `proc` or `tracer`.
    pub source: String,
    /// Begin of the interval, on the monotonic clock.
    pub start_ns: u64,
    /// End of the interval, on the monotonic clock.
    pub end_ns: u64,
    /// Number of events of which one was looked at.
    pub weight: Option<u32>,
    /// Points with events, by name.
    pub points: BTreeMap<String, PointFigures>,
}

/// A point of it; what is not known is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in `Figures`")]
pub struct PointFigures {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<f64>,
}
