//! What calls alone tell, without a tree: who comes last to collective operations, by clocks that are joined over hosts.

use std::collections::BTreeMap;

use mpi_trace::{Matching, Operation, Timeline};
use serde::Serialize;
use units::Rank;

/// One rank in the collective operations of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Arrivals {
    /// Operations.
    pub n_calls: u64,
    /// In how many it came first, second and so on.
    pub arrived: Vec<u64>,
    /// How long it waited for the last, all together.
    pub waited_ns: u64,
    /// How long the others waited for it where it was the last, all together.
    pub kept_waiting_ns: u64,
}

/// Arrivals by operation and rank. Two that are closer than the error of the clocks ([`Timeline::error_ns`]) may be in another order.
#[must_use]
pub fn arrivals(timeline: &Timeline<'_>, matching: &Matching) -> BTreeMap<Operation, BTreeMap<Rank, Arrivals>> {
    let mut by_operation: BTreeMap<Operation, BTreeMap<Rank, Arrivals>> = BTreeMap::new();
    for meeting in &matching.meetings {
        let mut calls: Vec<_> = meeting.calls.iter().map(|&at| &timeline.calls()[at]).collect();
        calls.sort_by_key(|call| (call.start_ns, call.rank));
        let Some(last) = calls.last().map(|call| call.start_ns) else { continue };
        let all_waited: u64 = calls.iter().map(|call| last - call.start_ns).sum();
        let n = calls.len();
        let by_rank = by_operation.entry(calls[0].event.operation).or_default();
        for (position, call) in calls.into_iter().enumerate() {
            let own = by_rank.entry(call.rank).or_default();
            own.n_calls += 1;
            if own.arrived.len() < n {
                own.arrived.resize(n, 0);
            }
            own.arrived[position] += 1;
            own.waited_ns += last - call.start_ns;
            own.kept_waiting_ns += if position + 1 == n { all_waited } else { 0 };
        }
    }
    by_operation
}
