//! Time of each rank in collective calls.

use std::collections::BTreeMap;

use mpi_trace::{Family, Line, Operation, Subject};
use serde::{Serialize, Serializer};

use crate::Tuple;

/// Calls, and ticks in them, by rank and operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MpiTime {
    /// Calls and ticks; how long a tick is, the clock of the rank's host tells.
    pub spent: BTreeMap<(u32, Operation), (u64, u64)>,
}

/// The time and the calls of a rank in one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// The rank.
    pub rank: u32,
    /// The operation.
    #[serde(serialize_with = "name")]
    pub operation: Operation,
    /// Calls.
    pub n_calls: u64,
    /// Nanoseconds in them.
    pub ns: u64,
}

fn name<S: Serializer>(operation: &Operation, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(operation.name())
}

impl MpiTime {
    /// All that is known, of ranks of a host with this clock.
    pub fn spent(&self, line: Line) -> impl Iterator<Item = Spent> {
        let spent = move |(&(rank, operation), &(n_calls, ticks)): (&(u32, Operation), &(u64, u64))| Spent {
            rank,
            operation,
            n_calls,
            ns: line.span_ns(ticks),
        };
        self.spent.iter().map(spent)
    }

    /// Takes a tuple of a call; stages are passed over.
    pub fn take(&mut self, tuple: &Tuple) {
        let is_collective = matches!(tuple.event.operation.family(), Family::Collective | Family::Barrier);
        if is_collective && matches!(tuple.event.subject, Subject::Call { .. }) {
            let (n_calls, ticks) = self.spent.entry((tuple.rank, tuple.event.operation)).or_default();
            *n_calls += 1;
            *ticks += tuple.event.end - tuple.event.start;
        }
    }
}
