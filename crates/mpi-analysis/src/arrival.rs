//! Arrivals by calls alone, without a tree: order of ranks at collective operations, by clocks that are joined over
//! hosts.

use std::collections::BTreeMap;

use mpi_trace::{Matching, Operation, Timeline};
use serde::Serialize;
use text::Table;
use text::figure::{percent, span_ns};
use units::Rank;

/// One rank in the collective operations of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Arrivals {
    /// Number of operations.
    pub n_calls: u64,
    /// Number of operations to which the rank came first, second and so on.
    pub arrived: Vec<u64>,
    /// Total time that the rank waited for the last.
    pub waited_ns: u64,
    /// Total time that the others waited for the rank where it was the last.
    pub kept_waiting_ns: u64,
}

/// Arrivals by operation and rank. Two that are closer than the error of the clocks ([`Timeline::error_ns`]) may be in
/// another order.
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

/// Returns arrivals as text, with the error between clocks of different hosts, if there are several.
#[must_use]
pub fn arrivals_table(arrivals: &BTreeMap<Operation, BTreeMap<Rank, Arrivals>>, error_ns: u64) -> String {
    if arrivals.is_empty() {
        return String::new();
    }
    let mut table = Table::of_figures(&["operation", "rank", "calls", "came last", "waited", "kept others waiting"]);
    for (operation, by_rank) in arrivals {
        for (rank, own) in by_rank {
            let n_last = own.arrived.last().copied().unwrap_or(0);
            table.row([
                operation.name().to_owned(),
                rank.to_string(),
                own.n_calls.to_string(),
                percent(n_last as f64 / own.n_calls.max(1) as f64),
                span_ns(own.waited_ns as f64),
                span_ns(own.kept_waiting_ns as f64),
            ]);
        }
    }
    if error_ns == 0 {
        return table.to_string();
    }
    format!("{table}Clocks of different hosts agree to within {}.\n", span_ns(error_ns as f64))
}
