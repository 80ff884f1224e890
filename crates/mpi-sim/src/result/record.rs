//! The records of a result, as they stand in its file.

use serde::{Deserialize, Serialize};
use units::{Rank, SimTime};

use crate::collective::Rules;
use crate::machine::Place;
use crate::world::{Counts, RankCounts, Stopped, Wait, World};

/// Kinds of records.
pub mod kind {
    /// [`super::MachineUsed`].
    pub const MACHINE: &str = "sim.machine";
    /// [`super::Run`].
    pub const RUN: &str = "sim.run";
    /// [`super::RankTimes`].
    pub const RANK: &str = "sim.rank";
    /// [`super::CallUse`].
    pub const CALL: &str = "sim.call";
    /// [`super::AlgorithmUsed`].
    pub const ALGORITHM: &str = "sim.algorithm";
    /// [`super::Ending`].
    pub const ENDING: &str = "sim.ending";
    /// [`super::Draw`].
    pub const DRAW: &str = "sim.draw";
    /// [`super::Point`].
    pub const POINT: &str = "sim.point";
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineUsed {
    /// The machine as text of a machine file.
    pub toml: String,
}

/// The run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Ranks.
    pub n_ranks: u32,
    /// Time that the program takes: the latest clock of a rank.
    pub span_ns: u64,
    /// Messages sent.
    pub n_messages: u64,
    /// Their bytes.
    pub n_bytes: u64,
    /// Rounds of the protocol.
    pub n_rounds: u64,
    /// Rounds after which nobody could go on.
    pub n_idle_rounds: u64,
    /// Number of times that bounds grew so slowly that the first rank of all went on without one.
    pub n_slow_advances: u64,
    /// Bounds that were asked for.
    pub n_null_messages: u64,
    /// Number of times that a rank went on until it had to wait.
    pub n_stretches: u64,
    /// Total advance of clocks in these stretches.
    pub stretched_ns: u64,
}

/// Breakdown of the time of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTimes {
    /// The rank.
    pub rank: Rank,
    /// Its site.
    pub site: u32,
    /// Its node.
    pub node: u32,
    /// Its clock at the end.
    pub span_ns: u64,
    /// Time in the program.
    pub computing_ns: u64,
    /// Time in overheads of sends.
    pub sending_ns: u64,
    /// Time in overheads of receives and in polls.
    pub receiving_ns: u64,
    /// Time spent waiting until others did what the rank needed.
    pub waiting_ns: u64,
    /// Time spent waiting, by the rank that was waited for.
    pub waiting_for: Vec<(Rank, u64)>,
    /// Messages sent.
    pub n_sent: u64,
    /// Their bytes.
    pub n_bytes_sent: u64,
    /// Messages received.
    pub n_received: u64,
    /// Their bytes.
    pub n_bytes_received: u64,
    /// Polls.
    pub n_polls: u64,
    /// Messages that it was sent and did not receive.
    pub n_unreceived: u64,
    /// Operations that it began and did not complete.
    pub n_unfinished: u64,
    /// Processes that it forked, which are not simulated.
    #[serde(default)]
    pub n_forks: u64,
}

/// All calls of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallUse {
    /// The name.
    pub call: String,
    /// Number of calls, on all ranks.
    pub n_calls: u64,
    /// Time in them.
    pub span_ns: u64,
    /// Bytes of their messages.
    pub n_bytes: u64,
}

/// An algorithm of a collective operation that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlgorithmUsed {
    /// The program's call.
    pub call: String,
    /// Its name, behind that of its operation where the call is for something else: `ring`, `allgather bruck`.
    pub algorithm: String,
}

/// An end before the program's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The rank that found the reason.
    pub rank: Rank,
    /// The clock of that rank.
    pub at_ns: u64,
    /// The reason that the rank found.
    pub reason: String,
    /// The ranks that waited.
    pub waiting: Vec<Waiting>,
}

/// A rank that waited at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The rank.
    pub rank: Rank,
    /// The call that it is in, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Time since which the rank waited, by its clock.
    pub since_ns: u64,
    /// The awaited event: `a message of rank 3 with tag 7`.
    pub awaits: String,
}

/// One of many runs with values drawn from forecasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// Number of the draw, from 0.
    pub draw: u32,
    /// Time that the program takes with these values.
    pub span_ns: u64,
}

/// One point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Name of what was played.
    pub trace: String,
    /// Ranks.
    pub n_ranks: u32,
    /// Factor by which all latencies are multiplied.
    pub latency: f64,
    /// Factor by which all bandwidths are multiplied.
    pub bandwidth: f64,
    /// Mapping of ranks to cores.
    pub mapping: String,
    /// Library whose rules choose the algorithms of collective calls.
    #[serde(default)]
    pub collectives: Rules,
    /// Time that the program takes.
    pub span_ns: u64,
    /// Share of all ranks' time in which they wait.
    pub waiting_ratio: f64,
}

impl Run {
    /// Builds the record from those of all ranks and the counters of the protocol.
    #[must_use]
    pub fn of(ranks: &[RankTimes], counts: Counts) -> Self {
        Self {
            n_ranks: ranks.len() as u32,
            span_ns: ranks.iter().map(|rank| rank.span_ns).max().unwrap_or(0),
            n_messages: ranks.iter().map(|rank| rank.n_sent).sum(),
            n_bytes: ranks.iter().map(|rank| rank.n_bytes_sent).sum(),
            n_rounds: counts.n_rounds,
            n_idle_rounds: counts.n_idle_rounds,
            n_slow_advances: counts.n_slow_advances,
            n_null_messages: counts.n_null_messages,
            n_stretches: counts.n_stretches,
            stretched_ns: counts.stretched.as_nanos(),
        }
    }
}

impl RankTimes {
    /// Builds the record of one rank of a world.
    #[must_use]
    pub fn of(world: &World, rank: Rank) -> Self {
        let times = Self::new(rank, world.machine().place(rank), world.clock(rank), world.rank_counts(rank));
        let (n_unreceived, n_unfinished) = (world.unreceived(rank).count() as u64, world.n_unfinished(rank) as u64);
        Self { n_unreceived, n_unfinished, ..times }
    }

    /// Builds the record of a rank from its counters, without messages or operations that are left.
    #[must_use]
    pub fn new(rank: Rank, place: Place, clock: SimTime, counts: &RankCounts) -> Self {
        let waiting_for = counts.waiting_for.iter().map(|(other, span)| (*other, span.as_nanos()));
        let waiting_for: Vec<_> = waiting_for.collect();
        Self {
            rank,
            site: place.site_idx,
            node: place.node_idx,
            span_ns: clock.as_nanos(),
            computing_ns: counts.computing.as_nanos(),
            sending_ns: counts.sending.as_nanos(),
            receiving_ns: counts.receiving.as_nanos(),
            waiting_ns: waiting_for.iter().map(|(_, span_ns)| span_ns).sum(),
            waiting_for,
            n_sent: counts.n_sent,
            n_bytes_sent: counts.n_bytes_sent,
            n_received: counts.n_received,
            n_bytes_received: counts.n_bytes_received,
            n_polls: counts.n_polls,
            n_unreceived: 0,
            n_unfinished: 0,
            n_forks: 0,
        }
    }
}

impl AlgorithmUsed {
    /// Builds the record of an algorithm for this operation, in a call of the program.
    #[must_use]
    pub fn of(call: &str, operation: &str, name: &str) -> Self {
        let is_own = call.strip_prefix("MPI_").is_some_and(|called| called.eq_ignore_ascii_case(operation));
        let algorithm = if is_own { name.to_owned() } else { format!("{operation} {name}") };
        Self { call: call.to_owned(), algorithm }
    }
}

impl CallUse {
    /// Builds the record of a call before the first one is counted.
    #[must_use]
    pub fn none(call: &str) -> Self {
        Self { call: call.to_owned(), n_calls: 0, span_ns: 0, n_bytes: 0 }
    }
}

impl Ending {
    /// Builds the record of the reason why the simulation ended, and of the ranks that waited then.
    #[must_use]
    pub fn of(stopped: &Stopped, waits: &[Wait]) -> Self {
        Self {
            rank: stopped.rank,
            at_ns: stopped.at.as_nanos(),
            reason: stopped.reason.to_string(),
            waiting: waits.iter().map(Waiting::of).collect(),
        }
    }
}

impl Waiting {
    /// Builds the record of what a rank waits for.
    #[must_use]
    pub fn of(wait: &Wait) -> Self {
        Self { rank: wait.rank, call: None, since_ns: wait.at.as_nanos(), awaits: wait.awaits.clone() }
    }
}
