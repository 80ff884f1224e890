//! From stage records to figures, as they come: the same for files and for live rings.

use std::collections::BTreeMap;

use mpi_trace::{Event, Operation};
use mpi_tree::{Host, Tree};
use units::Rank;

use crate::analysis::{ContributorFigures, HopFigures, NodeFigures, PathFigures, Split, SubtreeFigures};
use crate::figures::Running;
use crate::join::{Join, Stamps};
use crate::layout::{Layout, Step};
use crate::node_call::two_way;
use crate::{Analysis, HostClock, NodeCall, Part};

/// Stamps of calls that are not complete yet: 64 MiB, whatever the tree. Readers of files take turns among ranks, so that this is enough.
const N_STAMPS_OPEN_MAX: usize = 1 << 22;

/// Takes events of one tree, and knows the figures of all calls so far. Its memory is bounded by the size of the tree.
#[derive(Clone, Debug)]
pub struct Analyzer {
    layout: Layout,
    clocks: Vec<HostClock>,
    join: Join,
    operations: BTreeMap<Operation, u64>,
    n_calls: u64,
    n_disordered: u64,
    nodes: Vec<NodeState>,
    paths: BTreeMap<Rank, PathState>,
    subtrees: Vec<[Running; 3]>,
    slowest: Running,
    split: [Running; 3],
}

#[derive(Clone, Debug)]
struct NodeState {
    down_last: Running,
    up_first: Running,
    store: Running,
    n_last: u64,
    contributors: Vec<ContributorState>,
    wait_by_arrival: Vec<Running>,
    up_by_departure: Vec<Running>,
}

#[derive(Clone, Debug)]
struct ContributorState {
    arrival_wait: Running,
    departure_wait: Running,
    down: Running,
    up: Running,
    total: Running,
    hop: Running,
    arrived: Vec<u64>,
    departed: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct PathState {
    total: Running,
    cost: Running,
    n_slowest: u64,
}

/// The mean of one stage in the interval that ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalMean {
    /// What.
    pub part: Part,
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor, of a part that each contributor has.
    pub contributor: Option<usize>,
    /// NaN where there was no call.
    pub mean_ns: f64,
}

impl Analyzer {
    /// Nothing known yet. `clocks` are those of the hosts, in their order; a host without one stamps in nanoseconds that are joined with
    /// no other host's.
    #[must_use]
    pub fn new(tree: Tree, hosts: Vec<Host>, mut clocks: Vec<HostClock>) -> Self {
        let layout = Layout::of(tree, hosts);
        clocks.resize(layout.hosts.len(), HostClock::alone());
        let many = |n: usize| vec![Running::default(); n];
        let contributor = |n: usize| ContributorState {
            arrival_wait: Running::default(),
            departure_wait: Running::default(),
            down: Running::default(),
            up: Running::default(),
            total: Running::default(),
            hop: Running::default(),
            arrived: vec![0; n],
            departed: vec![0; n],
        };
        let node = |n: usize| NodeState {
            down_last: Running::default(),
            up_first: Running::default(),
            store: Running::default(),
            n_last: 0,
            contributors: vec![contributor(n); n],
            wait_by_arrival: many(n),
            up_by_departure: many(n),
        };
        Self {
            join: Join::new(layout.n_collectors, N_STAMPS_OPEN_MAX / layout.n_collectors.max(1)),
            operations: BTreeMap::new(),
            n_calls: 0,
            n_disordered: 0,
            nodes: layout.tree.nodes.iter().map(|shape| node(shape.contributors.len())).collect(),
            paths: layout.paths.keys().map(|&rank| (rank, PathState::default())).collect(),
            subtrees: vec![Default::default(); layout.subtrees.len()],
            slowest: Running::default(),
            split: Default::default(),
            layout,
            clocks,
        }
    }

    /// Takes events, of any ranks and in any order. What is no stage is passed over.
    pub fn take(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            if let Some(stamps) = self.join.take(&event) {
                *self.operations.entry(stamps.operation).or_default() += 1;
                if matches!(stamps.operation, Operation::ALLREDUCE | Operation::BARRIER) {
                    self.take_call(&stamps);
                }
            }
        }
    }

    fn take_call(&mut self, stamps: &Stamps) {
        let node_call = |around: &crate::layout::Around| {
            NodeCall::new(stamps.at[around.below], around.arrive.iter().map(|&at| stamps.at[at]).collect())
        };
        let calls: Option<Vec<NodeCall>> = self.layout.nodes.iter().map(node_call).collect();
        let Some(calls) = calls else {
            self.n_disordered += 1;
            return;
        };
        self.n_calls += 1;
        for (node, call) in calls.iter().enumerate() {
            self.take_node(node, call, stamps);
        }
        self.take_paths(&calls, stamps);
        self.take_subtrees(stamps);
        self.take_roots(&calls);
        self.take_split(stamps);
    }

    fn take_node(&mut self, node: usize, call: &NodeCall, stamps: &Stamps) {
        let clock = &self.clocks[self.layout.tree.nodes[node].host];
        let hops: Vec<Option<u64>> =
            (0..call.n_contributors()).map(|contributor| self.hop_ns(Step { node, contributor }, stamps)).collect();
        let state = &mut self.nodes[node];
        let record = |running: &mut Running, ticks| running.record(clock.span_ns(ticks));
        record(&mut state.down_last, call.down_last());
        record(&mut state.up_first, call.up_first());
        if self.layout.tree.nodes[node].parent.is_none() {
            record(&mut state.store, call.below());
        }
        for (i, (own, hop)) in state.contributors.iter_mut().zip(hops).enumerate() {
            record(&mut own.arrival_wait, call.arrival_wait(i));
            record(&mut own.departure_wait, call.departure_wait(i));
            record(&mut own.down, call.down(i));
            record(&mut own.up, call.up(i));
            record(&mut own.total, call.total(i));
            if let Some(hop) = hop {
                own.hop.record(hop);
            }
        }
        for (position, &i) in call.arrivals().iter().enumerate() {
            state.contributors[i].arrived[position] += 1;
            record(&mut state.wait_by_arrival[position], call.arrival_wait(i));
        }
        for (position, &i) in call.departures().iter().enumerate() {
            state.contributors[i].departed[position] += 1;
            record(&mut state.up_by_departure[position], call.up(i));
        }
    }

    fn hop_ns(&self, step: Step, stamps: &Stamps) -> Option<u64> {
        let around = &self.layout.nodes[step.node];
        let span = |at: usize, host: usize| {
            let (start, end) = stamps.at[at];
            self.clocks[host].span_ns(end.saturating_sub(start))
        };
        let leave = span(around.leave[step.contributor]?, self.layout.host_of(step));
        Some(two_way(leave, span(around.arrive[step.contributor], self.layout.tree.nodes[step.node].host)))
    }

    fn take_paths(&mut self, calls: &[NodeCall], stamps: &Stamps) {
        let mut slowest: Option<(u64, Rank)> = None;
        for (&rank, steps) in &self.layout.paths {
            let mut cost = 0;
            for &step in steps {
                let (call, shape) = (&calls[step.node], &self.layout.tree.nodes[step.node]);
                let store = if shape.parent.is_none() { call.below() } else { 0 };
                let own = call.down_last() + store + call.up(step.contributor);
                cost += self.clocks[shape.host].span_ns(own) + self.hop_ns(step, stamps).unwrap_or(0);
            }
            let (start, end) = stamps.at[self.layout.entry(steps[0])];
            let state = self.paths.get_mut(&rank).expect("a path for each rank");
            state.total.record(self.clocks[self.layout.host_of(steps[0])].span_ns(end.saturating_sub(start)));
            state.cost.record(cost);
            if slowest.is_none_or(|(most, _)| cost > most) {
                slowest = Some((cost, rank));
            }
        }
        if let Some((cost, rank)) = slowest {
            self.slowest.record(cost);
            self.paths.get_mut(&rank).expect("a path for each rank").n_slowest += 1;
        }
    }

    fn take_subtrees(&mut self, stamps: &Stamps) {
        for (subtree, state) in self.layout.subtrees.iter().zip(&mut self.subtrees) {
            let clock = &self.clocks[self.layout.tree.nodes[subtree.node].host];
            let below = stamps.at[self.layout.nodes[subtree.node].below];
            let Some(call) = NodeCall::new(below, subtree.arrive.iter().map(|&at| stamps.at[at]).collect()) else {
                continue;
            };
            let longest = (0..call.n_contributors()).map(|i| call.departure_wait(i)).max().unwrap_or(0);
            for (running, ticks) in state.iter_mut().zip([call.down_last(), call.up_first(), longest]) {
                running.record(clock.span_ns(ticks));
            }
        }
    }

    /// Of several roots, the one that exchanged its result for the shortest time had it last.
    fn take_roots(&mut self, calls: &[NodeCall]) {
        let exchange_ns = |&root: &usize| self.clocks[self.layout.tree.nodes[root].host].span_ns(calls[root].below());
        if let Some(root) = self.layout.tree.roots().min_by_key(exchange_ns) {
            self.nodes[root].n_last += 1;
        }
    }

    fn take_split(&mut self, stamps: &Stamps) {
        let moments = |at: usize, host: usize| {
            let (start, end) = stamps.at[at];
            Some((self.clocks[host].moment_ns(start)?, self.clocks[host].moment_ns(end)?))
        };
        let entries =
            self.layout.paths.values().map(|steps| moments(self.layout.entry(steps[0]), self.layout.host_of(steps[0])));
        let Some(entries) = entries.collect::<Option<Vec<_>>>() else { return };
        let roots = self
            .layout
            .tree
            .roots()
            .map(|root| moments(self.layout.nodes[root].below, self.layout.tree.nodes[root].host));
        let Some(roots) = roots.collect::<Option<Vec<_>>>() else { return };
        let first = entries.iter().map(|entry| entry.0).min().unwrap_or(0);
        let last = entries.iter().map(|entry| entry.0).max().unwrap_or(0);
        let end = entries.iter().map(|entry| entry.1).max().unwrap_or(0);
        let combined = roots.iter().map(|root| root.0).max().unwrap_or(0);
        let stored = roots.iter().map(|root| root.1).max().unwrap_or(0);
        // Clocks of different hosts are joined with an error, which must not make a part negative.
        for (running, (from, to)) in self.split.iter_mut().zip([(first, last), (last, combined), (stored, end)]) {
            running.record(to.saturating_sub(from));
        }
    }

    /// The means of all stages since this was last called.
    pub fn end_interval(&mut self) -> Vec<IntervalMean> {
        let mut means = Vec::new();
        for (node, state) in self.nodes.iter_mut().enumerate() {
            let mut push = |part, contributor, running: &mut Running| {
                means.push(IntervalMean { part, node, contributor, mean_ns: running.end_interval() });
            };
            push(Part::Down, None, &mut state.down_last);
            push(Part::Up, None, &mut state.up_first);
            if self.layout.tree.nodes[node].parent.is_none() {
                push(Part::Store, None, &mut state.store);
            }
            for (i, own) in state.contributors.iter_mut().enumerate() {
                push(Part::ArrivalWait, Some(i), &mut own.arrival_wait);
                push(Part::DepartureWait, Some(i), &mut own.departure_wait);
                if self.layout.nodes[node].leave[i].is_some() {
                    push(Part::Hop, Some(i), &mut own.hop);
                }
            }
        }
        means
    }

    /// All that is known.
    #[must_use]
    pub fn analysis(&self) -> Analysis {
        let layout = &self.layout;
        let has_split = self.split[0].figures().count > 0;
        let [arrival, reduce, broadcast] = [0, 1, 2].map(|part: usize| self.split[part].figures());
        let path = |(&rank, state): (&Rank, &PathState)| {
            let steps = &layout.paths[&rank];
            PathFigures {
                rank,
                host: layout.hosts[layout.host_of(steps[0])].name.clone(),
                total: state.total.figures(),
                cost: state.cost.figures(),
                n_slowest: state.n_slowest,
                steps: steps.iter().map(|step| (step.node, step.contributor)).collect(),
            }
        };
        let subtree = |(shape, [down, up, wait]): (&crate::layout::Subtree, &[Running; 3])| SubtreeFigures {
            node: shape.node,
            n_nodes: shape.n_nodes,
            down_last: down.figures(),
            up_first: up.figures(),
            departure_wait: wait.figures(),
        };
        Analysis {
            tree: layout.tree.name.clone(),
            operations: self.operations.iter().map(|(operation, n)| (operation.name().to_owned(), *n)).collect(),
            n_calls: self.n_calls,
            n_incomplete: self.join.n_incomplete + self.join.n_open(),
            n_disordered: self.n_disordered,
            n_strangers: self.join.n_strangers,
            slowest: self.slowest.figures(),
            split: has_split.then_some(Split { arrival, reduce, broadcast }),
            nodes: (0..self.nodes.len()).map(|node| self.node_figures(node)).collect(),
            paths: self.paths.iter().map(path).collect(),
            subtrees: layout.subtrees.iter().zip(&self.subtrees).map(subtree).collect(),
        }
    }

    fn node_figures(&self, node: usize) -> NodeFigures {
        let (shape, state) = (&self.layout.tree.nodes[node], &self.nodes[node]);
        let host = &self.layout.hosts[shape.host];
        let all = |runnings: &[Running]| runnings.iter().map(Running::figures).collect();
        NodeFigures {
            name: shape.name.clone(),
            host: host.name.clone(),
            cluster: host.cluster.clone(),
            parent: shape.parent,
            contributors: (0..shape.contributors.len()).map(|at| self.contributor_figures(node, at)).collect(),
            down_last: state.down_last.figures(),
            up_first: state.up_first.figures(),
            store: shape.parent.is_none().then(|| state.store.figures()),
            n_last: state.n_last,
            wait_by_arrival: all(&state.wait_by_arrival),
            up_by_departure: all(&state.up_by_departure),
        }
    }

    fn contributor_figures(&self, node: usize, contributor: usize) -> ContributorFigures {
        let (step, state) = (Step { node, contributor }, &self.nodes[node].contributors[contributor]);
        let (own, there) =
            (&self.layout.hosts[self.layout.host_of(step)], &self.layout.hosts[self.layout.tree.nodes[node].host]);
        let hop = || HopFigures {
            host: own.name.clone(),
            is_wan: own.cluster != there.cluster,
            two_way: state.hop.figures(),
        };
        ContributorFigures {
            from: self.layout.contributor(step).into(),
            name: self.layout.name(self.layout.contributor(step)),
            arrival_wait: state.arrival_wait.figures(),
            departure_wait: state.departure_wait.figures(),
            down: state.down.figures(),
            up: state.up.figures(),
            total: state.total.figures(),
            hop: self.layout.nodes[node].leave[contributor].map(|_| hop()),
            arrived: state.arrived.clone(),
            departed: state.departed.clone(),
        }
    }
}
