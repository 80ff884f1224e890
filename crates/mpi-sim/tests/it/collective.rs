//! Collective operations by messages give what they would without, at 1 to 33 ranks.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Mutex;

use des::Protocol;
use mpi_sim::collective::{Algorithm, Block, Combine, Group, Rules};
use mpi_sim::machine::{Description, Machine, MachineError};
use mpi_sim::user::{self, Contexts};
use mpi_sim::{Settings, Stopped, World};
use mpi_tree::{Between, FanIn, Forest, Grain, Host, Layout, Order, Rule, Shape, Tree, Wake};

use units::SimDuration;

/// Runs `call` on groups of 1 to 33 with a few lengths of each member's data, by the rules of MPICH and of Open MPI;
/// the algorithms that ran.
fn check(
    lengths: &[usize],
    call: impl Fn(&mut Group<'_, '_, Contexts>, usize, usize) -> Result<Algorithm, Stopped> + Sync,
) -> [Vec<&'static str>; 2] {
    [Rules::Mpich, Rules::OpenMpi].map(|rules| {
        let ran = (1..=33).flat_map(|n| check_on(ruled(n, rules), lengths, &call));
        ran.collect::<BTreeSet<_>>().into_iter().collect()
    })
}

/// Runs `call` among all ranks of a machine with a few lengths; the algorithms that ran.
fn check_on(
    machine: Machine,
    lengths: &[usize],
    call: impl Fn(&mut Group<'_, '_, Contexts>, usize, usize) -> Result<Algorithm, Stopped> + Sync,
) -> BTreeSet<&'static str> {
    let ran = Mutex::new(BTreeSet::new());
    let n = machine.n_ranks();
    let world = World::new(machine, SETTINGS);
    // Places differ from ranks.
    let members: Vec<u32> = (0..n).rev().collect();
    user::run(&world, 256 * 1024, |rank| {
        let me = (n - 1 - rank.me()) as usize;
        let mut group = Group::new(rank, &members, 5).unwrap();
        for length in lengths {
            let algorithm = call(&mut group, me, *length)?;
            ran.lock().unwrap().insert(algorithm.name());
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(world.hold().stopped(), None, "{n} ranks");
    ran.into_inner().unwrap()
}

const SETTINGS: Settings =
    Settings { protocol: Protocol::Sequential, n_workers: NonZero::<u32>::MIN, has_unique_tags: false };

fn ruled(n_ranks: u32, rules: Rules) -> Machine {
    Machine::new(&Description::read(&described(n_ranks, rules)).unwrap(), n_ranks).unwrap()
}

fn described(n_ranks: u32, rules: Rules) -> String {
    format!(
        "format = 1\ncollectives = '{rules}'\n[[site]]\nname = 'here'\nnodes = {n_ranks}\ncores = 1\n\
         [level.cluster]\nlatency = '1us'\nbandwidth = '8Gbit/s'\neager-limit = '1KB'\n"
    )
}

/// Byte `idx` of what a member has for another.
fn byte(member: usize, other: usize, idx: usize) -> u8 {
    (member * 31 + other * 7 + idx) as u8
}

fn data(member: usize, length: usize) -> Block {
    Block::Bytes((0..length).map(|idx| byte(member, 0, idx)).collect())
}

/// One after the other.
fn joined(parts: impl IntoIterator<Item = Block>) -> Block {
    Block::Bytes(parts.into_iter().flat_map(|part| part.bytes().to_vec()).collect())
}

fn sum(into: &mut [u8], other: &[u8]) {
    into.iter_mut().zip(other).for_each(|(into, other)| *into = into.wrapping_add(*other));
}

const SUM: Combine<'static> = Combine { value_bytes: 1, with: &sum };

fn total(n: usize, length: usize) -> Block {
    let mut total = vec![0; length];
    (0..n).for_each(|member| sum(&mut total, data(member, length).bytes()));
    total.into()
}

fn broadcast(group: &mut Group<'_, '_, Contexts>, me: usize, length: usize) -> Result<Algorithm, Stopped> {
    let length = if group.n_members() > 14 { length.min(20_001) } else { length };
    let root = length % group.n_members();
    let mut own = if me == root { data(root, length) } else { vec![0; length].into() };
    let algorithm = group.broadcast(root, &mut own)?;
    assert_eq!(own, data(root, length));
    Ok(algorithm)
}

fn reduce(group: &mut Group<'_, '_, Contexts>, me: usize, length: usize) -> Result<Algorithm, Stopped> {
    let (root, n) = (length % group.n_members(), group.n_members());
    let mut own = data(me, length);
    let algorithm = group.reduce(root, &mut own, &SUM)?;
    if me == root {
        assert_eq!(own, total(n, length));
    }
    Ok(algorithm)
}

fn allreduce(group: &mut Group<'_, '_, Contexts>, me: usize, length: usize) -> Result<Algorithm, Stopped> {
    let n = group.n_members();
    let mut own = data(me, length);
    let algorithm = group.allreduce(&mut own, &SUM)?;
    assert_eq!(own, total(n, length));
    Ok(algorithm)
}

fn allgather(group: &mut Group<'_, '_, Contexts>, me: usize, length: usize) -> Result<Algorithm, Stopped> {
    let n = group.n_members();
    let mut all = joined((0..n).map(|member| if member == me { data(me, length) } else { vec![0; length].into() }));
    let algorithm = group.allgather(&mut all)?;
    let expected = joined((0..n).map(|member| data(member, length)));
    assert_eq!(all, expected);
    Ok(algorithm)
}

fn alltoall(group: &mut Group<'_, '_, Contexts>, me: usize, length: usize) -> Result<Algorithm, Stopped> {
    let n = group.n_members();
    let length = if n > 5 { length.min(400) } else { length };
    let sent: Vec<u8> = (0..n).flat_map(|to| (0..length).map(move |idx| byte(me, to, idx))).collect();
    let (got, algorithm) = group.alltoall(&sent.into())?;
    let expected: Vec<u8> = (0..n).flat_map(|from| (0..length).map(move |idx| byte(from, me, idx))).collect();
    assert_eq!(got, Block::Bytes(expected));
    Ok(algorithm)
}

fn gather_and_scatter(group: &mut Group<'_, '_, Contexts>, me: usize, length: usize) -> Result<Algorithm, Stopped> {
    let length = if group.n_members() > 9 { length.min(7_000) } else { length };
    let (root, n) = (length % group.n_members(), group.n_members());
    let all = joined((0..n).map(|member| data(member, length)));
    let (gathered, algorithm) = group.gather(root, &data(me, length))?;
    assert_eq!(gathered, if me == root { all.clone() } else { Vec::new().into() });
    let (own, of_scatter) = group.scatter(root, &if me == root { all } else { Vec::new().into() }, length)?;
    assert_eq!(algorithm == Algorithm::Tree, of_scatter == Algorithm::Tree);
    assert_eq!(own, data(me, length));
    Ok(algorithm)
}

fn reduce_scatter(group: &mut Group<'_, '_, Contexts>, me: usize, length: usize) -> Result<Algorithm, Stopped> {
    let n = group.n_members();
    let mut all = joined((0..n).map(|member| data(member, length)));
    let (own, algorithm) = group.reduce_scatter(&mut all, &SUM)?;
    let expected: Vec<u8> = data(me, length).bytes().iter().map(|byte| byte.wrapping_mul(n as u8)).collect();
    assert_eq!(own, Block::Bytes(expected));
    Ok(algorithm)
}

fn scan(group: &mut Group<'_, '_, Contexts>, me: usize, length: usize) -> Result<Algorithm, Stopped> {
    let mut own = data(me, length);
    group.scan(&mut own, &SUM, true)?;
    assert_eq!(own, total(me + 1, length));
    let mut own = data(me, length);
    let algorithm = group.scan(&mut own, &SUM, false)?;
    assert_eq!(own, if me == 0 { data(0, length) } else { total(me, length) });
    Ok(algorithm)
}

fn barrier(group: &mut Group<'_, '_, Contexts>, me: usize, _: usize) -> Result<Algorithm, Stopped> {
    group.rank().sleep(SimDuration::from_nanos(me as u64 * 10_000));
    let latest = (group.n_members() as u64 - 1) * 10_000;
    let algorithm = group.barrier()?;
    assert!(group.rank().now().as_nanos() >= latest);
    Ok(algorithm)
}

#[test]
fn a_broadcast_brings_the_roots_data_to_all() {
    let ran = check(&[0, 5, 20_001, 400_001], broadcast);
    assert_eq!(ran, [vec!["binomial", "scatter-ring"], vec!["binomial", "pipeline", "split-binary"]]);
}

#[test]
fn sums_are_right_at_the_root() {
    let ran = check(&[0, 5, 3_001, 21_000], reduce);
    assert_eq!(ran, [vec!["binomial"], vec!["binary", "binomial", "linear", "pipeline"]]);
}

#[test]
fn sums_are_right_everywhere() {
    let ran = check(&[0, 5, 3_001, 11_000], allreduce);
    assert_eq!(ran, [vec!["recursive-doubling", "reduce-scatter-allgather"], vec!["recursive-doubling", "ring"]]);
}

#[test]
fn sums_too_large_for_one_round_and_of_few_values_are_right_by_open_mpi_s_rules() {
    // More than a MiB for each member; and one value, of a length that is not to be cut.
    for (n, length, value_bytes, name) in
        [(3, (3 << 20) + 5, 1, "segmented-ring"), (4, 12_000, 12_000, "reduce-broadcast"), (2, 40_000, 8, "ring")]
    {
        let world = World::new(ruled(n, Rules::OpenMpi), SETTINGS);
        let members: Vec<u32> = (0..n).collect();
        user::run(&world, 256 * 1024, |rank| {
            let mut own = data(rank.me() as usize, length);
            let algorithm =
                Group::new(rank, &members, 5).unwrap().allreduce(&mut own, &Combine { value_bytes, with: &sum })?;
            assert_eq!(algorithm.name(), name);
            assert!(own == total(n as usize, length), "{name}");
            Ok(())
        })
        .unwrap();
        assert_eq!(world.hold().stopped(), None);
    }
}

#[test]
fn blocks_come_to_all_and_from_all() {
    let ran = check(&[0, 3, 2_600], allgather);
    let mpich = vec!["bruck", "recursive-doubling", "ring"];
    assert_eq!(ran, [mpich, vec!["bruck", "neighbour-exchange", "recursive-doubling", "ring"]]);
    let ran = check(&[0, 3, 300, 33_000], alltoall);
    assert_eq!(ran, [["bruck", "pairwise", "spread"]; 2]);
}

#[test]
fn each_member_gets_its_part() {
    let ran = check(&[0, 3, 400, 7_000, 93_000], gather_and_scatter);
    assert_eq!(ran, [vec!["binomial"], vec!["binomial", "linear", "linear-in-turn"]]);
    let ran = check(&[0, 3, 17_000], reduce_scatter);
    assert_eq!(ran, [["pairwise", "recursive-halving"], ["recursive-halving", "ring"]]);
}

#[test]
fn scans_hold_what_came_before() {
    let ran = check(&[0, 5], scan);
    assert_eq!(ran, [["recursive-doubling"], ["linear"]]);
}

#[test]
fn parts_may_differ_in_length() {
    let ran = check(&[0, 5], |group, me, length| {
        let (root, n) = (length % group.n_members(), group.n_members());
        let part = |member: usize| data(member, length * (member % 4));
        let all: Vec<Block> = (0..n).map(part).collect();
        let (gathered, _) = group.gather_parts(root, &part(me))?;
        assert_eq!(gathered, if me == root { all.clone() } else { Vec::new() });
        let (own, _) = group.scatter_parts(root, if me == root { &all } else { &[] })?;
        assert_eq!(own, part(me));
        let (everywhere, _) = group.allgather_parts(&part(me))?;
        assert_eq!(everywhere, all);
        let sent = (0..n).map(|to| vec![byte(me, to, 0); length * (to % 3)].into()).collect();
        let (got, algorithm) = group.alltoall_parts(sent)?;
        let expected: Vec<Block> = (0..n).map(|from| vec![byte(from, me, 0); length * (me % 3)].into()).collect();
        assert_eq!(got, expected);
        Ok(algorithm)
    });
    assert_eq!(ran, [["spread"]; 2]);
}

#[test]
fn data_of_which_only_the_size_is_there_take_as_long() {
    type Call = fn(&mut Group<'_, '_, Contexts>, Block, Block) -> Result<Algorithm, Stopped>;
    let calls: [Call; 9] = [
        |group, mut own, _| group.broadcast(0, &mut own),
        |group, mut own, _| group.reduce(0, &mut own, &SUM),
        |group, mut own, _| group.allreduce(&mut own, &SUM),
        |group, _, mut all| group.allgather(&mut all),
        |group, _, all| group.alltoall(&all).map(|(_, algorithm)| algorithm),
        |group, own, _| group.gather(0, &own).map(|(_, algorithm)| algorithm),
        |group, own, all| group.scatter(0, &all, own.len()).map(|(_, algorithm)| algorithm),
        |group, _, mut all| group.reduce_scatter(&mut all, &SUM).map(|(_, algorithm)| algorithm),
        |group, mut own, _| group.scan(&mut own, &SUM, false),
    ];
    let machines = |n| {
        let trees = LAYOUTS.map(|layout| treed(n, &scattered(n, layout)));
        [ruled(n, Rules::Mpich), ruled(n, Rules::OpenMpi)].into_iter().chain(trees)
    };
    for machine in [1, 2, 7, 8, 12, 33].into_iter().flat_map(machines) {
        let n = machine.n_ranks();
        let took = |block: fn(usize) -> Block, call: Call, length: usize| {
            let world = World::new(machine.clone(), SETTINGS);
            let members: Vec<u32> = (0..n).collect();
            user::run(&world, 256 * 1024, |rank| {
                let mut group = Group::new(rank, &members, 5).unwrap();
                call(&mut group, block(length), block(length * n as usize)).map(drop)
            })
            .unwrap();
            let world = world.hold();
            assert_eq!(world.stopped(), None);
            (0..n).map(|rank| world.clock(rank)).collect::<Vec<_>>()
        };
        for (call, length) in calls.iter().flat_map(|call| [(call, 0), (call, 300), (call, 20_000)]) {
            assert_eq!(
                took(|size| vec![0; size].into(), *call, length),
                took(Block::Size, *call, length),
                "{n} {length}"
            );
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    let ran = check(&[0], barrier);
    assert_eq!(ran, [vec!["dissemination"], vec!["dissemination", "recursive-doubling"]]);
}

type Checked = fn(&mut Group<'_, '_, Contexts>, usize, usize) -> Result<Algorithm, Stopped>;

#[test]
fn algorithms_that_the_machine_file_names_give_the_same() {
    let of_calls: [(&str, Checked, &[&str]); 10] = [
        ("barrier", barrier, &["dissemination", "recursive-doubling"]),
        ("bcast", broadcast, &["binomial", "scatter-ring", "split-binary", "pipeline"]),
        ("reduce", reduce, &["linear", "binomial", "binary", "pipeline"]),
        (
            "allreduce",
            allreduce,
            &["recursive-doubling", "reduce-scatter-allgather", "ring", "segmented-ring", "reduce-broadcast"],
        ),
        ("allgather", allgather, &["recursive-doubling", "bruck", "neighbour-exchange", "ring"]),
        ("alltoall", alltoall, &["bruck", "spread", "pairwise"]),
        ("gather", gather_and_scatter, &["linear", "linear-in-turn", "binomial"]),
        ("scatter", gather_and_scatter, &["linear", "binomial"]),
        ("reduce_scatter", reduce_scatter, &["recursive-halving", "pairwise", "ring"]),
        ("scan", scan, &["recursive-doubling", "linear"]),
    ];
    for (call, checked, algorithms) in of_calls {
        for algorithm in algorithms {
            for n in 1..=33_u32 {
                let table = format!("[[collective]]\ncall = '{call}'\nalgorithm = '{algorithm}'\n");
                let text = described(n, Rules::Mpich) + &table;
                let machine = Machine::new(&Description::read(&text).unwrap(), n).unwrap();
                let ran = check_on(machine, &[0, 1, 3_001], checked);
                let is_possible = match *algorithm {
                    "recursive-doubling" if call == "barrier" || call == "allgather" => n.is_power_of_two(),
                    "neighbour-exchange" => n % 2 == 0,
                    // What is checked tells the gather's.
                    _ => call != "scatter",
                };
                assert!(
                    !is_possible || ran == BTreeSet::from([*algorithm]),
                    "{call} by {algorithm} among {n}: {ran:?}"
                );
            }
        }
    }
}

#[test]
fn a_named_algorithm_is_for_its_sizes_and_communicators() {
    let tables = "[[collective]]\ncall = 'allreduce'\nalgorithm = 'ring'\nfrom = '100B'\nto = '200B'\nranks = [4, 6]\n\
                  [[collective]]\ncall = 'allreduce'\nalgorithm = 'segmented-ring'\nfrom = '200B'\nsegment = '7B'\n";
    let ran = |n: u32, length| {
        let described = Description::read(&(described(n, Rules::OpenMpi) + tables)).unwrap();
        assert_eq!(
            described.algorithms(),
            "allreduce from 100B to 200B among 4 to 6 ranks by ring; \
             allreduce from 200B by segmented-ring in segments of 7B; \
             else Open MPI's, by its fixed rules up to version 4.0"
        );
        let ran = check_on(Machine::new(&described, n).unwrap(), &[length], allreduce);
        ran.into_iter().collect::<Vec<_>>()
    };
    for (n, length, expected) in [
        (3, 100, "recursive-doubling"),
        (4, 99, "recursive-doubling"),
        (4, 100, "ring"),
        (6, 200, "ring"),
        (7, 200, "segmented-ring"),
        (6, 201, "segmented-ring"),
    ] {
        assert_eq!(ran(n, length), [expected], "{length} bytes among {n}");
    }
}

#[test]
fn tables_that_no_call_fits_are_refused() {
    let told = |table: &str| {
        let text = described(2, Rules::Mpich) + "[[collective]]\n" + table;
        Description::read(&text).unwrap_err().to_string()
    };
    let unknown = told("call = 'allgatherv'\nalgorithm = 'ring'");
    assert!(unknown.contains("`allgatherv`") && unknown.contains("`reduce_scatter`"), "{unknown}");
    let unknown = told("call = 'scatter'\nalgorithm = 'ring'");
    assert!(unknown.contains("`scatter` has no algorithm `ring`: write linear, binomial, or a tree"), "{unknown}");
    let ring = |more: &str| told(&format!("call = 'allreduce'\nalgorithm = 'ring'\n{more}"));
    assert!(ring("from = '2B'\nto = '1B'").ends_with("is 1B: write as much as `from` or more"));
    assert!(ring("ranks = [0, 2]").contains("is [0, 2]: write the least, 1 or more"));
    assert!(ring("ranks = [3, 2]").contains("is [3, 2]"));
    assert!(ring("segment = '1KiB'").contains("does not cut data"));
    assert!(told("call = 'bcast'\nalgorithm = 'pipeline'\nsegment = '0B'").ends_with("write 1B or more"));
    assert!(ring("size = '1KiB'").contains("size"));
    let many = "[[collective]]\ncall = 'scan'\nalgorithm = 'linear'\n".repeat(257);
    let told = Description::read(&(described(2, Rules::Mpich) + &many)).unwrap_err().to_string();
    assert!(told.ends_with("is 257: write at most 256 tables"), "{told}");
}

/// Layouts that differ in all that decides who sends to whom.
const LAYOUTS: [(Shape, Grain, Between); 4] = [
    (Shape::Flat, Grain::Host, Between::Reduce),
    (Shape::Binomial, Grain::Rank, Between::AllToAll),
    (Shape::Binomial, Grain::Host, Between::AllToAll),
    (Shape::Flat, Grain::Rank, Between::Reduce),
];

/// Trees over hosts of two clusters, whose ranks are dealt round.
fn scattered(n_ranks: u32, (shape, grain, between): (Shape, Grain, Between)) -> String {
    let n_hosts = n_ranks.min(5);
    let host = |at: u32| Host {
        name: format!("h{at}"),
        cluster: Some(if at.is_multiple_of(2) { "even" } else { "odd" }.to_owned()),
        ranks: (at..n_ranks).step_by(n_hosts as usize).collect(),
    };
    let hosts: Vec<Host> = (0..n_hosts).map(host).collect();
    let inside = FanIn::new(2);
    let layout = Layout { shape, grain, inside, between, order: Order::Fixed, wake: Wake::Spin };
    let trees = vec![Tree::make("all", &hosts, &layout)];
    let rules = vec![Rule { operation: None, bytes_max: None, tree: 0 }];
    Forest { epoch: 0, hosts, trees, rules }.to_text()
}

const CARRIED: [&str; 6] = ["barrier", "bcast", "reduce", "allreduce", "gather", "scatter"];

/// A machine all of whose calls that trees carry go over those of a file.
fn treed(n_ranks: u32, trees: &str) -> Machine {
    let table = |call| format!("[[collective]]\ncall = '{call}'\nalgorithm = 'tree.toml'\n");
    Machine::new(&read(n_ranks, trees, &CARRIED.map(table).concat()).unwrap(), n_ranks).unwrap()
}

fn read(n_ranks: u32, trees: &str, tables: &str) -> Result<Description, MachineError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tree.toml"), trees).unwrap();
    let mut described = Description::read(&(described(n_ranks, Rules::Mpich) + tables))?;
    described.read_trees(folder.path())?;
    Ok(described)
}

/// All calls that trees carry.
fn carried(group: &mut Group<'_, '_, Contexts>, me: usize, length: usize) -> Result<Algorithm, Stopped> {
    for call in [barrier, broadcast, reduce, allreduce, gather_and_scatter] {
        let algorithm = call(group, me, length)?;
        assert_eq!(algorithm.name(), "tree");
    }
    Ok(Algorithm::Tree)
}

#[test]
fn calls_over_trees_give_the_same() {
    for layout in LAYOUTS {
        for n in 1..=33 {
            check_on(treed(n, &scattered(n, layout)), &[0, 5, 3_001], carried);
        }
    }
}

/// Nodes whose servers do not contribute to them, and servers that serve each other.
const CROSSED: &str = r#"
format = 1
[[host]]
name = "a"
ranks = "0,3"
[[host]]
name = "b"
ranks = "1-2"
[[tree]]
name = "crossed"
[[tree.node]]
name = "of-a"
host = "a"
contributors = ["1"]
[[tree.node]]
name = "of-b"
host = "b"
contributors = ["3", "of-a"]
[[tree.node]]
name = "top"
host = "a"
contributors = ["2", "of-b", "0"]
[[rule]]
operation = "*"
tree = "crossed"
"#;

#[test]
fn servers_that_serve_each_other_do_not_wait_for_each_other() {
    check_on(treed(4, CROSSED), &[0, 5, 1_002, 3_001, 3_003, 3_004], carried);
}

#[test]
fn a_tree_takes_a_message_each_way() {
    let trees = CROSSED.replace("\"0,3\"", "\"0\"").replace("\"1-2\"", "\"1\"");
    let node = "[[tree.node]]\nname = 'top'\nhost = 'a'\ncontributors = ['0-1']\n";
    let from = trees.find("[[tree.node]]").unwrap()..trees.find("[[rule]]").unwrap();
    let trees = [&trees[..from.start], node, &trees[from.end..]].concat();
    let world = World::new(treed(2, &trees), SETTINGS);
    user::run(&world, 256 * 1024, |rank| {
        Group::new(rank, &[0, 1], 5).unwrap().barrier().map(|algorithm| assert_eq!(algorithm, Algorithm::Tree))
    })
    .unwrap();
    let world = world.hold();
    assert_eq!([0, 1].map(|rank| world.clock(rank).as_nanos()), [1_000, 2_000]);
}

#[test]
fn smaller_communicators_do_not_go_over_the_tree() {
    let world = World::new(treed(4, CROSSED), SETTINGS);
    user::run(&world, 256 * 1024, |rank| {
        if let Some(mut group) = Group::new(rank, &[0, 1, 3], 5) {
            assert_eq!(group.barrier()?.name(), "dissemination");
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(world.hold().stopped(), None);
}

#[test]
fn tree_files_that_do_not_fit_are_refused() {
    let told = |n_ranks, trees: &str, table: &str| {
        let described = read(n_ranks, trees, &format!("[[collective]]\n{table}"));
        described.and_then(|described| Machine::new(&described, n_ranks)).unwrap_err().to_string()
    };
    let bcast = "call = 'bcast'\nalgorithm = 'tree.toml'\n";
    let other = told(5, CROSSED, bcast);
    assert!(other.contains("the tree file `tree.toml` of `bcast` does not fit") && other.contains('5'), "{other}");
    assert!(told(4, CROSSED, &format!("{bcast}ranks = [5, 8]")).contains("as many ranks as the trees have"));
    assert!(told(4, CROSSED, &format!("{bcast}segment = '1KiB'")).contains("does not cut data"));
    assert!(
        told(4, &CROSSED.replace("operation = \"*\"", "operation = \"reduce\""), bcast).contains("no rule for `bcast`")
    );
    assert!(told(4, "format = 2", bcast).contains("format"));
    assert!(
        told(4, CROSSED, &bcast.replace("tree", "oak")).contains("cannot read the tree file `oak.toml` of `bcast`")
    );
    assert!(told(4, CROSSED, &bcast.replace("bcast", "scan")).ends_with("write recursive-doubling, linear"));
    assert!(told(4, CROSSED, &bcast.replace(".toml", "")).ends_with("or a tree file, as `tree.toml`"));
    // Trees for larger or smaller communicators are no fault.
    assert!(
        read(9, CROSSED, &format!("[[collective]]\n{bcast}ranks = [4, 4]")).is_ok_and(|d| Machine::new(&d, 9).is_ok())
    );
    let unread = Description::read(&(described(4, Rules::Mpich) + "[[collective]]\n" + bcast)).unwrap();
    assert!(Machine::new(&unread, 4).unwrap_err().to_string().contains("has not been read"));
}
