//! Machine files: what they come to, and which are refused.

use mpi_sim::machine::{Description, Distance, Machine};
use units::SimDuration;

const TWO_NODES: &str = r#"
format = 1
[[site]]
name = "a"
nodes = 2
cores = 2
[level.node]
latency = "1us"
[level.cluster]
latency = "10ms"
bandwidth = "8Mbit/s"
"#;

fn ns(nanos: u64) -> SimDuration {
    SimDuration::from_nanos(nanos)
}

fn machine(text: &str, n_ranks: u32) -> Result<Machine, String> {
    let description = Description::read(text).map_err(|error| error.to_string())?;
    assert_eq!(Description::read(&description.to_toml()).unwrap(), description);
    Machine::new(&description, n_ranks).map_err(|error| error.to_string())
}

fn example(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sim");
    std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap()
}

#[test]
fn ten_milliseconds_are_ten_milliseconds() {
    let machine = machine(TWO_NODES, 4).unwrap();
    assert_eq!(machine.cost(0, 2, 0).wire, ns(10_000_000));
    assert_eq!(machine.cost(0, 2, 1_000).wire, ns(11_000_000));
    assert_eq!(machine.cost(0, 2, 1_000).gap, ns(1_000_000));
    assert_eq!(machine.cost(0, 1, 1 << 40).wire, ns(1_000));
    assert_eq!(machine.lookahead(0, 2), ns(10_000_000));
    assert_eq!(machine.least_lookahead(), ns(1_000));
}

#[test]
fn all_examples_are_machines_whose_messages_take_their_route() {
    let two_sites = machine(&example("two-sites"), 16).unwrap();
    let mut route = Vec::new();
    two_sites.route(7, 8, &mut route);
    assert_eq!((two_sites.distance(7, 8), route.len()), (Distance::Wan, 1));
    assert_eq!(two_sites.lookahead(7, 8), ns(10_052_000));
    assert_eq!(two_sites.unloaded(7, 8, 1_000), ns(10_060_000));
    assert_eq!(two_sites.links()[route[0] as usize].busy(1_000), ns(8_000));
    for (name, n_ranks, n_links) in [("cluster", 256, 4), ("torus", 512, 1), ("dragonfly", 1_056 * 16, 5)] {
        let machine = machine(&example(name), n_ranks).unwrap();
        machine.route(0, n_ranks - 1, &mut route);
        assert!(route.len() >= n_links, "{name}: {route:?}");
        assert!(route.iter().all(|link| (*link as usize) < machine.links().len()), "{name}: {route:?}");
        assert!(machine.lookahead(0, n_ranks - 1) > machine.least_lookahead(), "{name}");
    }
}

#[test]
fn segments_hold_from_their_size_on() {
    let cluster = machine(&example("cluster"), 2).unwrap();
    assert_eq!(cluster.cost(0, 1, 0).wire, ns(350));
    assert_eq!(cluster.cost(0, 1, 3_000).wire, ns(350 + 800));
    assert_eq!(cluster.cost(0, 1, 4_096).wire, ns(1_300 + 547));
    assert!(cluster.cost(0, 1, 4_096).is_eager && !cluster.cost(0, 1, 4_097).is_eager);
}

#[test]
fn what_a_level_without_latency_costs_is_told() {
    let remarks = |text: &str| Description::read(text).unwrap().remarks();
    assert_eq!(remarks(TWO_NODES), [""; 0]);
    let immediate = remarks(&TWO_NODES.replace("\"1us\"", "\"0s\""));
    assert!(
        matches!(&immediate[..], [only] if only.contains("level `node`") && only.contains("lookahead")),
        "{immediate:?}"
    );
}

#[test]
fn ranks_get_their_cores_by_rule_or_list() {
    let nodes = |mapping: &str, n_ranks: u32| {
        let machine = machine(&format!("mapping = {mapping}\n{TWO_NODES}"), n_ranks).unwrap();
        (0..n_ranks).map(|rank| machine.place(rank).node_idx).collect::<Vec<_>>()
    };
    assert_eq!(nodes("\"block\"", 3), [0, 0, 1]);
    assert_eq!(nodes("\"cyclic\"", 3), [0, 1, 0]);
    assert_eq!(nodes("[1, 1, 0]", 3), [1, 1, 0]);
    let smaller = "[[site]]\nname = \"b\"\nnodes = 1\ncores = 3\n[level.wan]\nlatency = \"1ms\"\n[level.node]";
    let most = |mapping: &str, text: &str| {
        let description = Description::read(&format!("mapping = {mapping}\n{text}")).unwrap();
        let most = description.n_ranks_max();
        Machine::new(&description, most).unwrap();
        assert!(Machine::new(&description, most + 1).is_err(), "{mapping}");
        most
    };
    assert_eq!((most("[1, 1, 0]", TWO_NODES), most("\"cyclic\"", TWO_NODES)), (3, 4));
    assert_eq!(most("\"sites\"", &TWO_NODES.replace("[level.node]", smaller)), 7);
}

#[test]
fn factors_and_speed_change_times_only_when_they_are_given() {
    let with = |head: &str, site: &str| {
        let text = TWO_NODES.replace("cores = 2", &format!("cores = 2\n{site}"));
        machine(&format!("{head}\n{text}"), 4).unwrap()
    };
    let doubled = with("factors = { latency = 2, bandwidth = 0.5 }", "speed = 4.0");
    assert_eq!(doubled.cost(0, 2, 1_000).wire, ns(22_000_000));
    assert_eq!(doubled.compute(0, ns(1_001)), ns(251));
    assert_eq!(with("", "").compute(0, ns(1_001)), ns(1_001));
}

#[test]
fn what_is_no_machine_is_told_with_what_would_be_right() {
    for (change, told) in [
        (("latency = \"1us\"", "latency = \"-1us\""), "cannot arrive before it was sent"),
        (("latency = \"1us\"", "latency = \"5\""), "write a number and a unit"),
        (("latency = \"1us\"", "latancy = \"1us\""), "line 8, column 1: unknown field `latancy`"),
        (("bandwidth = \"8Mbit/s\"", "bandwidth = \"8MB/s\""), "not a bandwidth"),
        (("latency = \"1us\"", "bandwidth = \"1Gbit/s\""), "`[level.node]` needs either a `latency`"),
        (("[level.node]\nlatency = \"1us\"", ""), "needs a `[level.node]`: it has nodes with several cores"),
        (("nodes = 2", "nodes = 0"), "`nodes` of site `a` is 0: write 1 or more"),
        (("cores = 2", "cores = 2\nspeed = 0.0"), "`speed` of site `a` is 0"),
        (
            ("cores = 2", "cores = 2\nnetwork = { topology = { torus = [3] }, bandwidth = \"1Gbit/s\" }"),
            "room for 3 nodes, and the site has 2",
        ),
        (("nodes = 2", "nodes = 4294967295"), "`cores` of all sites is 8589934590"),
        (
            (
                "cores = 2",
                "cores = 2\nnetwork = { topology = { fat-tree = { down = [2], up = [4294967295] } }, bandwidth = \"1Gbit/s\" }",
            ),
            "`network` of all sites is of 17179869180 links",
        ),
        (("format = 1", "format = 2"), "this program reads format 1"),
        (("format = 1", "format = 1\nmapping = [0, 0, 0, 1]"), "no core of node 0 is left for rank 2"),
        (("format = 1", "format = 1\nmapping = [0, 7, 0, 1]"), "the nodes are 0 to 1"),
        (("format = 1", "format = 1\nmapping = \"random\""), "line 3, column 11: no mapping: write \"block\""),
    ] {
        let error = machine(&TWO_NODES.replace(change.0, change.1), 4).unwrap_err();
        assert!(error.contains(told), "{change:?}: {error}");
    }
    assert!(machine(TWO_NODES, 5).unwrap_err().contains("5 ranks are more than the machine's 4 cores"));
    assert!(machine(TWO_NODES, 0).unwrap_err().contains("1 to 4"));
}
