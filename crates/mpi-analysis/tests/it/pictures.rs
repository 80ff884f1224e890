//! What pictures show. They are written to the folder that `PICTURES` names, to be looked at.

use mpi_analysis::draw::{Waits, compared_pathmap, last_arrival_tree, pathmap, serialization, timeline};
use mpi_analysis::{Analysis, Analyzer, Part, to_csv};
use mpi_trace::file::{Clock, Head, RingNote};
use mpi_trace::{Event, Operation, Peer, Recorded, Recording, RingKind, Subject, Timeline};
use mpi_tree::Contributor;
use picture::{Colour, Picture, Shape};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::made::{Costs, Made, host, node, ranks, tree};

fn keep(name: &str, picture: &Picture) {
    if let Ok(folder) = std::env::var("PICTURES") {
        std::fs::write(format!("{folder}/{name}.png"), picture.to_png(1.0).unwrap()).unwrap();
    }
}

struct Cluster(ChaCha8Rng);

impl Cluster {
    fn about(&mut self, mean: f64) -> u64 {
        (mean * self.0.random_range(0.7..1.3)) as u64
    }
}

impl Costs for Cluster {
    fn arrival(&mut self, rank: u32) -> u64 {
        let late = if rank == 21 && self.0.random_bool(0.8) { 180_000.0 } else { 0.0 };
        1_000_000 + self.about(60_000.0 + late)
    }

    fn down(&mut self, _: usize) -> u64 {
        self.about(2_000.0)
    }

    fn up(&mut self, _: usize, departure: usize) -> u64 {
        self.about(4_000.0 + 6_000.0 * departure as f64)
    }

    fn hop(&mut self, _: usize, contributor: usize) -> u64 {
        self.about(if contributor == 2 { 90_000.0 } else { 40_000.0 })
    }

    fn store(&mut self) -> u64 {
        400
    }
}

fn run(made: &Made) -> Analysis {
    let mut analyzer = Analyzer::new(made.tree.clone(), made.hosts.clone(), Vec::new());
    let mut costs = Cluster(ChaCha8Rng::seed_from_u64(3));
    (0..300).for_each(|call| analyzer.take(made.call(call, &mut costs)));
    analyzer.analysis()
}

/// Four hosts of eight ranks in pairs of pairs: another level inside each host.
fn deep() -> Made {
    let mut made = Made::hosts_of(4, 8);
    for of_host in 0..4_usize {
        let first = 8 * of_host as u32;
        let halves = [first..first + 4, first + 4..first + 8].map(|half| {
            made.tree.nodes.push(node(&format!("n{of_host}-{}", half.start), of_host, Some(of_host + 1), ranks(half)));
            Contributor::Node(made.tree.nodes.len() - 1)
        });
        made.tree.nodes[of_host + 1].contributors = halves.to_vec();
    }
    made.tree.name = "three-level".into();
    made
}

#[test]
fn a_pathmap_has_a_line_for_each_rank_that_spans_its_mean_time() {
    let (wide, deep) = (run(&Made::hosts_of(4, 8)), run(&deep()));
    keep("pathmap-waits", &pathmap(&wide, Waits::Drawn));
    keep("pathmap", &pathmap(&wide, Waits::LeftOut));
    keep("pathmap-deep", &pathmap(&deep, Waits::LeftOut));
    keep("compared", &compared_pathmap(&[("two levels", &wide), ("three levels", &deep)], 21, Waits::LeftOut));
    let tracks = |picture: &Picture| {
        let is_track = |shape: &&Shape| matches!(shape, Shape::Line { places, .. } if places.len() > 2);
        picture.shapes.iter().filter(is_track).count()
    };
    assert_eq!(tracks(&pathmap(&wide, Waits::Drawn)), 32);
    assert_eq!(tracks(&compared_pathmap(&[("a", &wide), ("b", &deep)], 21, Waits::Drawn)), 2);
    let svg = pathmap(&deep, Waits::LeftOut).to_svg();
    assert!(svg.contains("three-level, 300 calls") && svg.contains("mean time (us)"), "{svg}");
}

#[test]
fn a_pathmap_marks_the_stage_of_the_first_hint() {
    let wide = run(&Made::hosts_of(4, 8));
    let marked = |waits| {
        let picture = pathmap(&wide, waits);
        let is_mark = |shape: &&Shape| matches!(shape, Shape::Line { width, .. } if *width > 5.0);
        (picture.shapes.iter().filter(is_mark).count(), picture.to_svg())
    };
    let first = &wide.hints()[0];
    assert_eq!(first.part, Part::ArrivalWait);
    let (n, svg) = marked(Waits::Drawn);
    assert!(n == 1 && svg.contains("hotspot: arrival wait at "), "{n} {svg}");
    // A hop is passed on both ways.
    let (n, svg) = marked(Waits::LeftOut);
    assert!(n == 2 && svg.contains("hotspot: hop at root, 179 us"), "{n} {svg}");
}

#[test]
fn serialization_compares_nodes_of_several_runs() {
    let (wide, deep) = (run(&Made::hosts_of(4, 8)), run(&deep()));
    let picture = serialization(&[("flat", &wide), ("levels", &deep)], &["n1", "n1-8", "root"]);
    keep("serialization", &picture);
    let svg = picture.to_svg();
    assert!(["flat: n1<", "levels: n1-8<", "flat: root<"].iter().all(|name| svg.contains(name)), "{svg}");
}

#[test]
fn the_heaviest_path_is_drawn_in_another_colour() {
    let wide = run(&Made::hosts_of(4, 8));
    let picture = last_arrival_tree(&wide);
    keep("last-arrival", &picture);
    let is_heavy = |shape: &&Shape| matches!(shape, Shape::Line { colour: Colour::FIT, .. });
    assert_eq!(picture.shapes.iter().filter(is_heavy).count(), 2);
    assert!(picture.to_svg().contains("ends in rank 21."));
    keep("last-arrival-small", &last_arrival_tree(&run(&small())));
}

fn small() -> Made {
    let nodes = vec![node("root", 0, None, ranks(0..22))];
    Made { tree: tree("flat", nodes), hosts: vec![host("one", None, 0..22)], ahead: vec![0] }
}

fn recording(rank: u32, calls: &[(u64, u64)]) -> Recording {
    let head = Head {
        version: mpi_trace::file::VERSION,
        rank,
        n_ranks: 4,
        host: "one".into(),
        pid: 1 + rank,
        program: "made".into(),
        library: "none".into(),
    };
    let note = RingNote {
        ring: 0,
        kind: RingKind::Calls,
        thread: 0,
        clock: Clock::Monotonic,
        ticks: 0,
        monotonic_ns: 0,
        tree: None,
    };
    let event = |&(start, end): &(u64, u64)| Event {
        start,
        end,
        bytes: 8,
        operation: Operation::ALLREDUCE,
        is_failed: false,
        subject: Subject::Call { communicator: 0, peer: Peer::None, tag: None },
    };
    let mut recording = Recording::new(head);
    recording.rings.push(Recorded { note, n_lost: 0, events: calls.iter().map(event).collect() });
    recording
}

#[test]
fn the_timeline_is_green_where_ranks_compute_and_red_where_they_wait() {
    let mut chance = ChaCha8Rng::seed_from_u64(5);
    let of_rank = |rank, chance: &mut ChaCha8Rng| {
        let calls: Vec<(u64, u64)> = (1..40_u64)
            .map(|turn| (turn * 1_000_000 - chance.random_range(100_000..700_000), turn * 1_000_000))
            .collect();
        recording(rank, &calls)
    };
    let recordings: Vec<Recording> = (0..4).map(|rank| of_rank(rank, &mut chance)).collect();
    keep("timeline", &timeline(&Timeline::of(&recordings), Some((0, 40_000_000))));

    let two = [recording(0, &[(0, 250), (750, 1_000)]), recording(1, &[(0, 1_000)])];
    let picture = timeline(&Timeline::of(&two), None);
    let bars = |wanted: Colour| {
        let is_bar =
            |shape: &&Shape| matches!(shape, Shape::Line { colour, width, .. } if *colour == wanted && *width > 5.0);
        picture.shapes.iter().filter(is_bar).count()
    };
    assert_eq!((bars(Colour(0x00, 0x9e, 0x73)), bars(Colour(0xd5, 0x1a, 0x1a))), (1, 3));
}

#[test]
fn who_comes_last_is_told_without_a_tree() {
    let recordings = [
        recording(0, &[(0, 100), (200, 300)]),
        recording(1, &[(50, 100), (210, 300)]),
        recording(2, &[(10, 100), (290, 300)]),
    ];
    let recordings: Vec<Recording> = recordings.into_iter().chain([recording(3, &[(20, 100), (220, 300)])]).collect();
    let timeline = Timeline::of(&recordings);
    let arrivals = mpi_analysis::arrivals(&timeline, &mpi_trace::Matching::of(&timeline));
    let ranks = &arrivals[&Operation::ALLREDUCE];
    assert_eq!((ranks[&1].arrived.clone(), ranks[&1].kept_waiting_ns), (vec![0, 1, 0, 1], 50 + 40 + 30));
    assert_eq!((ranks[&0].arrived[0], ranks[&0].waited_ns), (2, 50 + 90));
}

#[test]
fn the_table_tells_who_was_last_and_what_to_try() {
    let wide = run(&Made::hosts_of(4, 8));
    let table = wide.table(&mpi_analysis::KernelLog::default());
    keep_text("table", &table);
    for said in ["300 calls analyzed, 32 ranks, 5 nodes", "rank 21", "8 like rank", "hop from host-2 (n2)", "hint: "] {
        assert!(table.contains(said), "{said} in\n{table}");
    }
    let csv = to_csv(std::slice::from_ref(&wide));
    assert!(csv.lines().all(|line| line.split(',').count() == 11), "{csv}");
    // Of each node two rows, one more of the root, five of each of 36 contributors, and three hops.
    assert_eq!(csv.lines().count(), 1 + 5 * 2 + 1 + 36 * 5 + 3);
}

fn keep_text(name: &str, text: &str) {
    if let Ok(folder) = std::env::var("PICTURES") {
        std::fs::write(format!("{folder}/{name}.txt"), text).unwrap();
    }
}
