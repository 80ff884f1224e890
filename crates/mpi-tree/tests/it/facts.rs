//! What is counted about trees, and in what they differ.

use mpi_tree::{Facts, Forest};

use crate::file::example;

fn changes(from: &str, to: &str) -> Vec<String> {
    let (from, to) = (Forest::parse(from).unwrap(), Forest::parse(to).unwrap());
    from.changes(&to).iter().map(ToString::to_string).collect()
}

#[test]
fn hops_are_contributors_on_other_hosts() {
    let forest = Forest::parse(example()).unwrap();
    let facts = forest.trees[0].facts(&forest.hosts);
    assert_eq!(facts, Facts { n_nodes: 2, n_hops: 1, n_hops_max: 1, depth: 2, fan_in_max: 5 });
}

#[test]
fn a_later_epoch_alone_is_no_change() {
    assert_eq!(changes(example(), &example().replace("epoch = 1", "epoch = 2")), [""; 0]);
}

#[test]
fn a_moved_node_and_its_hops_are_told() {
    let moved = example().replace("name = \"a\"\nhost = \"a\"", "name = \"a\"\nhost = \"b\"");
    let told = [
        "tree small: node a moved from host a to b",
        "tree small: before: nodes 2, depth 2, fan-in up to 5, hops 1, on a path up to 1; \
         after: nodes 2, depth 2, fan-in up to 5, hops 4, on a path up to 1",
    ];
    assert_eq!(changes(example(), &moved), told);
}

#[test]
fn ranks_and_nodes_with_other_parents_are_told() {
    let joined = example().replace("[\"a\", \"4-7\"]", "[\"a\", \"6-7\"]").replace("[\"0-3\"]", "[\"0-5\"]");
    assert_eq!(changes(example(), &joined)[0], "tree small: parent of ranks 4-5: root -> a");
    let roots = example().replace("[\"a\", \"4-7\"]", "[\"4-7\"]").replace("\"reduce\"", "\"all-to-all\"");
    let told = changes(example(), &roots);
    assert_eq!(told[0], "tree small: reduce, fixed order -> all-to-all, fixed order");
    assert_eq!(told[1], "tree small: parent of a: root -> none, a root");
    let reordered = example().replace("[\"a\", \"4-7\"]", "[\"4-7\", \"a\"]");
    let told = changes(example(), &reordered);
    assert_eq!(told, ["tree small: node root: contributors in another order, or another way to wait"]);
}

#[test]
fn trees_hosts_and_rules_that_differ_are_told() {
    let renamed = example().replace("\"small\"", "\"big\"");
    assert_eq!(changes(example(), &renamed), ["tree small: gone", "tree big: added", "rules are not the same"]);
    let elsewhere = example().replace("\"left\"", "\"right\"");
    assert_eq!(changes(example(), &elsewhere), ["hosts are not the same"]);
    let renamed = example().replace("name = \"a\"\nhost", "name = \"c\"\nhost").replace("[\"a\", \"4", "[\"c\", \"4");
    assert_eq!(changes(example(), &renamed)[..2], ["tree small: node a gone", "tree small: node c added"]);
}
