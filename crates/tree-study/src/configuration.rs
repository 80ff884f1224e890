//! The trees that are compared, fixed before anything is measured.

use mpi_analysis::Search;
use mpi_tree::{Between, FanIn, Grain, Host, Layout, Order, Shape, Tree, Wake};

/// Name of the tree that the first paper begins with, and that all others are compared with: a node for each host, and
/// one above them.
pub const FIRST: &str = "flat over hosts";

/// All trees over these hosts, each once and with a name; [`FIRST`] is the first.
#[must_use]
pub fn configurations(hosts: &[Host]) -> Vec<(String, Tree)> {
    let layout = |shape, grain| Layout {
        shape,
        grain,
        inside: None,
        between: Between::Reduce,
        order: Order::Fixed,
        wake: Wake::Both,
    };
    let k_way = |n: usize| Shape::KWay(FanIn::new(n).expect("2 or more"));
    let over_hosts = |shape| layout(shape, Grain::Host);
    let layouts = [
        (FIRST, over_hosts(Shape::Flat)),
        ("8-way over hosts", over_hosts(k_way(8))),
        ("4-way over hosts", over_hosts(k_way(4))),
        ("2-way over hosts", over_hosts(k_way(2))),
        ("binomial over hosts", over_hosts(Shape::Binomial)),
        ("flat over hosts, pairs inside", Layout { inside: FanIn::new(2), ..over_hosts(Shape::Flat) }),
        ("flat over hosts, waiting by futex", Layout { wake: Wake::Futex, ..over_hosts(Shape::Flat) }),
        ("binomial over ranks", layout(Shape::Binomial, Grain::Rank)),
        ("flat over ranks", layout(Shape::Flat, Grain::Rank)),
    ];
    let mut search = Search::over(hosts.to_vec(), Vec::new(), 1);
    for (name, layout) in layouts {
        search.add(name.to_owned(), Tree::make("tree", hosts, &layout));
    }
    if hosts.len() > 1 {
        let mut moved = Tree::make("tree", hosts, &layouts[0].1);
        moved.nodes[0].host = hosts.len() - 1;
        search.add("flat over hosts, root moved".to_owned(), moved);
    }
    search.candidates().iter().map(|known| (known.origin.clone(), known.tree.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tree_is_compared_with_itself_and_all_are_sound() {
        for (n_hosts, n_ranks, n_trees) in [(1, 4, 4), (4, 4, 8), (8, 1, 6), (2, 8, 6)] {
            let hosts = Host::blocks(n_hosts, n_ranks);
            let trees = configurations(&hosts);
            assert_eq!(trees[0].0, FIRST);
            assert_eq!(
                trees.len(),
                n_trees,
                "{n_hosts} x {n_ranks}: {:?}",
                trees.iter().map(|tree| &tree.0).collect::<Vec<_>>()
            );
            trees.iter().for_each(|(_, tree)| tree.check(&hosts).unwrap());
        }
    }
}
