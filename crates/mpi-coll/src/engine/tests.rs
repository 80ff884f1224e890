//! Threads as ranks, channels as the network: every operation on every shape, whoever comes when.

use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};

use clock::Ticks;
use mpi_abi::{Datatype, Op};
use mpi_trace::{Cursor, Reading, Ring, RingHeader, RingKind, n_words};
use mpi_tree::{Between, Contributor, FanIn, Grain, Host, Layout as TreeLayout, Order, Reference, Shape, Tree, Wake};

use super::*;
use crate::combine::combine;
use crate::memory::Wait;
use crate::pause::has_come;
use crate::port::{Head, Kind};

struct Channels {
    rank: Rank,
    ground: Arc<Ground>,
    to: Vec<Sender<Vec<u8>>>,
    from: Receiver<Vec<u8>>,
}

impl Port for Channels {
    fn send(&mut self, to: Rank, message: &[u8]) -> Result<(), Trouble> {
        assert_ne!(to, self.rank, "nobody needs a message to itself");
        let head = Head::read(message).unwrap();
        if head.kind == Kind::Up {
            let memory = self.ground.layout.node(&*self.ground.memory, head.node as usize);
            for wait in [Wait::Forward, Wait::Released] {
                assert!(
                    !has_come(memory.wait(wait), head.sequence),
                    "ranks here were let go before other hosts were told"
                );
            }
            let plan = &self.ground.plan;
            let host = plan.hosts[self.rank as usize];
            // With others on the host, one of them may have let ranks go.
            let is_alone = plan.hosts.iter().filter(|other| **other == host).count() == 1;
            if let Some(seat) =
                plan.nodes[head.node as usize].seat.filter(|seat| is_alone && plan.nodes[seat.node].host == host)
            {
                let above = self.ground.layout.node(&*self.ground.memory, seat.node);
                assert!(
                    !has_come(above.wait(Wait::Released), head.sequence),
                    "this rank let others go and had still to forward"
                );
            }
        }
        self.to[to as usize].send(message.to_vec()).expect("all stay until the end");
        Ok(())
    }

    fn receive(&mut self, into: &mut Vec<u8>) -> Result<bool, Trouble> {
        Ok(self.from.try_recv().map(|message| into.extend(message)).is_ok())
    }

    fn check(&mut self) -> Result<(), Trouble> {
        Ok(())
    }

    fn notice(&mut self) -> u32 {
        7
    }
}

/// A rank with its engine, as one thread has it.
struct Session {
    rank: Rank,
    n_ranks: Rank,
    engine: Engine,
    port: Channels,
    mailbox: Mailbox,
    recorder: Recorder,
    chance: u64,
}

const CAPACITY_BYTES: usize = 64 * 24;

impl Session {
    fn call(
        &mut self,
        collective: Collective,
        root: Rank,
        n_bytes: usize,
        combine: Option<Combine>,
        input: &[u8],
        n_out: usize,
    ) -> Vec<u8> {
        // Anybody may come first.
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (0..self.chance >> 62).for_each(|_| std::thread::yield_now());
        let mut output = vec![0; n_out];
        let mut call = Call { collective, root, n_bytes, combine, input, output: &mut output };
        let notice = self.engine.call(&mut call, &mut self.port, &mut self.mailbox, &mut self.recorder).unwrap();
        let told = if Flow::of(collective) == Flow::Down { 0 } else { 7 };
        assert_eq!(notice, told, "all ranks get the notice of {collective:?}");
        output
    }

    /// Contribution of a rank to a call, or to each rank in it: numbers whose sum depends on the order.
    fn value(rank: Rank, round: u32) -> [f64; 3] {
        let x = f64::from(rank * 31 + round * 7 + 1);
        [1.0 / x, x * 1e10, (x * 0.37).sin()]
    }

    fn bytes(value: &[f64]) -> Vec<u8> {
        value.iter().flat_map(|x| x.to_ne_bytes()).collect()
    }

    fn check(&mut self, collective: Collective, root: Rank, round: u32, sum: &dyn Fn(u32) -> [f64; 3], is_exact: bool) {
        let (rank, n_ranks) = (self.rank, self.n_ranks);
        let datatype = Datatype { kind: mpi_abi::Kind::Float, size_bytes: 8, extent_bytes: 8 };
        let add = combine(Op::Sum, datatype);
        let own = Self::bytes(&Self::value(rank, round));
        let all = || (0..n_ranks).flat_map(|rank| Self::bytes(&Self::value(rank, round))).collect::<Vec<u8>>();
        let mine = |bytes: usize| if rank == root { bytes } else { 0 };
        let n = own.len();
        let (got, needed) = match collective {
            Collective::Barrier => (self.call(collective, 0, 0, None, &[], 0), Vec::new()),
            Collective::Allreduce => (self.call(collective, 0, n, add, &own, n), Self::bytes(&sum(round))),
            Collective::Reduce => {
                let needed = if rank == root { Self::bytes(&sum(round)) } else { Vec::new() };
                (self.call(collective, root, n, add, &own, mine(n)), needed)
            }
            Collective::Bcast => {
                let value = Self::bytes(&Self::value(root, round));
                if rank == root {
                    (self.call(collective, root, n, None, &value, 0), Vec::new())
                } else {
                    (self.call(collective, root, n, None, &[], n), value)
                }
            }
            Collective::Gather => {
                let needed = if rank == root { all() } else { Vec::new() };
                (self.call(collective, root, n, None, &own, mine(n * n_ranks as usize)), needed)
            }
            Collective::Scatter => {
                let input = if rank == root { all() } else { Vec::new() };
                // The root has its own block already.
                if rank == root {
                    (self.call(collective, root, n, None, &input, 0), Vec::new())
                } else {
                    (self.call(collective, root, n, None, &input, n), own)
                }
            }
        };
        if is_exact || !matches!(collective, Collective::Allreduce | Collective::Reduce) {
            assert_eq!(got, needed, "{collective:?} of rank {rank}, root {root}, call {round}");
        } else {
            let numbers = |bytes: &[u8]| -> Vec<f64> {
                bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect()
            };
            for (a, b) in numbers(&got).into_iter().zip(numbers(&needed)) {
                assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
            }
        }
    }
}

fn hosts(n_ranks: u32, n_hosts: u32, is_cyclic: bool) -> Vec<Host> {
    let n_hosts = n_hosts.min(n_ranks);
    let host_of = |rank: u32| if is_cyclic { rank % n_hosts } else { rank * n_hosts / n_ranks };
    (0..n_hosts)
        .map(|host| Host {
            name: format!("h{host}"),
            cluster: Some(if host < n_hosts.div_ceil(2) { "left".into() } else { "right".into() }),
            ranks: (0..n_ranks).filter(|&rank| host_of(rank) == host).collect(),
        })
        .collect()
}

fn ring(rank: Rank, n_records: u64) -> Ring<'static> {
    let words: Vec<AtomicU64> = (0..n_words(n_records)).map(|_| AtomicU64::new(0)).collect();
    let header = RingHeader {
        kind: RingKind::Stages,
        rank,
        n_ranks: 0,
        pid: 0,
        pid_started: 0,
        thread: 0,
        is_counter: false,
        reading: Reading::default(),
        tree: 0,
        host: String::new(),
    };
    Ring::create(words.leak(), n_records, &header).unwrap()
}

/// Runs a program on all ranks of a tree, each in a thread.
fn run(tree: &Tree, hosts: &[Host], rings: &[Ring<'static>], program: impl Fn(&mut Session) + Sync) {
    let grounds: Vec<Arc<Ground>> = (0..hosts.len())
        .map(|host| {
            let plan = Plan::of(tree, hosts);
            let layout = Layout::of(&plan, host, CAPACITY_BYTES);
            let memory: Vec<AtomicU64> = (0..layout.n_words()).map(|_| AtomicU64::new(0)).collect();
            Arc::new(Ground { plan, layout, memory: Box::new(memory) })
        })
        .collect();
    let n_ranks = grounds[0].plan.seats.len();
    let (to, from): (Vec<_>, Vec<_>) = (0..n_ranks).map(|_| channel()).unzip();
    std::thread::scope(|scope| {
        for (rank, from) in (0..).zip(from) {
            let (program, to) = (&program, to.clone());
            let ground = Arc::clone(&grounds[grounds[0].plan.hosts[rank as usize]]);
            let writer = rings.get(rank as usize).map(|ring| ring.writer());
            scope.spawn(move || {
                let port = Channels { rank, ground: Arc::clone(&ground), to, from };
                let part = Part { ground, rank, tree: 3, is_crowded: true, gate: None };
                program(&mut Session {
                    rank,
                    n_ranks: n_ranks as Rank,
                    engine: Engine::new(part),
                    port,
                    mailbox: Mailbox::default(),
                    recorder: Recorder::new(Ticks::Monotonic, writer),
                    chance: u64::from(rank) + 1,
                });
            });
        }
    });
}

fn layout(shape: Shape) -> TreeLayout {
    TreeLayout {
        shape,
        grain: Grain::Host,
        inside: None,
        between: Between::Reduce,
        order: Order::Fixed,
        wake: Wake::Both,
    }
}

/// All operations with all roots, mixed, so that each follows each.
#[track_caller]
fn check(hosts: &[Host], layout: &TreeLayout, n_calls: u32) {
    check_tree(&Tree::make("t", hosts, layout), hosts, n_calls);
}

#[track_caller]
fn check_tree(tree: &Tree, hosts: &[Host], n_calls: u32) {
    let reference = Reference::new(tree, hosts);
    let n_ranks: Rank = hosts.iter().map(|host| host.ranks.len() as Rank).sum();
    let sum = |round: u32| {
        let values = (0..n_ranks).map(|rank| Session::value(rank, round)).collect();
        let arrivals: Vec<Rank> = (0..n_ranks).collect();
        reference.allreduce(values, &arrivals, |a: [f64; 3], b| std::array::from_fn(|at| a[at] + b[at]))
    };
    run(tree, hosts, &[], |session| {
        let mut chance = 12345_u64;
        for round in 0..n_calls {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let collective = Collective::ALL[(chance >> 33) as usize % 6];
            let root = (chance >> 40) as Rank % n_ranks;
            session.check(collective, root, round, &sum, tree.order == Order::Fixed);
        }
    });
}

fn shapes() -> [Shape; 3] {
    [Shape::Flat, Shape::Binomial, Shape::KWay(FanIn::new(2).unwrap())]
}

#[test]
fn each_operation_gives_what_mpi_says_on_each_shape_at_1_to_64_ranks() {
    for n_ranks in [1, 2, 3, 5, 8, 13, 32, 64] {
        let n_calls = 120 / n_ranks + 20;
        for shape in shapes() {
            for (n_hosts, is_cyclic) in [(1, false), (4, false), (4, true), (64, false)] {
                let hosts = hosts(n_ranks, n_hosts, is_cyclic);
                check(&hosts, &layout(shape), n_calls);
                check(&hosts, &TreeLayout { grain: Grain::Rank, ..layout(shape) }, n_calls);
                check(&hosts, &TreeLayout { inside: FanIn::new(2), ..layout(shape) }, n_calls);
            }
        }
    }
}

#[test]
fn roots_that_exchange_come_to_the_same_result() {
    for (n_ranks, n_hosts, is_cyclic) in [(2, 2, false), (8, 4, false), (9, 3, true), (16, 5, false)] {
        for grain in [Grain::Host, Grain::Rank] {
            let layout = TreeLayout { between: Between::AllToAll, grain, ..layout(Shape::Flat) };
            check(&hosts(n_ranks, n_hosts, is_cyclic), &layout, 200);
        }
    }
}

/// Ranks 1 and 2 contribute to a node on rank 0's host, whose own rank is let go at the one above. [`Channels::send`]
/// looks who goes first.
#[test]
fn whoever_has_still_to_forward_goes_before_those_who_compute() {
    let hosts = hosts(3, 3, false);
    let tree = Tree::make("t", &hosts, &layout(Shape::Flat));
    let node = |name: &str, parent, contributors| mpi_tree::Node {
        name: name.into(),
        parent,
        contributors,
        ..tree.nodes[0].clone()
    };
    let nodes = vec![
        node("top", None, vec![Contributor::Rank(0), Contributor::Node(1)]),
        node("low", Some(0), vec![Contributor::Rank(1), Contributor::Rank(2)]),
    ];
    check_tree(&Tree { nodes, ..tree }, &hosts, 300);
}

#[test]
fn every_way_of_waking_and_combining_comes_to_the_same_result() {
    for wake in [Wake::Spin, Wake::Futex] {
        for order in [Order::Fixed, Order::Arrival] {
            check(&hosts(8, 3, false), &TreeLayout { wake, order, ..layout(Shape::Binomial) }, 300);
        }
    }
}

#[test]
fn a_hundred_thousand_calls_follow_each_other_without_a_pause() {
    check(&hosts(4, 2, false), &layout(Shape::Flat), 100_000);
}

#[test]
fn each_collector_stamps_each_call_and_the_parts_make_up_the_whole() {
    // Of the third, ranks contribute to nodes of other hosts.
    for (n_hosts, grain, is_cyclic) in [(3, Grain::Host, false), (1, Grain::Rank, false), (4, Grain::Rank, true)] {
        let hosts = hosts(8, n_hosts, is_cyclic);
        let shape = TreeLayout { inside: FanIn::new(2), grain, ..layout(Shape::Binomial) };
        let tree = Tree::make("t", &hosts, &shape);
        check_stamps(&tree, &hosts, false);
        check_stamps(&tree, &hosts, true);
    }
}

/// Operations in turn, or sums that are made of a reduce and a broadcast, as those of clusters are that do not wait for
/// all others.
#[track_caller]
fn check_stamps(tree: &Tree, hosts: &[Host], is_in_halves: bool) {
    let n_calls = 80;
    let server = mpi_tree::Roles::new(tree, hosts).stations()[tree.roots().next().unwrap()].server;
    let identity: Arc<[u16]> = (0..tree.collectors(hosts).len() as u16).collect();
    let call_of = |round: u32| {
        if is_in_halves {
            return (Collective::Allreduce, server);
        }
        let collectives = [Collective::Barrier, Collective::Gather, Collective::Bcast, Collective::Scatter];
        (collectives[round as usize % 4], round / 4 % 8)
    };
    let rings: Vec<Ring<'static>> = (0..8).map(|rank| ring(rank, 4096)).collect();
    run(tree, hosts, &rings, |session| {
        for round in 0..n_calls {
            let (collective, root) = call_of(round);
            if !is_in_halves {
                session.check(collective, root, round, &|_| [0.0; 3], true);
                continue;
            }
            session.recorder.begin_halves(operation(collective), 8, Arc::clone(&identity));
            let datatype = Datatype { kind: mpi_abi::Kind::Float, size_bytes: 8, extent_bytes: 8 };
            let is_root = session.rank == root;
            let of_root = |bytes: usize| if is_root { bytes } else { 0 };
            let mut value = 1.0_f64.to_ne_bytes().to_vec();
            let sum = session.call(Collective::Reduce, root, 8, combine(Op::Sum, datatype), &value, of_root(8));
            value.splice(.., sum);
            value = [&value[..], &session.call(Collective::Bcast, root, 8, None, &value, 8 - of_root(8))].concat();
            assert_eq!(value, 8.0_f64.to_ne_bytes());
            session.recorder.end_halves();
        }
    });
    // By collector and call: when a message went down, and when it came up.
    let collectors = tree.collectors(hosts);
    let mut passed = vec![vec![None; n_calls as usize]; collectors.len()];
    for ring in &rings {
        let (mut cursor, mut records) = (Cursor::default(), Vec::new());
        assert_eq!(ring.read(&mut cursor, usize::MAX, &mut records), 0);
        for event in records.iter().filter_map(|record| record.event(None)) {
            let mpi_trace::Subject::Stage { collector, sequence } = event.subject else { panic!("{event:?}") };
            let place = &mut passed[usize::from(collector)][sequence as usize];
            assert!(
                place.replace((event.start, event.end)).is_none(),
                "collector {collector} counted call {sequence} twice"
            );
        }
    }
    let at = |collector: mpi_tree::Collector, call: usize| {
        let number = collectors.iter().position(|other| *other == collector).unwrap();
        passed[number][call].unwrap_or_else(|| panic!("{collector:?} missed call {call}"))
    };
    for (node, of) in tree.nodes.iter().enumerate() {
        for call in 0..n_calls as usize {
            let (t2, t3) = at(tree.below(node, hosts), call);
            let around: Vec<(u64, u64)> = (0..of.contributors.len())
                .map(|position| at(mpi_tree::Collector { node, place: mpi_tree::Place::Arrive(position) }, call))
                .collect();
            let last = around.iter().map(|(t1, _)| *t1).max().unwrap();
            let (collective, root) = call_of(call as u32);
            let flow = Flow::of(collective);
            // The operation's root may leave before the result comes back to where it contributes.
            let leaves = around
                .iter()
                .zip(&of.contributors)
                .filter(|(_, who)| **who != Contributor::Rank(root) || flow != Flow::Up);
            let first = leaves.map(|((_, t4), _)| *t4).min().unwrap_or(t3);
            assert!(flow == Flow::Up || last <= t2, "{collective:?}: {last} {t2}");
            assert!(flow == Flow::Down || t3 <= first, "{collective:?}: {t3} {first}");
            if flow != Flow::Around {
                continue;
            }
            assert!(t2 <= t3, "{t2} {t3}");
            for (t1, t4) in around {
                assert_eq!((last - t1) + (t2 - last) + (t3 - t2) + (first - t3) + (t4 - first), t4 - t1);
            }
        }
    }
}
