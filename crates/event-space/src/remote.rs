//! Monitors of other hosts: what is asked of them, what comes back, and who asks and answers.
//! `docs/formats/event-scope.md`, "Between hosts".

mod client;
mod server;
mod wire;

use std::collections::BTreeMap;

use mpi_trace::{Line, Reading};
use serde::{Deserialize, Serialize};

pub use client::{Remote, RemoteError, Share, ask_job};
pub use server::Server;
pub use wire::Wire;

use crate::{Hop, Scope, Strategy};

/// The trees and hosts that a monitor of a job reads on its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The tree file in force.
    pub trees: String,
    /// The hosts of the tree file that have rings there.
    pub hosts: BTreeMap<String, WireClock>,
}

/// Two moments on the clock of a host's stamps and its monotonic one: ticks and nanoseconds of each. None where ticks
/// are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireClock(pub Option<[(u64, u64); 2]>);

/// Something that a monitor is asked to do for one tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The identifier of the tree in records.
    pub tree: u64,
    /// The request.
    pub what: What,
    /// When.
    #[serde(default)]
    pub gate: Strategy,
    /// Whether what the rings hold already is left out, as it was read before.
    #[serde(default)]
    pub is_resumed: bool,
    /// The places of the monitors of other hosts, by the names of the hosts.
    #[serde(default)]
    pub elsewhere: BTreeMap<String, Elsewhere>,
}

/// The place of another host's monitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// The endpoint, as `source:tcp:pyramid:5009`.
    pub endpoint: String,
    /// The clock of the host.
    pub clock: WireClock,
}

/// A request. Hosts are those of the tree file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// Tuples through these stages.
    Scope(Scope),
    /// The number of times that each contributor was last, counted there: [`Counts`](crate::Counts).
    LoadBalance {
        /// The host.
        host: String,
    },
    /// Figures of the stages around the host's nodes, computed there: [`StageFigures`](crate::StageFigures).
    Statistics {
        /// The host.
        host: String,
        /// The hops: those that begin on the host, or those that end there.
        #[serde(default)]
        hop: Hop,
        /// Whether the second feed is wanted too.
        #[serde(default)]
        contributors: bool,
    },
    /// Time in collective calls by rank, summed up there: [`Spent`](crate::Spent).
    Time {
        /// Where.
        host: String,
    },
}

impl WireClock {
    pub(crate) fn new(readings: Option<[Reading; 2]>) -> Self {
        Self(readings.map(|readings| readings.map(|reading| (reading.ticks, reading.monotonic_ns))))
    }

    /// Returns the line from ticks to nanoseconds.
    #[must_use]
    pub fn line(self) -> Line {
        let reading = |(ticks, monotonic_ns)| Reading { ticks, monotonic_ns };
        self.0.map_or_else(Line::identity, |[began, later]| Line::through(reading(began), reading(later)))
    }
}
