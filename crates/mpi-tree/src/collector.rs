//! Places in a tree where times are taken: between all parts of each path (ICPP 2005, section 4).

use crate::{Contributor, Host, Tree};

/// A place where each message is stamped on its way down and on its way up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collector {
    /// Position of the node.
    pub node: usize,
    /// Place at the node.
    pub place: Place,
}

/// Place of a collector at a node. Contributors are given by their position at the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Place right before the node, on the node's host: t1 and t4 of the contributor.
    Arrive(usize),
    /// Place on the host of a contributor that is elsewhere, before its message leaves. The time by which it exceeds
    /// the `Arrive` at the other end is the two-way latency of the hop.
    Leave(usize),
    /// Place below a root: t2 and t3 of the root, and the time of storing or exchanging the result.
    Store,
}

/// Largest number of collectors: records have 16 bits for a collector's number.
pub(crate) const N_COLLECTORS_MAX: usize = 1 << 16;

impl Tree {
    /// All collectors. A collector's number in records is its position here: node by node, contributor by contributor,
    /// `Leave` before `Arrive`, and `Store` last.
    #[must_use]
    pub fn collectors(&self, hosts: &[Host]) -> Vec<Collector> {
        let mut collectors = Vec::new();
        for (node, at) in self.nodes.iter().zip(0..) {
            for (position, &contributor) in node.contributors.iter().enumerate() {
                if self.is_remote(at, contributor, hosts) {
                    collectors.push(Collector { node: at, place: Place::Leave(position) });
                }
                collectors.push(Collector { node: at, place: Place::Arrive(position) });
            }
            if node.parent.is_none() {
                collectors.push(Collector { node: at, place: Place::Store });
            }
        }
        collectors
    }

    /// Whether a contributor is on another host than the node.
    #[must_use]
    pub fn is_remote(&self, node: usize, contributor: Contributor, hosts: &[Host]) -> bool {
        self.host_of(contributor, hosts) != Some(self.nodes[node].host)
    }

    /// The collector between a node and what is below it: t2 and t3 of the node.
    #[must_use]
    pub fn below(&self, node: usize, hosts: &[Host]) -> Collector {
        let Some(parent) = self.nodes[node].parent else { return Collector { node, place: Place::Store } };
        let contributor = Contributor::Node(node);
        let position = self.nodes[parent].contributors.iter().position(|&other| other == contributor);
        let position = position.expect("a node is among the contributors of its parent");
        let is_remote = self.is_remote(parent, contributor, hosts);
        Collector { node: parent, place: if is_remote { Place::Leave(position) } else { Place::Arrive(position) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Forest;

    fn eight_threads() -> (Tree, Vec<Host>) {
        let mut forest = Forest::parse(include_str!("../../../testdata/mpi-trees/eight-threads.toml")).unwrap();
        (forest.trees.remove(0), forest.hosts)
    }

    #[test]
    fn the_tree_of_eight_threads_has_13_collectors_and_one_at_the_far_side() {
        let (tree, hosts) = eight_threads();
        let collectors = tree.collectors(&hosts);
        assert_eq!(collectors.len(), 14);
        let n_leaving = collectors.iter().filter(|collector| matches!(collector.place, Place::Leave(_))).count();
        assert_eq!(n_leaving, 1);
    }

    #[test]
    fn below_a_node_is_the_collector_on_its_own_host() {
        let (tree, hosts) = eight_threads();
        assert_eq!(tree.below(0, &hosts), Collector { node: 0, place: Place::Store });
        assert_eq!(tree.below(1, &hosts), Collector { node: 0, place: Place::Leave(0) });
        assert_eq!(tree.below(4, &hosts), Collector { node: 1, place: Place::Arrive(2) });
    }
}
