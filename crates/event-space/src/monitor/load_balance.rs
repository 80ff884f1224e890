//! Last arrivals at each node: in one scope, or counted on each host (section 4.3 of the paper).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mpi_trace::{Flow, Subject};
use mpi_tree::{Host, Place, Tree};

use crate::{Buffer, Need, Pull, Tally, Tuple};

/// Calls at a node that wait for tuples of late readers; older ones are given up.
const N_OPEN_MAX: usize = 8_192;

/// The number of times that its contributor was the last to arrive, by collector.
pub type Weights = BTreeMap<u16, u64>;

/// Filter that keeps, of the tuples of one call at one node, the one that arrived last: a reduction for
/// [`PullExt::through`](crate::PullExt::through), on the host of the node, so that one tuple of a call leaves it for
/// each of its nodes.
#[derive(Clone, Debug)]
pub struct LastOfHost {
    /// The node of each collector right before a node, and the number of contributors to that node.
    nodes: BTreeMap<u16, (usize, usize)>,
    /// The number of tuples that have come, and the last of them, by call and node.
    open: BTreeMap<(u32, usize), (usize, Tuple)>,
    /// Calls that were given up.
    pub n_dropped: u64,
}

impl LastOfHost {
    /// Makes the reduction for all nodes of a tree; nodes of other hosts see no tuples.
    #[must_use]
    pub fn new(tree: &Tree, hosts: &[Host]) -> Self {
        let numbered = (0..).zip(tree.collectors(hosts));
        let arrive = numbered.filter(|(_, collector)| matches!(collector.place, Place::Arrive(_)));
        let nodes = arrive.map(|(number, at)| (number, (at.node, tree.nodes[at.node].contributors.len()))).collect();
        Self { nodes, open: BTreeMap::new(), n_dropped: 0 }
    }

    /// Takes a tuple of any collector. What does not arrive at a node, or is of a call that joins nothing, is passed
    /// over.
    pub fn take(&mut self, tuple: Tuple, into: &mut Vec<Tuple>) {
        let Subject::Stage { collector, sequence } = tuple.event.subject else { return };
        let Some(&(node, n_contributors)) = self.nodes.get(&collector) else { return };
        if !tuple.event.operation.flow().is_some_and(Flow::is_joined) {
            return;
        }
        let (n_come, last) = self.open.entry((sequence, node)).or_insert((0, tuple));
        *n_come += 1;
        // Of those that arrive in the same tick, the later in the tree is last, whoever is read first.
        let order = |tuple: &Tuple| match tuple.event.subject {
            Subject::Stage { collector, .. } => (tuple.event.start, collector),
            Subject::Call { .. } | Subject::Part { .. } => (tuple.event.start, 0),
        };
        if order(&tuple) > order(last) {
            *last = tuple;
        }
        if *n_come == n_contributors {
            into.extend(self.open.remove(&(sequence, node)).map(|(_, last)| last));
        } else if self.open.len() > N_OPEN_MAX {
            self.open.pop_first();
            self.n_dropped += 1;
        }
    }
}

/// The end of a single scope: pulls reduced tuples, and counts.
pub struct LoadBalance<P> {
    scope: P,
    /// Last arrivals so far.
    pub weights: Weights,
    /// The tally of all that was read so far, on all hosts.
    pub tally: Tally,
    taken: Vec<Tuple>,
}

impl<P: Pull<Tuple>> LoadBalance<P> {
    /// Nothing counted yet.
    pub fn new(scope: P) -> Self {
        Self { scope, weights: Weights::new(), tally: Tally::default(), taken: Vec::new() }
    }

    /// Pulls once. Gives how many tuples were gathered.
    pub fn step(&mut self) -> usize {
        self.tally += self.scope.pull(&mut self.taken);
        let n = self.taken.len();
        for tuple in self.taken.drain(..) {
            if let Subject::Stage { collector, .. } = tuple.event.subject {
                *self.weights.entry(collector).or_default() += 1;
            }
        }
        n
    }
}

/// The counts of a host so far. The newest counts include all older ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The host, by its position in the tree file.
    pub host: u16,
    /// The number of the result among the host's results, from 1.
    pub number: u64,
    /// Last arrivals by contributor, in the order of the collectors that the monitor needs on the host.
    pub counts: Vec<u32>,
}

/// The part of the distributed monitor on one host: counts what the scope of the host gives of these collectors, and
/// writes all counts after each read that brought something. A step for a [`Worker`](crate::Worker).
pub fn load_balance_host<P: Pull<Tuple>>(
    host: u16,
    collectors: BTreeSet<u16>,
    scope: P,
    into: Arc<Buffer<Counts>>,
) -> impl FnMut() -> Tally {
    let mut counting = LoadBalance::new(scope);
    move || {
        if counting.step() > 0 {
            let count =
                |collector| counting.weights.get(collector).map_or(0, |n| u32::try_from(*n).unwrap_or(u32::MAX));
            let counts = collectors.iter().map(count).collect();
            into.write(Counts { host, number: into.n_written() + 1, counts });
        }
        std::mem::take(&mut counting.tally)
    }
}

/// The weights of all hosts, of results in the order in which they were written. Counts of no collector that is needed
/// are left out.
#[must_use]
pub fn merge_counts(need: &Need, results: impl IntoIterator<Item = Counts>) -> Weights {
    let newest: BTreeMap<u16, Counts> = results.into_iter().map(|counts| (counts.host, counts)).collect();
    let of_host = |counts: Counts| {
        let collectors = need.collectors.get(&usize::from(counts.host)).into_iter().flatten().copied();
        collectors.zip(counts.counts).map(|(collector, n)| (collector, u64::from(n))).filter(|(_, n)| *n > 0)
    };
    newest.into_values().flat_map(of_host).collect()
}
