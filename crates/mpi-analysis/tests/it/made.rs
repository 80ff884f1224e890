//! Runs whose every stage is known: a tree, arrival times and costs make the exact records of each call.

use mpi_trace::{Event, Operation, Subject};
use mpi_tree::{Between, Collector, Contributor, Host, Node, Order, Place, Tree, Wake};

/// What the stages of one call take. Nanoseconds.
pub(crate) trait Costs {
    /// When a rank calls, on a clock that all share.
    fn arrival(&mut self, rank: u32) -> u64;
    /// From the last arrival at a node until its value leaves.
    fn down(&mut self, node: usize) -> u64;
    /// From the result's return until the contributor that leaves first, second and so on has it.
    fn up(&mut self, node: usize, departure: usize) -> u64;
    /// One way between two hosts.
    fn hop(&mut self, node: usize, contributor: usize) -> u64;
    /// At a root.
    fn store(&mut self) -> u64;
}

/// The same in each call.
pub(crate) struct Even {
    pub(crate) arrival: Vec<u64>,
    pub(crate) down: u64,
    pub(crate) up: u64,
    pub(crate) hop: u64,
    pub(crate) store: u64,
}

impl Costs for Even {
    fn arrival(&mut self, rank: u32) -> u64 {
        self.arrival[rank as usize]
    }

    fn down(&mut self, _: usize) -> u64 {
        self.down
    }

    fn up(&mut self, _: usize, departure: usize) -> u64 {
        self.up * (1 + departure as u64)
    }

    fn hop(&mut self, _: usize, _: usize) -> u64 {
        self.hop
    }

    fn store(&mut self) -> u64 {
        self.store
    }
}

/// A tree, and how far the clock of each host is ahead of the shared one.
pub(crate) struct Made {
    pub(crate) tree: Tree,
    pub(crate) hosts: Vec<Host>,
    pub(crate) ahead: Vec<u64>,
}

pub(crate) fn host(name: &str, cluster: Option<&str>, ranks: std::ops::Range<u32>) -> Host {
    Host { name: name.into(), cluster: cluster.map(Into::into), ranks: ranks.collect() }
}

pub(crate) fn node(name: &str, host: usize, parent: Option<usize>, contributors: Vec<Contributor>) -> Node {
    Node { name: name.into(), host, parent, contributors, wake: Wake::Both }
}

pub(crate) fn tree(name: &str, nodes: Vec<Node>) -> Tree {
    Tree { name: name.into(), nodes, between: Between::Reduce, order: Order::Fixed }
}

pub(crate) fn ranks(ranks: std::ops::Range<u32>) -> Vec<Contributor> {
    ranks.map(Contributor::Rank).collect()
}

impl Made {
    /// One node for each host, with this many ranks, and a root on the first host.
    pub(crate) fn hosts_of(n_hosts: u32, n_each: u32) -> Self {
        let of_host = |idx: u32| idx * n_each..(idx + 1) * n_each;
        let hosts: Vec<Host> = (0..n_hosts).map(|idx| host(&format!("host-{idx}"), None, of_host(idx))).collect();
        let mut nodes = vec![node("root", 0, None, (1..=n_hosts as usize).map(Contributor::Node).collect())];
        nodes.extend((0..n_hosts).map(|idx| node(&format!("n{idx}"), idx as usize, Some(0), ranks(of_host(idx)))));
        Self {
            tree: tree("two-level", nodes),
            ahead: (0..u64::from(n_hosts)).map(|idx| idx * 1_000_003).collect(),
            hosts,
        }
    }

    /// All records of one call.
    pub(crate) fn call(&self, sequence: u32, costs: &mut dyn Costs) -> Vec<Event> {
        let collectors = self.tree.collectors(&self.hosts);
        let mut stamps = vec![(0, 0); collectors.len()];
        let at = |collector| collectors.iter().position(|other| *other == collector).unwrap();
        for root in self.tree.roots() {
            let start = self.go_down(root, costs, &mut |collector, time| stamps[at(collector)].0 = time);
            let end = start + costs.store();
            stamps[at(Collector { node: root, place: Place::Store })] = (start, end);
            self.go_up(root, end, costs, &mut |collector, stamp| match stamp {
                Some(time) => {
                    stamps[at(collector)].1 = time;
                    time
                }
                None => stamps[at(collector)].0,
            });
        }
        let events = stamps.iter().zip(&collectors).zip(0..).map(|((&(start, end), collector), number)| {
            let node = collector.node;
            let host = match collector.place {
                Place::Leave(position) => {
                    self.tree.host_of(self.tree.nodes[node].contributors[position], &self.hosts).unwrap()
                }
                _ => self.tree.nodes[node].host,
            };
            Event {
                start: start + self.ahead[host],
                end: end + self.ahead[host],
                bytes: 8,
                operation: Operation::ALLREDUCE,
                is_failed: false,
                subject: Subject::Stage { collector: number, sequence },
            }
        });
        events.collect()
    }

    fn go_down(&self, node: usize, costs: &mut dyn Costs, stamp: &mut dyn FnMut(Collector, u64)) -> u64 {
        let mut last = 0;
        for (position, &contributor) in self.tree.nodes[node].contributors.iter().enumerate() {
            let mut time = match contributor {
                Contributor::Rank(rank) => costs.arrival(rank),
                Contributor::Node(child) => self.go_down(child, costs, stamp),
            };
            if self.tree.is_remote(node, contributor, &self.hosts) {
                stamp(Collector { node, place: Place::Leave(position) }, time);
                time += costs.hop(node, position);
            }
            stamp(Collector { node, place: Place::Arrive(position) }, time);
            last = last.max(time);
        }
        last + costs.down(node)
    }

    fn go_up(
        &self,
        node: usize,
        result: u64,
        costs: &mut dyn Costs,
        stamp: &mut dyn FnMut(Collector, Option<u64>) -> u64,
    ) {
        let contributors = &self.tree.nodes[node].contributors;
        let arrive = |position| Collector { node, place: Place::Arrive(position) };
        let mut order: Vec<usize> = (0..contributors.len()).collect();
        // Who came last goes first, as where the last to arrive goes on for all.
        order.sort_by_key(|&position| std::cmp::Reverse(stamp(arrive(position), None)));
        let mut earlier = 0;
        for (departure, position) in order.into_iter().enumerate() {
            let mut time = (result + costs.up(node, departure)).max(earlier);
            earlier = time;
            stamp(arrive(position), Some(time));
            if self.tree.is_remote(node, contributors[position], &self.hosts) {
                time += costs.hop(node, position);
                stamp(Collector { node, place: Place::Leave(position) }, Some(time));
            }
            if let Contributor::Node(child) = contributors[position] {
                self.go_up(child, time, costs, stamp);
            }
        }
    }
}
