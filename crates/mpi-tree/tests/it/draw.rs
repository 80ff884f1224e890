//! Trees as people see them.

use expect_test::expect;
use mpi_tree::{Forest, Tree};

use crate::file::example;

#[test]
fn a_tree_is_drawn_in_lines() {
    let forest = Forest::parse(example()).unwrap();
    expect![[r#"
        small: 8 ranks on 2 hosts, reduce, fixed order
        nodes 2, depth 2, fan-in up to 5, hops 1, on a path up to 1
        root on b (left)
        ├─ a on a (left), by message
        │  └─ ranks 0-3 on a (left)
        └─ ranks 4-7 on b (left)
    "#]]
    .assert_eq(&forest.trees[0].to_lines(&forest.hosts));
}

#[test]
fn a_tree_over_clusters_is_drawn_with_a_frame_around_each() {
    let mut hosts = Forest::parse(example()).unwrap().hosts;
    hosts[1].cluster = Some("right".to_owned());
    let tree = Tree::make("wan", &hosts, &crate::shape::layout(crate::shape::k_way(2)));
    expect![[r#"
        wan: 8 ranks on 2 hosts, reduce, fixed order
        nodes 3, depth 2, fan-in up to 4, hops 1, on a path up to 1
        root on a (left)
        ├─ a on a (left)
        │  └─ ranks 0-3 on a (left)
        └─ b on b (right), by message
           └─ ranks 4-7 on b (right)
    "#]]
    .assert_eq(&tree.to_lines(&hosts));
    let svg = tree.to_picture(&hosts).to_svg();
    for words in [">root<", ">ranks 0-3<", ">ranks 4-7<", ">left<", ">right<"] {
        assert_eq!(svg.matches(words).count(), 1, "{words}: {svg}");
    }
    assert_eq!(svg.matches("stroke-dasharray").count(), 2, "{svg}");
}
