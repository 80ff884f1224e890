//! The part of a tree that a monitor needs: its collectors, by host, and the amount of their data.

use std::collections::{BTreeMap, BTreeSet};

use mpi_tree::{Collector, Host, Place, Tree};

/// Collectors by host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// The numbers of the collectors, by the host's position.
    pub collectors: BTreeMap<usize, BTreeSet<u16>>,
}

/// Bytes on the way between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// An event with where it is from.
    pub tuple_bytes: u64,
    /// The length of the header of counts.
    pub header_bytes: u64,
    /// The count of one contributor.
    pub count_bytes: u64,
}

impl Sizes {
    /// The sizes of the papers: 28 bytes with two stamps of 8; a result has the other 12, and 4 for each contributor.
    pub const PAPERS: Self = Self { tuple_bytes: 28, header_bytes: 12, count_bytes: 4 };
}

impl Need {
    /// Returns the need of the load-balance monitors: the last arrivals at each node, which its own host has.
    #[must_use]
    pub fn of_arrivals(tree: &Tree, hosts: &[Host]) -> Self {
        Self::of(tree, hosts, |collector| matches!(collector.place, Place::Arrive(_)))
    }

    /// Returns the need of the figures of each stage: all but hops can be computed on the node's host.
    #[must_use]
    pub fn of_stages(tree: &Tree, hosts: &[Host]) -> Self {
        Self::of(tree, hosts, |_| true)
    }

    fn of(tree: &Tree, hosts: &[Host], is_needed: impl Fn(&Collector) -> bool) -> Self {
        let mut need = Self::default();
        for (number, collector) in (0..).zip(tree.collectors(hosts)) {
            if is_needed(&collector) {
                need.collectors.entry(host_of(tree, hosts, &collector)).or_default().insert(number);
            }
        }
        need
    }

    /// Collectors that are read.
    #[must_use]
    pub fn n_collectors(&self) -> usize {
        self.collectors.values().map(BTreeSet::len).sum()
    }

    /// Hosts that something is read on.
    #[must_use]
    pub fn n_hosts(&self) -> usize {
        self.collectors.len()
    }

    /// Bytes gathered for each call where each host sends one tuple: the last to arrive.
    #[must_use]
    pub fn central_bytes(&self, sizes: Sizes) -> u64 {
        self.n_hosts() as u64 * sizes.tuple_bytes
    }

    /// Bytes gathered at a time where each host sends the counts of a node with so many contributors.
    #[must_use]
    pub fn distributed_bytes(&self, sizes: Sizes, n_contributors: u64) -> u64 {
        self.n_hosts() as u64 * (sizes.header_bytes + n_contributors * sizes.count_bytes)
    }
}

/// Returns the host of a collector: its node's host, or that of the contributor whose message leaves.
pub(crate) fn host_of(tree: &Tree, hosts: &[Host], collector: &Collector) -> usize {
    let node = &tree.nodes[collector.node];
    match collector.place {
        Place::Leave(position) => tree.host_of(node.contributors[position], hosts).unwrap_or(node.host),
        _ => node.host,
    }
}

#[cfg(test)]
mod tests {
    use mpi_tree::{Between, FanIn, Grain, Layout, Order, Shape, Wake};

    use super::*;

    #[test]
    fn forty_nine_hosts_are_watched_on_eight_as_in_the_paper() {
        let hosts = Host::blocks(49, 1);
        let layout = Layout {
            shape: Shape::KWay(FanIn::new(8).unwrap()),
            grain: Grain::Host,
            inside: None,
            between: Between::Reduce,
            order: Order::Fixed,
            wake: Wake::Both,
        };
        let tree = Tree::make("8-way", &hosts, &layout);
        let need = Need::of_arrivals(&tree, &hosts);
        assert_eq!((tree.nodes.len(), need.n_collectors(), need.n_hosts()), (9, 57, 8));
        assert_eq!((need.central_bytes(Sizes::PAPERS), need.distributed_bytes(Sizes::PAPERS, 8)), (224, 352));
    }
}
