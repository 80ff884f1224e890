//! The six steps, on runs that are made to have one thing wrong.

use mpi_analysis::{
    Against, Analysis, Analyzer, Comparison, From, HostClock, KernelLog, NodeFigures, Part, Remedy, Verdict,
};
use mpi_trace::file::{KernelNote, Offset, Phase};
use mpi_trace::{Alignment, Event, Flow, Operation, Subject};
use mpi_tree::{Contributor, Place};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::made::{Costs, Even, Made, host, node, ranks, tree};

const MS: u64 = 1_000_000;

fn clocks(made: &Made) -> Vec<HostClock> {
    let clock = |&ahead: &u64| {
        let offset = Offset { offset_ns: ahead.cast_signed(), error_ns: 0, monotonic_ns: 0, at: Phase::Init };
        HostClock { alignment: Some(Alignment::of(vec![offset])), ..HostClock::alone() }
    };
    made.ahead.iter().map(clock).collect()
}

fn analysis(made: &Made, n_calls: u32, costs: &mut dyn Costs) -> Analysis {
    let mut analyzer = Analyzer::new(made.tree.clone(), made.hosts.clone(), clocks(made));
    (0..n_calls).for_each(|call| analyzer.take(made.call(call, costs)));
    analyzer.analysis()
}

fn even(n_ranks: usize) -> Even {
    Even { arrival: vec![MS; n_ranks], down: 2_000, up: 5_000, hop: 50_000, store: 300 }
}

#[test]
fn a_straggler_of_a_millisecond_is_named() {
    let made = Made::hosts_of(4, 4);
    let mut costs = even(16);
    costs.arrival[10] += MS;
    let analysis = analysis(&made, 50, &mut costs);
    let last = analysis.last_arrivals();
    assert_eq!(last.last().unwrap().from, From::Rank(10));
    assert!(last.iter().all(|edge| edge.stands_out && edge.share == 1.0), "{last:?}");
    // Those on its host wait for it alone; those elsewhere have a hop less or as many.
    for rank in [8, 9, 11] {
        let stages = analysis.stages(analysis.path(rank).unwrap());
        let waited: f64 =
            stages.iter().filter(|stage| stage.part == Part::ArrivalWait).map(|stage| stage.figures.mean_ns).sum();
        assert_eq!(waited, MS as f64, "rank {rank}");
    }
    let hint = &analysis.hints()[0];
    assert_eq!((hint.part, hint.remedies[0]), (Part::ArrivalWait, Remedy::Rebalance));
    assert!(hint.evidence.contains("rank 10 100 %"), "{}", hint.evidence);
    let split = analysis.split.unwrap();
    assert_eq!((split.arrival.mean_ns, split.reduce.mean_ns), (MS as f64, 54_000.0));
}

/// The same calls as others whose data go one way: of `operation`, with what is no stamp of that way spoilt.
fn one_way(made: &Made, operation: Operation, costs: &mut dyn Costs) -> Analysis {
    let mut analyzer = Analyzer::new(made.tree.clone(), made.hosts.clone(), clocks(made));
    let store = made.tree.collectors(&made.hosts).iter().position(|at| at.place == Place::Store).unwrap() as u16;
    for sequence in 0..50 {
        let is_kept = |event: &Event| event.subject == Subject::Stage { collector: store, sequence };
        let spoilt = made.call(sequence, costs).into_iter().map(|event| match operation.flow() {
            _ if is_kept(&event) => Event { operation, ..event },
            Some(Flow::ToRoot) => Event { operation, end: event.start, ..event },
            _ => Event { operation, start: event.end, ..event },
        });
        analyzer.take(spoilt);
    }
    let [none, analysis] = &analyzer.analyses()[..] else { panic!("one way, and the usual") };
    assert_eq!((none.n_calls, analysis.n_calls), (0, 50));
    analysis.clone()
}

#[test]
fn of_a_reduce_the_way_to_the_root_is_known() {
    let made = Made::hosts_of(4, 4);
    let mut costs = even(16);
    costs.arrival[10] += MS;
    let both = analysis(&made, 50, &mut costs);
    let analysis = one_way(&made, Operation::REDUCE, &mut costs);
    assert_eq!(analysis.last_arrivals(), both.last_arrivals());
    assert_eq!((analysis.hints()[0].part, analysis.hints()[0].remedies[0]), (Part::ArrivalWait, Remedy::Rebalance));
    for (node, whole) in analysis.nodes.iter().zip(&both.nodes) {
        let means = |of: &NodeFigures| -> Vec<f64> {
            of.wait_by_arrival.iter().chain([&of.down_last]).map(|figures| figures.mean_ns).collect()
        };
        assert_eq!(means(node), means(whole));
        assert_eq!((node.up_first.count, node.up_by_departure[0].count), (0, 0));
        let hops = || node.contributors.iter().filter_map(|own| own.hop.as_ref());
        assert!(hops().all(|hop| hop.span.mean_ns == 50_000.0));
    }
    // Two nodes, a hop and the root's own part; nothing of the way back.
    assert_eq!(analysis.path(15).unwrap().cost.mean_ns, 2.0 * 2_000.0 + 50_000.0 + 300.0);
    assert_eq!(analysis.stages(analysis.path(15).unwrap()).len(), 2 * 2 + 1 + 1);
    let split = analysis.split.unwrap();
    assert_eq!((split.reduce.mean_ns, split.broadcast.count), (both.split.unwrap().reduce.mean_ns, 0));
}

#[test]
fn of_a_broadcast_the_way_from_the_root_is_known() {
    let made = Made::hosts_of(2, 8);
    let mut costs = Even { up: 40_000, hop: 500, ..even(16) };
    let both = analysis(&made, 50, &mut costs);
    let analysis = one_way(&made, Operation::BCAST, &mut costs);
    assert_eq!((analysis.last_arrivals(), analysis.nodes[1].down_last.count), (Vec::new(), 0));
    let ups = |of: &Analysis| of.nodes[1].up_by_departure.iter().map(|up| up.mean_ns).collect::<Vec<_>>();
    assert_eq!(ups(&analysis), ups(&both));
    assert_eq!(analysis.nodes[0].contributors[1].hop.as_ref().unwrap().span.mean_ns, 500.0);
    let hint = &analysis.hints()[0];
    assert_eq!((hint.part, hint.remedies[0]), (Part::DepartureWait, Remedy::LevelInsideHost), "{}", hint.evidence);
    let split = analysis.split.unwrap();
    assert_eq!((split.broadcast.mean_ns, split.arrival.count), (both.split.unwrap().broadcast.mean_ns, 0));
}

#[test]
fn who_is_waited_for_longest_is_named_though_another_is_last_more_often() {
    let made = Made::hosts_of(1, 2);
    let (mut late, mut early) = (even(2), even(2));
    late.arrival[1] += MS;
    early.arrival[0] += 100;
    let mut analyzer = Analyzer::new(made.tree.clone(), made.hosts.clone(), clocks(&made));
    for call in 0..50 {
        analyzer.take(made.call(call, if call % 5 < 2 { &mut late } else { &mut early }));
    }
    let culprit = analyzer.analysis().last_arrivals().pop().unwrap();
    assert_eq!((culprit.from, culprit.n_last, culprit.stands_out), (From::Rank(1), 20, false));
}

#[test]
fn balanced_ranks_name_nobody() {
    let made = Made::hosts_of(4, 4);
    let mut costs = Noisy { chance: ChaCha8Rng::seed_from_u64(7), mean: |_| 5_000.0, spread: 0.9 };
    let analysis = analysis(&made, 400, &mut costs);
    assert!(analysis.last_arrivals().iter().any(|edge| !edge.stands_out), "{:?}", analysis.last_arrivals());
}

#[test]
fn where_a_part_of_the_tree_is_late_and_no_rank_nodes_are_to_be_moved() {
    let made = Made::hosts_of(4, 4);
    // The node of the second host takes long, whoever of its ranks comes last.
    let mean = |node: usize| if node == 2 { 400_000.0 } else { 2_000.0 };
    let mut costs = Noisy { chance: ChaCha8Rng::seed_from_u64(5), mean, spread: 0.5 };
    let analysis = analysis(&made, 400, &mut costs);
    let hints = analysis.hints();
    let wait = hints.iter().find(|hint| hint.part == Part::ArrivalWait).expect("others wait for that node");
    assert_eq!((wait.node, wait.remedies[0]), (0, Remedy::Remap), "{}", wait.evidence);
    assert!(wait.evidence.contains("from the root on: n1 "), "{}", wait.evidence);
}

/// Costs that depend on the first contributor of a node, times a factor by chance.
struct Noisy<F> {
    chance: ChaCha8Rng,
    mean: F,
    spread: f64,
}

impl<F: Fn(usize) -> f64> Noisy<F> {
    fn draw(&mut self, mean: f64) -> u64 {
        (mean * (1.0 + self.spread * self.chance.random_range(-1.0..1.0))) as u64
    }
}

impl<F: Fn(usize) -> f64> Costs for Noisy<F> {
    fn arrival(&mut self, _: u32) -> u64 {
        MS + self.draw(10_000.0)
    }

    fn down(&mut self, node: usize) -> u64 {
        let mean = (self.mean)(node);
        self.draw(mean)
    }

    fn up(&mut self, node: usize, _: usize) -> u64 {
        let mean = (self.mean)(node);
        self.draw(mean)
    }

    fn hop(&mut self, _: usize, _: usize) -> u64 {
        self.draw(50_000.0)
    }

    fn store(&mut self) -> u64 {
        300
    }
}

/// One root, and a node of its own for each rank, so that each thread's cost is its own.
fn threads(n: u32) -> Made {
    let mut nodes = vec![node("root", 0, None, (1..=n as usize).map(Contributor::Node).collect())];
    nodes.extend((0..n).map(|rank| node(&format!("t{rank}"), 0, Some(0), ranks(rank..rank + 1))));
    Made { tree: tree("threads", nodes), hosts: vec![host("4w", None, 0..n)], ahead: vec![0] }
}

#[test]
fn a_tree_whose_twelve_slowest_threads_are_faster_can_still_lose() {
    let made = threads(32);
    let slow = |node: usize| (1..=12).contains(&node);
    let quiet = |node: usize| {
        if node == 0 {
            100.0
        } else if slow(node) {
            50_000.0
        } else {
            20_000.0
        }
    };
    let loud = |node: usize| {
        if node == 0 {
            100.0
        } else if slow(node) {
            49_000.0
        } else {
            47_500.0
        }
    };
    let run = |mean: &dyn Fn(usize) -> f64, spread| {
        let mut costs = Noisy { chance: ChaCha8Rng::seed_from_u64(1), mean, spread };
        analysis(&made, 300, &mut costs)
    };
    let (b, a) = (run(&quiet, 0.05), run(&loud, 0.4));
    let comparison = Comparison::of(&b, &a);
    assert!(comparison.n_slowest_faster >= 12, "{}", comparison.n_slowest_faster);
    assert!(
        comparison.speedup_by_means > 1.0 && comparison.speedup < 0.9 && comparison.means_mislead,
        "{comparison:?}"
    );
    assert_eq!(comparison.verdict, Verdict::Slower);
    assert_eq!(Comparison::of(&b, &b).verdict, Verdict::Undecided);
}

/// One hop takes longer than the others.
struct BadLink(Even, usize, u64);

impl Costs for BadLink {
    fn arrival(&mut self, rank: u32) -> u64 {
        self.0.arrival(rank)
    }

    fn down(&mut self, node: usize) -> u64 {
        self.0.down(node)
    }

    fn up(&mut self, node: usize, departure: usize) -> u64 {
        self.0.up(node, departure)
    }

    fn hop(&mut self, _: usize, contributor: usize) -> u64 {
        self.0.hop * if contributor == self.1 { self.2 } else { 1 }
    }

    fn store(&mut self) -> u64 {
        self.0.store()
    }
}

#[test]
fn a_bad_link_is_found_with_what_the_kernel_says() {
    let made = Made::hosts_of(10, 1);
    let analysis = analysis(&made, 40, &mut BadLink(even(10), 6, 54));
    let mut kernel = KernelLog::default();
    for (at_ns, forced_switches) in [(0, 10), (5 * MS, 910)] {
        // Rank 6 is alone on the host behind the bad link.
        let sample = KernelNote { monotonic_ns: at_ns, forced_switches, ..KernelNote::default() };
        kernel.take(6, &Alignment::default(), sample);
    }
    let outliers = analysis.outliers(&kernel);
    let [found] = &outliers[..] else { panic!("{outliers:?}") };
    assert_eq!((found.node, found.contributor, found.factor), (0, Some(6), 54.0));
    let told: Vec<_> = found.kernel.iter().map(|(host, kernel)| (host.as_str(), kernel.n_forced_switches)).collect();
    assert_eq!((found.against, told), (Against::Peers, vec![("host-6", 900)]));
    assert_eq!(analysis.hints()[0].part, Part::Hop);
}

#[test]
fn paths_are_grouped_by_their_hops_and_fast_groups_are_dropped() {
    let made = Made::hosts_of(4, 3);
    let analysis = analysis(&made, 20, &mut even(12));
    let groups = analysis.groups();
    assert!(groups[0].n_hops == 1 && !groups[0].is_fast && !groups[0].ranks.contains(&0), "{groups:?}");
    assert!(groups.iter().all(|group| group.is_fast == (group.n_hops == 0)), "{groups:?}");
    assert_eq!(groups.iter().map(|group| group.ranks.len()).sum::<usize>(), 12);
    let path = analysis.path(groups[0].representative).unwrap();
    assert_eq!(analysis.costs(path).lan_ns, 100_000.0);
}

#[test]
fn each_symptom_has_its_remedy() {
    let check_on = |made: &Made, costs: Even, part, remedy| {
        let hint = &analysis(made, 10, &mut { costs }).hints()[0];
        assert_eq!((hint.part, hint.remedies.first().copied()), (part, remedy), "{}", hint.evidence);
        // Figures of this run, and nothing of one that was not made.
        assert!(
            hint.evidence.contains("in 10 calls") && hint.evidence.contains(" % of the way of rank"),
            "{}",
            hint.evidence
        );
    };
    let check = |costs, part, remedy| check_on(&Made::hosts_of(2, 8), costs, part, remedy);
    let quick = || Even { hop: 500, ..even(16) };
    // Nobody waits for a turn where each node has one contributor.
    check_on(&threads(1), Even { up: 40_000, ..quick() }, Part::Up, Some(Remedy::Wake));
    check(Even { down: 100_000, ..quick() }, Part::Down, Some(Remedy::Deeper));
    check(Even { up: 40_000, ..quick() }, Part::DepartureWait, Some(Remedy::LevelInsideHost));
    check(Even { hop: 900_000, ..quick() }, Part::Hop, Some(Remedy::Broader));
    check(Even { store: 900_000, ..quick() }, Part::Store, None);
}
