//! `foretop internal mpi-job`: what a job of an MPI program looks like from outside, without MPI. Browser tests look at
//! it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clock::monotonic_ns;
use mpi_job::{Folder, Process, RingFile};
use mpi_trace::file::{Head, VERSION};
use mpi_trace::{Event, Operation, Peer, Reading, RingHeader, RingKind, Subject, Writer};
use mpi_tree::{Between, Collector, Contributor, FanIn, Forest, Grain, Host, Layout, Order, Place, Shape, Tree, Wake};

use text::help::examples;

/// Records in a ring: a minute of calls.
const CAPACITY: u64 = 1 << 15;
/// Time from one allreduce to the next, and times of its parts. Nanoseconds.
const PERIOD: u64 = 2_000_000;
const JITTER: u64 = 30_000;
const LATE: u64 = 400_000;
const DOWN: u64 = 2_000;
const UP: u64 = 9_000;
const HOP: u64 = 60_000;
const STORE: u64 = 300;

/// Write the records of a program that calls MPI_Allreduce 500 times a second, until the process is stopped
#[derive(Args)]
#[command(after_help = examples(&["foretop internal mpi-job /dev/shm/foretop-0/example --straggler 5"]))]
pub struct MpiJob {
    /// Folder of the job, which is created
    folder: PathBuf,

    /// Ranks on each of two hosts
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=64))]
    ranks: u32,

    /// The straggler: a rank that is late in each call
    #[arg(long, value_name = "RANK")]
    straggler: Option<u32>,

    /// While this file exists, messages between hosts take three times as long
    #[arg(long, value_name = "FILE")]
    slow: Option<PathBuf>,

    /// Make each fourth call an MPI_Bcast
    #[arg(long)]
    broadcast: bool,
}

/// A tree, and when messages are where on it in one call.
struct Call<'a> {
    tree: &'a Tree,
    hosts: &'a [Host],
    collectors: &'a BTreeMap<Collector, u16>,
    /// Arrival of each rank.
    arrivals: Vec<u64>,
    /// Time of a message between hosts.
    hop: u64,
    /// Stamps of each collector: on the way down and on the way up.
    stamps: Vec<(u64, u64)>,
    /// End of each rank's call.
    ends: Vec<u64>,
}

impl MpiJob {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let n = self.ranks;
        let host =
            |name: &str, first: u32| Host { name: name.into(), cluster: None, ranks: (first..first + n).collect() };
        let hosts = vec![host("left", 0), host("right", n)];
        let layout = Layout {
            shape: Shape::Flat,
            grain: Grain::Host,
            inside: FanIn::new(4),
            between: Between::Reduce,
            order: Order::Fixed,
            wake: Wake::Both,
        };
        let tree = Tree::make("small", &hosts, &layout);
        let forest = Forest { epoch: 1, hosts, trees: vec![tree], rules: Vec::new() };
        let folder = Folder::create(&self.folder)?;
        folder.set_tree(&forest.to_text())?;
        let calls = self.rings(&folder, &forest, RingKind::Calls)?;
        let stages = self.rings(&folder, &forest, RingKind::Stages)?;
        let mut writers: Vec<(Writer<'_>, Writer<'_>)> =
            calls.iter().zip(&stages).map(|(calls, stages)| (calls.ring().writer(), stages.ring().writer())).collect();
        writeln!(out, "writing to {}", self.folder.display())?;
        out.flush()?;
        let began = monotonic_ns();
        for sequence in 0.. {
            let start = began + u64::from(sequence) * PERIOD;
            self.write_call(&forest, sequence, start, &mut writers);
            let ahead = start.saturating_sub(monotonic_ns());
            clock::sleep(Duration::from_nanos(ahead));
        }
        Ok(())
    }

    fn rings(&self, folder: &Folder, forest: &Forest, kind: RingKind) -> anyhow::Result<Vec<RingFile>> {
        let this = Process::this();
        let mut rings = Vec::new();
        for host in &forest.hosts {
            for &rank in &host.ranks {
                let n_ranks = 2 * self.ranks;
                let ticks = monotonic_ns();
                let header = RingHeader {
                    kind,
                    rank,
                    n_ranks,
                    pid: this.pid,
                    pid_started: this.started,
                    thread: 0,
                    is_counter: false,
                    reading: Reading { ticks, monotonic_ns: ticks },
                    tree: if kind == RingKind::Stages { forest.id_of(0) } else { 0 },
                    host: host.name.clone(),
                };
                rings.push(folder.create_ring(CAPACITY, &header)?);
                if kind == RingKind::Calls {
                    let (host, program) = (host.name.clone(), "./heat".to_owned());
                    let library = "Open MPI v4.1.4".to_owned();
                    let head = Head { version: VERSION, rank, n_ranks, host, pid: this.pid, program, library };
                    folder.define(rank, &serde_json::to_string(&head)?)?;
                }
            }
        }
        Ok(rings)
    }

    fn write_call(&self, forest: &Forest, sequence: u32, start: u64, writers: &mut [(Writer<'_>, Writer<'_>)]) {
        let (tree, hosts) = (&forest.trees[0], &forest.hosts);
        let collectors: BTreeMap<Collector, u16> = tree.collectors(hosts).into_iter().zip(0..).collect();
        let late = |rank: usize| if self.straggler == Some(rank as u32) { LATE } else { 0 };
        let arrivals = (0..writers.len()).map(|rank| start + late(rank) + jitter(sequence, rank as u64)).collect();
        let n = collectors.len();
        let ends = vec![0; writers.len()];
        let hop = if self.slow.as_ref().is_some_and(|file| file.exists()) { 3 * HOP } else { HOP };
        let mut call = Call { tree, hosts, collectors: &collectors, arrivals, hop, stamps: vec![(0, 0); n], ends };
        let operation = if self.broadcast && sequence % 4 == 3 { Operation::BCAST } else { Operation::ALLREDUCE };
        for root in tree.roots() {
            let down = call.go_down(root);
            let store = usize::from(collectors[&Collector { node: root, place: Place::Store }]);
            call.stamps[store] = (down, down + STORE);
            call.go_up(root, down + STORE);
        }
        let event =
            |start, end, operation, subject| Event { start, end, bytes: 8, operation, is_failed: false, subject };
        let world = |peer, tag| Subject::Call { communicator: 0, peer, tag };
        for (rank, (calls, _)) in writers.iter_mut().enumerate() {
            let (arrival, end) = (call.arrivals[rank], call.ends[rank]);
            let neighbour = Peer::Rank((rank as u32 + 1) % (2 * self.ranks));
            let (from, to) = (end + 50_000, end + 80_000 + jitter(sequence, rank as u64 + 1));
            calls.write(event(arrival, end, operation, world(Peer::None, None)).to_records());
            calls.write(event(from, to, Operation::SENDRECV, world(neighbour, Some(7))).to_records());
        }
        for (collector, &number) in &collectors {
            let contributor = |position: usize| tree.nodes[collector.node].contributors[position];
            // Of a rank's own way it writes itself, of all else the lowest rank of the host.
            let lowest_at = |host: usize| hosts[host].ranks[0];
            let rank = match collector.place {
                Place::Store => lowest_at(tree.nodes[collector.node].host),
                Place::Arrive(position) | Place::Leave(position) => match (contributor(position), collector.place) {
                    (Contributor::Rank(rank), _) => rank,
                    (Contributor::Node(child), Place::Leave(_)) => lowest_at(tree.nodes[child].host),
                    (Contributor::Node(_), _) => lowest_at(tree.nodes[collector.node].host),
                },
            };
            let (start, end) = call.stamps[usize::from(number)];
            let subject = Subject::Stage { collector: number, sequence };
            writers[rank as usize].1.write(event(start, end, operation, subject).to_records());
        }
    }
}

impl Call<'_> {
    fn at(&mut self, node: usize, place: Place) -> &mut (u64, u64) {
        &mut self.stamps[usize::from(self.collectors[&Collector { node, place }])]
    }

    /// Gives when the node's value leaves it.
    fn go_down(&mut self, node: usize) -> u64 {
        let tree = self.tree;
        let mut last = 0;
        for (position, &contributor) in tree.nodes[node].contributors.iter().enumerate() {
            let mut time = match contributor {
                Contributor::Rank(rank) => self.arrivals[rank as usize],
                Contributor::Node(child) => self.go_down(child),
            };
            if tree.is_remote(node, contributor, self.hosts) {
                self.at(node, Place::Leave(position)).0 = time;
                time += self.hop;
            }
            self.at(node, Place::Arrive(position)).0 = time;
            last = last.max(time);
        }
        last + DOWN
    }

    /// The last to arrive leaves first.
    fn go_up(&mut self, node: usize, result: u64) {
        let contributors = &self.tree.nodes[node].contributors;
        let mut order: Vec<usize> = (0..contributors.len()).collect();
        order.sort_by_key(|&position| std::cmp::Reverse(self.at(node, Place::Arrive(position)).0));
        for (departure, position) in (1..).zip(order) {
            let mut time = result + UP * departure;
            self.at(node, Place::Arrive(position)).1 = time;
            if self.tree.is_remote(node, contributors[position], self.hosts) {
                time += self.hop;
                self.at(node, Place::Leave(position)).1 = time;
            }
            match contributors[position] {
                Contributor::Rank(rank) => self.ends[rank as usize] = time,
                Contributor::Node(child) => self.go_up(child, time),
            }
        }
    }
}

/// Returns the jitter of a call, the same on every run.
fn jitter(sequence: u32, rank: u64) -> u64 {
    let mixed = (u64::from(sequence) << 8 | rank).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) % JITTER
}
