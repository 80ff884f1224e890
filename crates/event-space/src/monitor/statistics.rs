//! Figures of all stages around the nodes of one host, computed there (*statsm* in the paper).

use std::collections::BTreeMap;

use mpi_analysis::{HostClock, NodeCall, Running, two_way};
use mpi_trace::{Flow, Subject};
use mpi_tree::{Host, Place, Tree};
use serde::{Deserialize, Serialize};

use crate::Tuple;
use crate::need::host_of;

/// Calls that wait for tuples of late readers; older ones are given up.
const N_OPEN_MAX: usize = 8_192;

/// The end at which the time of a hop is computed. The tuple of the other end is read from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hop {
    /// The end of the contributor.
    #[default]
    Source,
    /// The end of the node.
    Destination,
}

/// Figures of one quantity, as they travel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageFigures {
    /// What.
    pub of: Quantity,
    /// Position of the node.
    pub node: u16,
    /// Position of the contributor, or in the order of arrival or departure; 0 where there is but one.
    pub position: u16,
    /// Calls.
    pub n_calls: u32,
    /// Mean.
    pub mean_ns: f32,
    /// Least.
    pub min_ns: f32,
    /// Greatest.
    pub max_ns: f32,
    /// Standard deviation.
    pub deviation_ns: f32,
    /// Median of the last 100 calls.
    pub median_last_ns: f32,
}

/// A quantity that the statistics monitor reports. All but the last two are its first feed, those two the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The time from the last arrival until the combined value leaves.
    Down,
    /// The time from the result's return until the first has it.
    Up,
    /// The two-way time of a contributor's hop.
    Hop,
    /// The wait of the first to arrive, the second and so on.
    WaitByArrival,
    /// The wait of the first to leave, the second and so on.
    WaitByDeparture,
    /// A contributor's arrival wait, of which only the mean is known.
    ArrivalWait,
    /// A contributor's departure wait, of which only the mean is known.
    DepartureWait,
}

impl Quantity {
    /// All, in the order of their codes.
    pub const ALL: [Self; 7] = [
        Self::Down,
        Self::Up,
        Self::Hop,
        Self::WaitByArrival,
        Self::WaitByDeparture,
        Self::ArrivalWait,
        Self::DepartureWait,
    ];
}

/// One host's analysis. It takes tuples of collectors of this host and, for hops, of others.
#[derive(Debug)]
pub struct StageStatistics {
    clocks: Vec<HostClock>,
    /// The slots that the stamps of each collector belong to.
    places: BTreeMap<u16, Vec<Slot>>,
    nodes: BTreeMap<usize, NodeState>,
    hops: BTreeMap<(usize, usize), Running>,
    open: BTreeMap<(u32, Join), Open>,
    /// Calls that were given up.
    pub n_dropped: u64,
}

/// The node or the hop that stamps are joined for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Join {
    Node(usize),
    Hop(usize, usize),
}

/// A collector's place in a join. Of a node, 0 is below it and 1 the first contributor; of a hop, 0 is where the
/// message leaves.
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

impl StageStatistics {
    /// Makes the analysis for the nodes of one host, and for the hops that end there or begin there. `clocks` are those
    /// of all hosts.
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
        let is_known = usize::from(tuple.host) < self.clocks.len();
        if !is_known || tuple.event.operation.flow() != Some(Flow::All) {
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

    /// The first feed: latencies of nodes and hops, and waits by order, as far as there were calls.
    #[must_use]
    pub fn latencies(&self) -> Vec<StageFigures> {
        let mut all = Vec::new();
        let mut put = |of, node: usize, position: usize, running: &Running| {
            let figures = running.figures();
            all.extend((figures.count > 0).then(|| StageFigures {
                of,
                node: node as u16,
                position: position as u16,
                n_calls: u32::try_from(figures.count).unwrap_or(u32::MAX),
                mean_ns: figures.mean_ns as f32,
                min_ns: figures.min_ns as f32,
                max_ns: figures.max_ns as f32,
                deviation_ns: figures.deviation_ns as f32,
                median_last_ns: figures.median_last_ns as f32,
            }));
        };
        for (&node, state) in &self.nodes {
            put(Quantity::Down, node, 0, &state.down);
            put(Quantity::Up, node, 0, &state.up);
            for (of, waits) in [
                (Quantity::WaitByArrival, &state.wait_by_arrival),
                (Quantity::WaitByDeparture, &state.wait_by_departure),
            ] {
                waits.iter().enumerate().for_each(|(position, running)| put(of, node, position, running));
            }
        }
        self.hops.iter().for_each(|(&(node, i), running)| put(Quantity::Hop, node, i, running));
        all
    }

    /// The second feed: mean arrival and departure waits of each contributor.
    #[must_use]
    pub fn contributors(&self) -> Vec<StageFigures> {
        let mut all = Vec::new();
        for (&node, state) in self.nodes.iter().filter(|(_, state)| state.n_calls > 0) {
            for (position, sums) in state.threads.iter().enumerate() {
                for (of, sum) in [Quantity::ArrivalWait, Quantity::DepartureWait].into_iter().zip(sums) {
                    all.push(StageFigures {
                        of,
                        node: node as u16,
                        position: position as u16,
                        n_calls: u32::try_from(state.n_calls).unwrap_or(u32::MAX),
                        mean_ns: (*sum as f64 / state.n_calls as f64) as f32,
                        min_ns: 0.0,
                        max_ns: 0.0,
                        deviation_ns: 0.0,
                        median_last_ns: 0.0,
                    });
                }
            }
        }
        all
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
