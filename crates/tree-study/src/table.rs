//! The rows of the second paper's Tables 1 to 3, and which of our runs belong to each.

use crate::plan::Gate;
use crate::{Kind, Monitor, Subject, Workload};

/// One of the paper's tables.
pub(crate) struct Published {
    pub title: &'static str,
    pub rows: Vec<Row>,
    pub note: &'static str,
}

/// One of its rows.
pub(crate) struct Row {
    /// The row's scope, as in the paper.
    pub scope: &'static str,
    /// The paper's overhead.
    pub overhead: &'static str,
    /// The paper's share of gathered records; empty if the paper gives none.
    pub gathered: &'static str,
    /// The subject and program that are run here; none if the row takes several clusters, or a monitor that is not
    /// there.
    pub here: Option<(Subject, Workload)>,
}

fn row(scope: &'static str, overhead: &'static str, gathered: &'static str, here: Option<(Subject, Workload)>) -> Row {
    Row { scope, overhead, gathered, here }
}

/// All tables. A parallel gather has so many helper threads.
pub(crate) fn tables(n_helpers: u32) -> [Published; 4] {
    let of_trees = |n_trees, kind, n_helpers, gate, workload| {
        Some((Subject::Monitor(Monitor { kind, n_helpers, gate, n_trees }), workload))
    };
    let monitor = |kind, n_helpers, gate, workload| of_trees(1, kind, n_helpers, gate, workload);
    let trees = |n_trees, kind, n_helpers, gate| of_trees(n_trees, kind, n_helpers, gate, Workload::FourTrees);
    let central_of = |n_trees| trees(n_trees, Kind::LoadBalance, n_helpers, Gate::Off);
    let statistics_of = |n_trees| trees(n_trees, Kind::Statistics, 0, Gate::Released);
    let central = |n_helpers| monitor(Kind::LoadBalance, n_helpers, Gate::Off, Workload::ComputeGsum);
    let spread = |n_helpers, workload| monitor(Kind::Distributed, n_helpers, Gate::Off, workload);
    let statistics = |gate, n_helpers| monitor(Kind::Statistics, n_helpers, gate, Workload::Gsum);
    let sums = Workload::Gsum;
    let between = Workload::ComputeGsum;
    [
        Published {
            title: "Table 1: load balance, single event scope",
            rows: vec![
                row("event collectors only", "none-1 %", "", Some((Subject::Collectors, between))),
                row("event collectors only (gsum)", "0-2 %", "", Some((Subject::Collectors, sums))),
                row("32 Tins, sequential", "tuples discarded", "", central(0)),
                row("32 Tins, parallel", "0.4 %", "", central(n_helpers)),
                row("LAN multi-cluster, sequential", "tuples discarded", "", None),
                row("LAN multi-cluster, parallel", "none", "", None),
                row("WAN multi-cluster, sequential", "1 %", "", None),
            ],
            note: "compute-gsum, half of its time in sums, unless the row says gsum.",
        },
        Published {
            title: "Table 2: load balance, distributed analysis",
            rows: vec![
                row("49 Tins, sequential (gsum)", "2 %", "51 %", spread(0, sums)),
                row("49 Tins, parallel (gsum)", "2 %", "99 %", spread(n_helpers, sums)),
                row("49 Tins, sequential", "1 %", "65 %", spread(0, between)),
                row("49 Tins, parallel", "1 %", "99 %", spread(n_helpers, between)),
                row("LAN multi-cluster, sequential", "none", "45 %", None),
                row("LAN multi-cluster, parallel", "3 %", "100 %", None),
                row("WAN multi-cluster, sequential", "1 %", "94 %", None),
                row("WAN multi-cluster, parallel", "3 %", "100 %", None),
            ],
            note: "compute-gsum unless the row says gsum.",
        },
        Published {
            title: "Table 3: figures of all stages (statsm)",
            rows: vec![
                row("one analysis thread a host, all statistics", "9 %", "", statistics(Gate::Off, 0)),
                row("without computing statistics", "9 %", "", None),
                row("without the sums' statistics", "9 %", "", None),
                row("without TCP statistics", "4 %", "", None),
                row("TCP statistics at the destination", "5 %", "", None),
                row("two analysis threads a host", "6 %", "", None),
                row("coscheduled, strategy 1 (sent)", "3 %", "", statistics(Gate::Sent, 0)),
                row("coscheduled, strategy 2 (released)", "1 %", "", statistics(Gate::Released, 0)),
                row("strategy 2 and parallel gathering", "2 %", "", statistics(Gate::Released, n_helpers)),
            ],
            note: "gsum on 32 Tins. The table itself is lost in the copies that we know; its figures are from the paper's prose, which gives no gather rates.",
        },
        Published {
            title: "Several trees at once",
            rows: vec![
                row("load balance, one tree", "0.4 %", "", central_of(1)),
                row("load balance, two trees", "as one", "", central_of(2)),
                row("load balance, four trees", "as one", "", central_of(4)),
                row("statistics, one tree", "1 %", "", statistics_of(1)),
                row("statistics, two trees", "5 %", "", statistics_of(2)),
                row("statistics, four trees", "as two", "", statistics_of(4)),
            ],
            note: "gsum goes round four trees that are all like the first one (sums of 8, 16, 24 and 32 B), so that with one tree every fourth call is watched, with four \
                each. The paper's text gives these figures and no table; there gsum has two trees.",
        },
    ]
}

/// Returns the subjects of pairs: nothing, and each row of the tables that can be run with this workload.
pub(crate) fn subjects(n_helpers: u32, workload: Workload) -> Vec<Subject> {
    let rows = tables(n_helpers).into_iter().flat_map(|table| table.rows).filter_map(|row| row.here);
    let of_workload = rows.filter(|(_, of)| *of == workload).map(|(subject, _)| subject);
    std::iter::once(Subject::Nothing).chain(of_workload).collect()
}
