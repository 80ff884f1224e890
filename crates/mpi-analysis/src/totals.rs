//! Figures of all calls on a tree whose data go the same way.

use std::collections::BTreeMap;

use mpi_trace::{Flow, Operation};
use units::Rank;

use crate::analysis::{ContributorFigures, HopFigures, NodeFigures, PathFigures, Split, SubtreeFigures};
use crate::figures::Running;
use crate::join::{Join, Stamps};
use crate::layout::{Around, Layout, Step, Subtree};
use crate::node_call::two_way;
use crate::{Analysis, HostClock, IntervalMean, NodeCall, Part};

/// Places and clocks of the stamps.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) layout: Layout,
    /// Clock of each host.
    pub(crate) clocks: Vec<HostClock>,
}

/// Running figures of a tree's calls.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    flow: Flow,
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

impl Ground {
    /// Returns the time between two stamps of a collector on one of the hosts.
    fn span_ns(&self, host: usize, (start, end): (u64, u64)) -> u64 {
        self.clocks[host].span_ns(end.saturating_sub(start))
    }

    /// Stamps as moments of the clock of rank 0's host; none where that and this one were not compared.
    fn moments_ns(&self, host: usize, (start, end): (u64, u64)) -> Option<(u64, u64)> {
        Some((self.clocks[host].moment_ns(start)?, self.clocks[host].moment_ns(end)?))
    }

    fn host_of_node(&self, node: usize) -> usize {
        self.layout.tree.nodes[node].host
    }

    /// Returns the time of the hop of a contributor from another host: there and back if a call goes there and back, by
    /// any clocks; else one way, if the clocks of both ends are joined, give or take their error.
    fn hop_ns(&self, flow: Flow, step: Step, stamps: &Stamps) -> Option<u64> {
        let around = &self.layout.nodes[step.node];
        let (leave, arrive) = (stamps.at[around.leave[step.contributor]?], stamps.at[around.arrive[step.contributor]]);
        let (here, there) = (self.layout.host_of(step), self.host_of_node(step.node));
        let moments = || Some((self.moments_ns(here, leave)?, self.moments_ns(there, arrive)?));
        Some(match flow {
            Flow::All => two_way(self.span_ns(here, leave), self.span_ns(there, arrive)),
            Flow::ToRoot => moments().map(|(leave, arrive)| arrive.0.saturating_sub(leave.0))?,
            Flow::FromRoot => moments().map(|(leave, arrive)| leave.1.saturating_sub(arrive.1))?,
        })
    }

    /// Returns when each rank called and returned, and when each root had combined and had the result.
    fn ends(&self, stamps: &Stamps) -> Option<[Vec<(u64, u64)>; 2]> {
        let layout = &self.layout;
        let entry = |steps: &Vec<Step>| self.moments_ns(layout.host_of(steps[0]), stamps.at[layout.entry(steps[0])]);
        let root = |root| self.moments_ns(self.host_of_node(root), stamps.at[layout.nodes[root].below]);
        Some([
            layout.paths.values().map(entry).collect::<Option<_>>()?,
            layout.tree.roots().map(root).collect::<Option<_>>()?,
        ])
    }
}

impl Totals {
    pub(crate) fn new(flow: Flow, layout: &Layout) -> Self {
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
            flow,
            operations: BTreeMap::new(),
            n_calls: 0,
            n_disordered: 0,
            nodes: layout.tree.nodes.iter().map(|shape| node(shape.contributors.len())).collect(),
            paths: layout.paths.keys().map(|&rank| (rank, PathState::default())).collect(),
            subtrees: vec![Default::default(); layout.subtrees.len()],
            slowest: Running::default(),
            split: Default::default(),
        }
    }

    /// Takes a call, of which all stamps are there.
    pub(crate) fn take(&mut self, ground: &Ground, stamps: &Stamps) {
        *self.operations.entry(stamps.operation).or_default() += 1;
        let node_call = |around: &Around| {
            let contributors = around.arrive.iter().map(|&at| stamps.at[at]).collect();
            NodeCall::of(self.flow, stamps.at[around.below], contributors)
        };
        let calls: Option<Vec<NodeCall>> = ground.layout.nodes.iter().map(node_call).collect();
        let Some(calls) = calls else {
            self.n_disordered += 1;
            return;
        };
        self.n_calls += 1;
        for (node, call) in calls.iter().enumerate() {
            self.take_node(ground, node, call, stamps);
        }
        self.take_paths(ground, &calls, stamps);
        self.take_subtrees(ground, stamps);
        self.take_roots(ground, &calls);
        self.take_split(ground, stamps);
    }

    fn take_node(&mut self, ground: &Ground, node: usize, call: &NodeCall, stamps: &Stamps) {
        let host = ground.host_of_node(node);
        let (is_joined, is_handed_out) = (self.flow.is_joined(), self.flow.is_handed_out());
        let around = &ground.layout.nodes[node];
        let last = around.arrive.iter().chain([&around.below]).map(|&at| stamps.at[at].1).max().unwrap_or(0);
        let at_ns = ground.clocks[host].moment_or_own_ns(last);
        let state = &mut self.nodes[node];
        let record = |running: &mut Running, ticks| running.record_at(ground.clocks[host].span_ns(ticks), at_ns);
        if ground.layout.tree.nodes[node].parent.is_none() {
            state.store.record_at(ground.span_ns(host, stamps.at[around.below]), at_ns);
        }
        for (i, own) in state.contributors.iter_mut().enumerate() {
            record(&mut own.total, call.total(i));
            if let Some(hop_ns) = ground.hop_ns(self.flow, Step { node, contributor: i }, stamps) {
                own.hop.record_at(hop_ns, at_ns);
            }
        }
        if is_joined {
            record(&mut state.down_last, call.down_last());
            for (i, own) in state.contributors.iter_mut().enumerate() {
                record(&mut own.arrival_wait, call.arrival_wait(i));
                record(&mut own.down, call.down(i));
            }
            for (position, &i) in call.arrivals().iter().enumerate() {
                state.contributors[i].arrived[position] += 1;
                record(&mut state.wait_by_arrival[position], call.arrival_wait(i));
            }
        }
        if is_handed_out {
            record(&mut state.up_first, call.up_first());
            for (i, own) in state.contributors.iter_mut().enumerate() {
                record(&mut own.departure_wait, call.departure_wait(i));
                record(&mut own.up, call.up(i));
            }
            for (position, &i) in call.departures().iter().enumerate() {
                state.contributors[i].departed[position] += 1;
                record(&mut state.up_by_departure[position], call.up(i));
            }
        }
    }

    fn take_paths(&mut self, ground: &Ground, calls: &[NodeCall], stamps: &Stamps) {
        let layout = &ground.layout;
        let mut slowest: Option<(u64, Rank)> = None;
        for (&rank, steps) in &layout.paths {
            let mut cost = 0;
            for &step in steps {
                let (call, shape) = (&calls[step.node], &layout.tree.nodes[step.node]);
                let own = call.down_last() + call.up(step.contributor);
                cost += ground.clocks[shape.host].span_ns(own) + ground.hop_ns(self.flow, step, stamps).unwrap_or(0);
                if shape.parent.is_none() {
                    cost += ground.span_ns(shape.host, stamps.at[layout.nodes[step.node].below]);
                }
            }
            let state = self.paths.get_mut(&rank).expect("a path for each rank");
            state.total.record(ground.span_ns(layout.host_of(steps[0]), stamps.at[layout.entry(steps[0])]));
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

    fn take_subtrees(&mut self, ground: &Ground, stamps: &Stamps) {
        for (subtree, state) in ground.layout.subtrees.iter().zip(&mut self.subtrees) {
            let clock = &ground.clocks[ground.host_of_node(subtree.node)];
            let below = stamps.at[ground.layout.nodes[subtree.node].below];
            let contributors = subtree.arrive.iter().map(|&at| stamps.at[at]).collect();
            let Some(call) = NodeCall::of(self.flow, below, contributors) else { continue };
            let longest = (0..call.n_contributors()).map(|i| call.departure_wait(i)).max().unwrap_or(0);
            let [down, up, wait] = state;
            if self.flow.is_joined() {
                down.record(clock.span_ns(call.down_last()));
            }
            if self.flow.is_handed_out() {
                up.record(clock.span_ns(call.up_first()));
                wait.record(clock.span_ns(longest));
            }
        }
    }

    /// Counts the root that had the result last: of several roots that wait for each other, the one that exchanged its
    /// result for the shortest time.
    fn take_roots(&mut self, ground: &Ground, calls: &[NodeCall]) {
        let exchange_ns = |&root: &usize| ground.clocks[ground.host_of_node(root)].span_ns(calls[root].below());
        if let Some(root) = ground.layout.tree.roots().min_by_key(exchange_ns) {
            self.nodes[root].n_last += 1;
        }
    }

    fn take_split(&mut self, ground: &Ground, stamps: &Stamps) {
        let Some([entries, roots]) = ground.ends(stamps) else { return };
        let first = entries.iter().map(|entry| entry.0).min().unwrap_or(0);
        let last = entries.iter().map(|entry| entry.0).max().unwrap_or(0);
        let end = entries.iter().map(|entry| entry.1).max().unwrap_or(0);
        let combined = roots.iter().map(|root| root.0).max().unwrap_or(0);
        let stored = roots.iter().map(|root| root.1).max().unwrap_or(0);
        let [arrival, reduce, broadcast] = &mut self.split;
        // Clocks of different hosts are joined with an error, which must not make a part negative.
        if self.flow.is_joined() {
            arrival.record(last.saturating_sub(first));
            reduce.record(combined.saturating_sub(last));
        }
        if self.flow.is_handed_out() {
            broadcast.record(end.saturating_sub(stored));
        }
    }

    pub(crate) fn end_interval(&mut self, layout: &Layout) -> Vec<IntervalMean> {
        let mut means = Vec::new();
        let flow = self.flow;
        for (node, state) in self.nodes.iter_mut().enumerate() {
            let mut push = |part: Part, contributor, running: &mut Running| {
                if part.is_of(flow) {
                    means.push(IntervalMean { flow, part, node, contributor, mean_ns: running.end_interval() });
                }
            };
            push(Part::Down, None, &mut state.down_last);
            push(Part::Up, None, &mut state.up_first);
            if layout.tree.nodes[node].parent.is_none() {
                push(Part::Store, None, &mut state.store);
            }
            for (i, own) in state.contributors.iter_mut().enumerate() {
                push(Part::ArrivalWait, Some(i), &mut own.arrival_wait);
                push(Part::DepartureWait, Some(i), &mut own.departure_wait);
                if layout.nodes[node].leave[i].is_some() {
                    push(Part::Hop, Some(i), &mut own.hop);
                }
            }
        }
        means
    }

    pub(crate) fn analysis(&self, ground: &Ground, join: &Join) -> Analysis {
        let layout = &ground.layout;
        let has_split = self.split.iter().any(|part| part.figures().count > 0);
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
        let subtree = |(shape, [down, up, wait]): (&Subtree, &[Running; 3])| SubtreeFigures {
            node: shape.node,
            n_nodes: shape.n_nodes,
            down_last: down.figures(),
            up_first: up.figures(),
            departure_wait: wait.figures(),
        };
        Analysis {
            tree: layout.tree.name.clone(),
            flow: self.flow,
            operations: self.operations.iter().map(|(operation, n)| (operation.name().to_owned(), *n)).collect(),
            n_calls: self.n_calls,
            n_incomplete: join.n_incomplete + join.n_open(),
            n_disordered: self.n_disordered,
            n_strangers: join.n_strangers,
            slowest: self.slowest.figures(),
            split: has_split.then_some(Split { arrival, reduce, broadcast }),
            nodes: (0..self.nodes.len()).map(|node| self.node_figures(layout, node)).collect(),
            paths: self.paths.iter().map(path).collect(),
            subtrees: layout.subtrees.iter().zip(&self.subtrees).map(subtree).collect(),
        }
    }

    fn node_figures(&self, layout: &Layout, node: usize) -> NodeFigures {
        let (shape, state) = (&layout.tree.nodes[node], &self.nodes[node]);
        let host = &layout.hosts[shape.host];
        let all = |runnings: &[Running]| runnings.iter().map(Running::figures).collect();
        NodeFigures {
            name: shape.name.clone(),
            host: host.name.clone(),
            cluster: host.cluster.clone(),
            parent: shape.parent,
            contributors: (0..shape.contributors.len()).map(|at| self.contributor_figures(layout, node, at)).collect(),
            down_last: state.down_last.figures(),
            up_first: state.up_first.figures(),
            store: shape.parent.is_none().then(|| state.store.figures()),
            n_last: state.n_last,
            wait_by_arrival: all(&state.wait_by_arrival),
            up_by_departure: all(&state.up_by_departure),
        }
    }

    fn contributor_figures(&self, layout: &Layout, node: usize, contributor: usize) -> ContributorFigures {
        let (step, state) = (Step { node, contributor }, &self.nodes[node].contributors[contributor]);
        let (own, there) = (&layout.hosts[layout.host_of(step)], &layout.hosts[layout.tree.nodes[node].host]);
        let hop =
            || HopFigures { host: own.name.clone(), is_wan: own.cluster != there.cluster, span: state.hop.figures() };
        ContributorFigures {
            from: layout.contributor(step).into(),
            name: layout.name(layout.contributor(step)),
            arrival_wait: state.arrival_wait.figures(),
            departure_wait: state.departure_wait.figures(),
            down: state.down.figures(),
            up: state.up.figures(),
            total: state.total.figures(),
            hop: layout.nodes[node].leave[contributor].map(|_| hop()),
            arrived: state.arrived.clone(),
            departed: state.departed.clone(),
        }
    }
}
