//! The text of tree files: what is read, what is written, what is refused.

use mpi_tree::{Between, Collective, Contributor, Forest, Order, Wake};

/// The example of the specification.
const EXAMPLE: &str = include_str!("../../../../docs/formats/mpi-tree.md");

pub(crate) fn example() -> &'static str {
    let (_, rest) = EXAMPLE.split_once("```toml\n").expect("the specification has an example");
    rest.split_once("```").expect("the example ends").0
}

#[track_caller]
fn check_refused(text: &str, told: &str) {
    let error = Forest::parse(text).unwrap_err().to_string();
    assert!(error.contains(told), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

/// The example with one piece of it changed.
#[track_caller]
fn check_changed_refused(from: &str, to: &str, told: &str) {
    assert_eq!(example().matches(from).count(), 1, "{from}");
    check_refused(&example().replace(from, to), told);
}

#[test]
fn the_example_of_the_specification_is_read_and_is_canonical() {
    let forest = Forest::parse(example()).unwrap();
    assert_eq!((forest.epoch, forest.hosts.len(), forest.n_ranks()), (1, 2, 8));
    assert_eq!(forest.hosts[1].ranks, [4, 5, 6, 7]);
    assert_eq!(forest.hosts[0].cluster.as_deref(), Some("left"));
    let tree = &forest.trees[0];
    assert_eq!((tree.between, tree.order, tree.nodes[0].wake), (Between::Reduce, Order::Fixed, Wake::Both));
    let [contributor, ranks @ ..] = &tree.nodes[0].contributors[..] else { panic!("{tree:?}") };
    assert_eq!(*contributor, Contributor::Node(1));
    assert_eq!(ranks, [4, 5, 6, 7].map(Contributor::Rank));
    assert_eq!((tree.nodes[0].parent, tree.nodes[1].parent), (None, Some(0)));
    assert_eq!(forest.to_text(), example());
    // Computed by a program of its own.
    assert_eq!(format!("{:016x}", forest.fingerprint()), "1fbecf50f7bd6f91");
}

#[test]
fn what_may_be_left_out_has_a_default() {
    let text = "
        format = 1
        host = [{ name = \"10.0.0.1\", ranks = \"0, 2\" }, { name = \"b\", ranks = \"1\" }]
        tree = [{ name = \"t\", node = [{ name = \"r\", host = \"b\", contributors = [2, \"0-1\"] }] }]
        rule = [{ operation = \"barrier\", bytes_max = \"0B\", tree = \"t\" }]
    ";
    let forest = Forest::parse(text).unwrap();
    assert_eq!(forest.trees[0].nodes[0].contributors, [2, 0, 1].map(Contributor::Rank));
    assert_eq!(Forest::parse(&forest.to_text()).unwrap(), forest);
    assert!(forest.to_text().contains("contributors = [2, \"0-1\"]"));
}

#[test]
fn the_first_rule_that_fits_decides() {
    let rules = "
        [[rule]]
        operation = \"*\"
        bytes_max = \"64B\"
        tree = \"small\"
    ";
    let forest = Forest::parse(&format!("{}{rules}", example())).unwrap();
    assert_eq!(forest.rule(Collective::Allreduce, 1024), Some(0));
    assert_eq!(forest.rule(Collective::Allreduce, 1025), None);
    assert_eq!(forest.rule(Collective::Bcast, 64), Some(0));
    assert_eq!(forest.rule(Collective::Bcast, 65), None);
}

#[test]
fn faults_are_told_with_their_place() {
    check_refused("", "line 1: missing field `format`");
    check_refused("format = 1", "no host has a rank");
    check_changed_refused("format = 1", "format = 2", "format 2; only format 1");
    check_changed_refused(
        "order = \"fixed\"",
        "order = \"random\"",
        "line 17: `random` is not an order: use fixed, arrival",
    );
    check_changed_refused("bytes_max", "bytes", "line 33: unknown field `bytes`");
    check_changed_refused("\"1KiB\"", "1024", "line 33: invalid type: integer `1024`");
    check_changed_refused("\"4-7\"\n", "\"4-\"\n", "line 12: `4-` is not a list of ranks");
    check_changed_refused("\"4-7\"\n", "\"4-70000\"\n", "up to 65535");
    check_changed_refused("\"4-7\"\n", "\"3-7\"\n", "line 12: rank 3 is already on host `a`");
    check_changed_refused("\"4-7\"\n", "\"5-7\"\n", "rank 4 is on no host; ranks 0 to 7");
    check_changed_refused("ranks = \"4-7\"", "ranks = \"\"", "line 12: `` is not a list of ranks");
    check_changed_refused("\"a\", \"4-7\"", "\"a\", -1", "line 23: a rank is a number from 0");
    check_changed_refused("\"a\", \"4-7\"", "\"a\", 4.5", "line 23: invalid type: floating point");
    check_changed_refused(
        "\"a\", \"4-7\"",
        "\"a\", \"4-8\"",
        "line 23: there is no rank 8; the hosts have ranks 0 to 7",
    );
    check_changed_refused("\"a\", \"4-7\"", "\"c\", \"4-7\"", "line 23: there is no node `c`; there are `root`, `a`");
    check_changed_refused("host = \"b\"", "host = \"c\"", "line 21: there is no host `c`; there are `a`, `b`");
    check_changed_refused("\"allreduce\"", "\"alltoall\"", "line 32: there is no operation `alltoall`; there are `all");
    check_changed_refused("tree = \"small\"", "tree = \"big\"", "line 34: there is no tree `big`; there are `small`");
    check_changed_refused("name = \"root\"", "name = \"a\"", "line 26: there is another node `a`");
    check_changed_refused("name = \"root\"", "name = \"4-7\"", "line 20: `4-7` cannot be the name of a node");
    check_changed_refused("name = \"small\"", "name = \"\\u001b\"", "line 15: `\\u{1b}` cannot be the name of a tree");
}

#[test]
fn trees_that_do_not_reach_a_root_from_each_rank_are_refused() {
    check_changed_refused("\"a\", \"4-7\"", "\"a\", \"4-6\"", "tree `small`: rank 7 contributes to no node");
    check_changed_refused("[\"0-3\"]", "[\"0-4\"]", "rank 4 contributes to `root` and to `a`");
    check_changed_refused("\"a\", \"4-7\"", "\"a\", \"a\", \"4-7\"", "node `a` contributes to `root` and to `root`");
    check_changed_refused("[\"0-3\"]", "[]", "tree `small`: node `a` has no contributors");
    check_changed_refused("[\"0-3\"]", "[\"0-3\", \"root\"]", "node `root` contributes to itself, by way of `a`");
    check_changed_refused("[\"a\", \"4-7\"]", "[\"4-7\"]", "nodes `root`, `a` contribute to no node; only a root may");
    let alone = example().replace("[\"a\", \"4-7\"]", "[\"4-7\"]").replace("[\"0-3\"]", "[\"0-3\", \"a\"]");
    check_refused(&alone, "node `a` contributes to itself; a root");
}

#[test]
fn paths_that_are_too_long_are_refused() {
    let mut text = "format = 1\nhost = [{ name = \"a\", ranks = \"0\" }]\n[[tree]]\nname = \"t\"\n".to_owned();
    for at in 0..1025 {
        let below = if at == 1024 { "0".to_owned() } else { format!("\"n{}\"", at + 1) };
        text += &format!("[[tree.node]]\nname = \"n{at}\"\nhost = \"a\"\ncontributors = [{below}]\n");
    }
    check_refused(&text, "tree `t` has 1025 nodes between a rank and its root; the limit is 1024");
}

#[test]
fn several_roots_may_exchange_their_results() {
    let text = example().replace("[\"a\", \"4-7\"]", "[\"4-7\"]").replace("\"reduce\"", "\"all-to-all\"");
    let forest = Forest::parse(&text).unwrap();
    assert_eq!(forest.trees[0].roots().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_tree_for_another_job_is_refused() {
    let forest = Forest::parse(example()).unwrap();
    let hosts = ["a", "a", "a", "a", "b", "b", "b", "b"];
    forest.check_job(&hosts).unwrap();
    let told = |hosts: &[&str]| forest.check_job(hosts).unwrap_err().to_string();
    assert_eq!(told(&hosts[..4]), "the trees are for 8 ranks, but the job has 4");
    let cyclic = ["a", "b", "a", "b", "a", "b", "a", "b"];
    assert_eq!(told(&cyclic), "the trees have rank 1 on host `a`, but it runs on `b`");
}
