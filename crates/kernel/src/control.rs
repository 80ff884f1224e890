//! What controllers ask of an agent, and what it answers: a line of JSON each.

mod lease;
mod settings;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use lease::{Lease, Refused};
pub use settings::{PointSetting, share_of_core};

use crate::Traced;

/// What a controller asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// How things are.
    Status,
    /// The latest summaries.
    Summaries,
    /// The latest events of traced points.
    Traces,
    /// The agent's clock, to compare it with another.
    Clock,
    /// All that is measured from now on. The connection becomes that of a receiver: a file of records, and no further answers.
    Receive,
    /// The end of a receiver's file, with the account of what was traced.
    EndReceive {
        /// What the file begins with.
        receiver: String,
    },
    /// The right to change things, alone.
    Lease {
        /// Who asks, for those who are refused meanwhile.
        name: String,
        /// For how long, from now or from when it is given.
        seconds: u32,
        /// Whether to stand in the queue where somebody else has it.
        wait: bool,
    },
    /// Gives the lease back, or leaves the queue.
    Release {
        /// What came with the lease.
        token: String,
    },
    /// Changes what is measured.
    Set(Change),
}

/// A change: what is not named stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// What came with the lease, where somebody has one.
    pub token: Option<String>,
    /// The whole instrumentation.
    pub is_on: Option<bool>,
    /// To these nodes only, by number.
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

/// What becomes of a point's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointState {
    /// Nothing.
    Inactive,
    /// They count.
    Summary,
    /// They count, and each leaves a record.
    Trace,
}

/// What an agent answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Answer {
    /// It is done.
    Done,
    /// The lease is the asker's; without a token it is in the queue.
    Leased {
        /// To be shown with each change.
        token: String,
        /// Whether it may change things already.
        is_held: bool,
        /// Who is before it.
        ahead: Vec<String>,
    },
    /// How things are.
    Status(Status),
    /// The latest summaries.
    Summaries {
        /// Of each node and subsystem.
        summaries: Vec<Summarized>,
    },
    /// What came of traced points.
    Traces {
        /// The monotonic clock, which the events' times compare with.
        now_ns: u64,
        /// Why points that were traced only count, where they had to give way.
        alarm: Option<String>,
        /// Each point that anything came of since it was turned on.
        traces: Vec<TracedPoint>,
    },
    /// What time it is.
    Clock {
        /// On the monotonic clock.
        now_ns: u64,
    },
    /// It is not done.
    Refused {
        /// Why, and what would be right.
        why: String,
    },
}

/// How an agent is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The whole instrumentation.
    pub is_on: bool,
    /// Time between two pulls.
    pub interval_ms: u64,
    /// What all probes may take of a core.
    pub budget_cores: Option<f64>,
    /// What they took in the last interval, by their prices.
    pub cost_cores: f64,
    /// What the agent itself took of a core since it began.
    pub own_cores: f64,
    /// Limits of the size groups.
    pub groups: Vec<u64>,
    /// Who may change things, if somebody alone may, and for how many seconds more.
    pub holder: Option<(String, u32)>,
    /// Who waits for that.
    pub queue: Vec<String>,
    /// The nodes, in the order of their numbers.
    pub nodes: Vec<Numbered>,
    /// Each subsystem of each node.
    pub subsystems: Vec<SubsystemStatus>,
}

/// A node with its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbered {
    /// Any; the numbers of nodes may have gaps.
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
    /// Where counters come from: `bpf`, `proc` or `tracer`.
    pub source: String,
    /// One event in so many is looked at; nothing while its probes are off for the budget's sake.
    pub weight: Option<u32>,
    /// What its probes took of a core in the last interval.
    pub cost_cores: f64,
    /// By what factor its programs ran longer lately than when their prices were measured, which is in the cost.
    #[serde(default)]
    pub factor: Option<f64>,
    /// Its points.
    pub points: BTreeMap<String, PointState>,
    /// What its cost is made of: each program, and `counting` what they found.
    pub probes: Vec<Paid>,
    /// What is missing, in words.
    pub missing: Vec<String>,
}

/// A part of a subsystem's cost in the last interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paid {
    /// A program's name, or `counting`.
    pub what: String,
    /// For each run or event, as measured on this host.
    pub price_ns: f64,
    /// What a run took lately, by the kernel's account, counting included and the way into the program not.
    #[serde(default)]
    pub run_ns: Option<f64>,
    /// Runs or events a second.
    pub per_sec: f64,
    /// What that took of a core.
    pub cost_cores: f64,
}

/// What came of a traced point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedPoint {
    /// The node's number.
    pub node: u32,
    /// The subsystem's name.
    pub subsystem: String,
    /// The point's.
    pub point: String,
    /// The arguments that a user named, as events have them.
    #[serde(default)]
    pub fields: Vec<String>,
    /// Whether it still is traced.
    pub is_traced: bool,
    /// Events received.
    pub received: u64,
    /// Those of the last whole second.
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
    /// On the monotonic clock.
    pub start_ns: u64,
    /// On the monotonic clock.
    pub end_ns: u64,
    /// One event in so many was looked at.
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
