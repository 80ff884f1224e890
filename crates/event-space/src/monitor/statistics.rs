//! Figures of all stages around the nodes of one host, computed there (*statsm* in the paper).

use std::collections::BTreeMap;

use mpi_analysis::{Figures, HostClock, NodeCall, Running, two_way};
use mpi_trace::{Flow, Subject};
use mpi_tree::{Host, Place, Tree};

use crate::Tuple;
use crate::need::host_of;

/// Calls that wait for tuples of late readers; older ones are given up.
const N_OPEN_MAX: usize = 8_192;

/// At which end the time of a hop is computed. The tuple of the other end is read from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Where the contributor is.
    Source,
    /// Where the node is.
    Destination,
}

/// One host's analysis. It takes tuples of collectors of this host and, for hops, of others.
#[derive(Debug)]
pub struct StageStatistics {
    clocks: Vec<HostClock>,
    /// By collector, where its stamps belong.
    places: BTreeMap<u16, Vec<Slot>>,
    nodes: BTreeMap<usize, NodeState>,
    hops: BTreeMap<(usize, usize), Running>,
    open: BTreeMap<(u32, Join), Open>,
    /// Calls that were given up.
    pub n_dropped: u64,
}

/// What stamps are joined for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Join {
    Node(usize),
    Hop(usize, usize),
}

/// A collector's place in a join. Of a node, 0 is below it and 1 the first contributor; of a hop, 0 is where the message leaves.
#[derive(Clone, Copy, Debug)]
struct Slot {
    join: Join,
    position: usize,
    of: usize,
}

#[derive(Debug)]
struct Open {
    stamps: Vec<Option<(u64, u64)>>,
    hosts: [u16; 2],
}

#[derive(Debug)]
struct NodeState {
    host: usize,
    down: Running,
    up: Running,
    wait_by_arrival: Vec<Running>,
    wait_by_departure: Vec<Running>,
    /// Arrival and departure waits of each contributor: the sums of nanoseconds.
    threads: Vec<[u64; 2]>,
    n_calls: u64,
}

/// The first feed: latencies of a node, and waits by order.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    /// Position of the node.
    pub node: usize,
    /// From the last arrival until the combined value leaves.
    pub down: Figures,
    /// From the result's return until the first has it.
    pub up: Figures,
    /// Of the first to arrive, the second and so on.
    pub wait_by_arrival: Vec<Figures>,
    /// Of the first to leave, the second and so on.
    pub wait_by_departure: Vec<Figures>,
    /// Two-way times of hops to the node, or from the host to it, by contributor.
    pub hops: BTreeMap<usize, Figures>,
}

impl StageStatistics {
    /// For the nodes of one host, and the hops that end there or begin there. `clocks` are those of all hosts.
    #[must_use]
    pub fn new(tree: &Tree, hosts: &[Host], host: usize, hop: Hop, clocks: Vec<HostClock>) -> Self {
        let collectors = tree.collectors(hosts);
        let number = |wanted| (0..).zip(&collectors).find(|(_, other)| **other == wanted).map(|(number, _)| number);
        let (mut places, mut nodes, mut hops) = (BTreeMap::<u16, Vec<Slot>>::new(), BTreeMap::new(), BTreeMap::new());
        let mut place = |collector, slot| {
            places.entry(number(collector).expect("a collector of this tree")).or_default().push(slot);
        };
        for (node, shape) in tree.nodes.iter().enumerate() {
            let n = shape.contributors.len();
            if shape.host == host {
                place(tree.below(node, hosts), Slot { join: Join::Node(node), position: 0, of: n + 1 });
                nodes.insert(node, NodeState::new(host, n));
            }
            for i in 0..n {
                let [leave, arrive] =
                    [Place::Leave(i), Place::Arrive(i)].map(|place| mpi_tree::Collector { node, place });
                if shape.host == host {
                    place(arrive, Slot { join: Join::Node(node), position: i + 1, of: n + 1 });
                }
                let end = if hop == Hop::Source { leave } else { arrive };
                if number(leave).is_some() && host_of(tree, hosts, &end) == host {
                    place(leave, Slot { join: Join::Hop(node, i), position: 0, of: 2 });
                    place(arrive, Slot { join: Join::Hop(node, i), position: 1, of: 2 });
                    hops.insert((node, i), Running::default());
                }
            }
        }
        Self { clocks, places, nodes, hops, open: BTreeMap::new(), n_dropped: 0 }
    }

    /// Collectors whose tuples it needs; those of other hosts are needed for hops.
    pub fn collectors(&self) -> impl Iterator<Item = u16> {
        self.places.keys().copied()
    }

    /// Takes a tuple of any collector, of calls that all wait for.
    pub fn take(&mut self, tuple: &Tuple) {
        let Subject::Stage { collector, sequence } = tuple.event.subject else { return };
        if tuple.event.operation.flow() != Some(Flow::All) {
            return;
        }
        for slot in self.places.get(&collector).cloned().unwrap_or_default() {
            let fresh = || Open { stamps: vec![None; slot.of], hosts: [0; 2] };
            let open = self.open.entry((sequence, slot.join)).or_insert_with(fresh);
            open.stamps[slot.position] = Some((tuple.event.start, tuple.event.end));
            if matches!(slot.join, Join::Hop(..)) {
                open.hosts[slot.position] = tuple.host;
            }
            let stamps: Option<Vec<(u64, u64)>> = open.stamps.iter().copied().collect();
            if let Some(stamps) = stamps {
                let hosts = open.hosts;
                self.open.remove(&(sequence, slot.join));
                self.complete(slot.join, &stamps, hosts);
            } else if self.open.len() > N_OPEN_MAX {
                self.open.pop_first();
                self.n_dropped += 1;
            }
        }
    }

    fn complete(&mut self, join: Join, stamps: &[(u64, u64)], hosts: [u16; 2]) {
        match join {
            Join::Hop(node, i) => {
                let [leave, arrive] = [0, 1].map(|end| {
                    let ticks = stamps[end].1.saturating_sub(stamps[end].0);
                    self.clocks[usize::from(hosts[end])].span_ns(ticks)
                });
                self.hops.get_mut(&(node, i)).expect("a hop of this host").record(two_way(leave, arrive));
            }
            Join::Node(node) => {
                if let Some(call) = NodeCall::new(stamps[0], stamps[1..].to_vec()) {
                    let state = self.nodes.get_mut(&node).expect("a node of this host");
                    state.record(&call, &self.clocks[state.host]);
                }
            }
        }
    }

    /// The first feed, of all nodes that have something.
    #[must_use]
    pub fn latencies(&self) -> Vec<Latencies> {
        let all = |runnings: &[Running]| runnings.iter().map(Running::figures).collect();
        let mut nodes: Vec<usize> = self.nodes.keys().copied().chain(self.hops.keys().map(|hop| hop.0)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let of_node = |node| {
            let state = self.nodes.get(&node);
            let hops = self.hops.range((node, 0)..(node + 1, 0));
            Latencies {
                node,
                down: state.map(|state| state.down.figures()).unwrap_or_default(),
                up: state.map(|state| state.up.figures()).unwrap_or_default(),
                wait_by_arrival: state.map(|state| all(&state.wait_by_arrival)).unwrap_or_default(),
                wait_by_departure: state.map(|state| all(&state.wait_by_departure)).unwrap_or_default(),
                hops: hops.map(|((_, i), running)| (*i, running.figures())).collect(),
            }
        };
        nodes.into_iter().map(of_node).collect()
    }

    /// The second feed: mean arrival and departure waits of each contributor in nanoseconds, by node and position.
    #[must_use]
    pub fn contributors(&self) -> BTreeMap<(usize, usize), [f64; 2]> {
        let of_node = |(&node, state): (&usize, &NodeState)| {
            let n_calls = state.n_calls as f64;
            let means = state.threads.iter().map(move |sums| sums.map(|sum| sum as f64 / n_calls));
            means.enumerate().map(move |(i, means)| ((node, i), means)).collect::<Vec<_>>()
        };
        self.nodes.iter().filter(|(_, state)| state.n_calls > 0).flat_map(of_node).collect()
    }
}

impl NodeState {
    fn new(host: usize, n: usize) -> Self {
        Self {
            host,
            down: Running::default(),
            up: Running::default(),
            wait_by_arrival: vec![Running::default(); n],
            wait_by_departure: vec![Running::default(); n],
            threads: vec![[0; 2]; n],
            n_calls: 0,
        }
    }

    fn record(&mut self, call: &NodeCall, clock: &HostClock) {
        self.n_calls += 1;
        self.down.record(clock.span_ns(call.down_last()));
        self.up.record(clock.span_ns(call.up_first()));
        for (running, &i) in self.wait_by_arrival.iter_mut().zip(&call.arrivals()) {
            running.record(clock.span_ns(call.arrival_wait(i)));
        }
        for (running, &i) in self.wait_by_departure.iter_mut().zip(&call.departures()) {
            running.record(clock.span_ns(call.departure_wait(i)));
        }
        for (i, sums) in self.threads.iter_mut().enumerate() {
            sums[0] += clock.span_ns(call.arrival_wait(i));
            sums[1] += clock.span_ns(call.departure_wait(i));
        }
    }
}
