//! Rings of a tree of hosts with two ranks each, and calls in which a given rank is late.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use event_space::{HostGate, Read, Space};
use mpi_job::{Folder, Process, Segment};
use mpi_trace::{Event, Operation, Reading, Ring, RingHeader, RingKind, Subject, n_words};
use mpi_tree::{Between, Collector, FanIn, Forest, Grain, Host, Layout, Order, Place, Shape, Tree, Wake};

/// When the result comes up, after a call began.
const RESULT: u64 = 50_000;

pub(crate) struct Job {
    pub(crate) tree: Tree,
    pub(crate) hosts: Vec<Host>,
    collectors: Vec<Collector>,
    /// One for each host: in this one the first rank of a host writes for all.
    pub(crate) rings: Vec<Arc<dyn Space>>,
}

/// The header of a host's ring.
fn header(host: u32, n_hosts: u32, tree: u64) -> RingHeader {
    let this = Process::this();
    RingHeader {
        kind: RingKind::Stages,
        rank: 2 * host,
        n_ranks: 2 * n_hosts,
        pid: this.pid,
        pid_started: this.started,
        thread: 0,
        is_counter: false,
        reading: Reading { ticks: 0, monotonic_ns: 0 },
        tree,
        host: format!("h{host}"),
    }
}

impl Job {
    /// In memory of this process.
    pub(crate) fn new(n_hosts: u32, capacity: u64) -> Self {
        Self::with(n_hosts, |host, _| {
            let header = header(host, n_hosts, 1);
            let words: Vec<AtomicU64> = (0..n_words(capacity)).map(|_| AtomicU64::new(0)).collect();
            Ring::create(&words, capacity, &header).unwrap();
            Arc::new((words, header))
        })
    }

    /// In a folder for each host, `h0` and so on below `root`, as each host of a real job has one.
    pub(crate) fn in_folders(root: &Path, n_hosts: u32, capacity: u64) -> Self {
        Self::with(n_hosts, |host, forest| {
            let folder = Folder::create(&root.join(format!("h{host}"))).unwrap();
            folder.set_tree(&forest.to_text()).unwrap();
            Segment::create(&folder.path().join(format!("gate-{host}.seg")), HostGate::N_WORDS, |_| Ok(())).unwrap();
            Arc::new(folder.create_ring(capacity, &header(host, n_hosts, forest.id_of(0))).unwrap())
        })
    }

    fn with(n_hosts: u32, ring: impl Fn(u32, &Forest) -> Arc<dyn Space>) -> Self {
        let host = |idx: u32| Host {
            name: format!("h{idx}"),
            cluster: Some(format!("c{}", idx % 2)),
            ranks: vec![2 * idx, 2 * idx + 1],
        };
        let hosts: Vec<Host> = (0..n_hosts).map(host).collect();
        let layout = Layout {
            shape: Shape::KWay(FanIn::new(8).unwrap()),
            grain: Grain::Host,
            inside: None,
            between: Between::Reduce,
            order: Order::Fixed,
            wake: Wake::Both,
        };
        let tree = Tree::make("t", &hosts, &layout);
        let forest = Forest { hosts: hosts.clone(), trees: vec![tree.clone()], ..Forest::default() };
        let rings = (0..n_hosts).map(|idx| ring(idx, &forest)).collect();
        Self { collectors: tree.collectors(&hosts), tree, hosts, rings }
    }

    /// The host that a collector is on.
    pub(crate) fn host_of(&self, collector: &Collector) -> usize {
        let node = &self.tree.nodes[collector.node];
        match collector.place {
            Place::Leave(i) => self.tree.host_of(node.contributors[i], &self.hosts).unwrap(),
            _ => node.host,
        }
    }

    /// Stamps of each collector: ranks call 100 ns after each other, `late` 10 us after the others, each node takes 10
    /// ns down and up, each hop 1 us each way.
    fn stamps(&self, late: u32) -> Vec<(u64, u64)> {
        let mut stamps = vec![(0, 0); self.collectors.len()];
        let at = |wanted| self.collectors.iter().position(|other| *other == wanted).unwrap();
        let mut sums = vec![0; self.tree.nodes.len()];
        let mut from_leaves = self.tree.from_roots();
        from_leaves.reverse();
        for node in from_leaves {
            for (i, contributor) in self.tree.nodes[node].contributors.iter().enumerate() {
                let mut start = match contributor {
                    mpi_tree::Contributor::Rank(rank) => {
                        u64::from(*rank) * 100 + if *rank == late { 10_000 } else { 0 }
                    }
                    mpi_tree::Contributor::Node(child) => sums[*child],
                };
                let depth = self.depth(node);
                let end = RESULT + 1_000_000 + depth * 2_000;
                if self.tree.is_remote(node, *contributor, &self.hosts) {
                    stamps[at(Collector { node, place: Place::Leave(i) })] = (start, end + 1_000);
                    start += 1_000;
                }
                stamps[at(Collector { node, place: Place::Arrive(i) })] = (start, end);
                sums[node] = sums[node].max(start + 10);
            }
            if self.tree.nodes[node].parent.is_none() {
                stamps[at(Collector { node, place: Place::Store })] = (sums[node], RESULT + 1_000_000);
            }
        }
        stamps
    }

    fn depth(&self, node: usize) -> u64 {
        self.tree.nodes[node].parent.map_or(0, |parent| 1 + self.depth(parent))
    }

    /// Writes all records of a call.
    pub(crate) fn call(&self, sequence: u32, late: u32) {
        for (number, (collector, (start, end))) in (0..).zip(self.collectors.iter().zip(self.stamps(late))) {
            let event = Event {
                start,
                end,
                bytes: 8,
                operation: Operation::ALLREDUCE,
                is_failed: false,
                subject: Subject::Stage { collector: number, sequence },
            };
            self.rings[self.host_of(collector)].ring().writer().write(event.to_records());
        }
    }

    /// What reads all rings of a host.
    pub(crate) fn read(&self, host: usize) -> Read {
        Read::new(1 << 16).and(Arc::clone(&self.rings[host]), host as u16, 2 * host as u32)
    }

    /// The collector right before a rank's node.
    pub(crate) fn entry(&self, rank: u32) -> u16 {
        let is_own = |collector: &Collector| match collector.place {
            Place::Arrive(i) => self.tree.nodes[collector.node].contributors[i] == mpi_tree::Contributor::Rank(rank),
            _ => false,
        };
        self.collectors.iter().position(is_own).unwrap() as u16
    }
}
