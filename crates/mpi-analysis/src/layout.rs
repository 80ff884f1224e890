//! A tree as the analysis walks it: which collectors stand around each node, and each rank's way to its root.

use std::collections::BTreeMap;

use mpi_tree::{Collector, Contributor, Host, Place, Tree};
use units::Rank;

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) tree: Tree,
    pub(crate) hosts: Vec<Host>,
    pub(crate) n_collectors: usize,
    pub(crate) nodes: Vec<Around>,
    /// Steps of each path, by rank.
    pub(crate) paths: BTreeMap<Rank, Vec<Step>>,
    /// Subtree of each node that is the uppermost of its host's: the ways into what is below it there.
    pub(crate) subtrees: Vec<Subtree>,
}

/// Numbers of the collectors around a node.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    /// `Arrive` collector of each contributor.
    pub(crate) arrive: Vec<usize>,
    /// `Leave` collector of each contributor; none where it is on the node's host.
    pub(crate) leave: Vec<Option<usize>>,
    pub(crate) below: usize,
}

/// One node on the way from a rank to its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) node: usize,
    /// Position of the node's contributor that the way comes from.
    pub(crate) contributor: usize,
}

/// Nodes of one host that hang together.
#[derive(Clone, Debug)]
pub(crate) struct Subtree {
    /// The one nearest to the root.
    pub(crate) node: usize,
    /// `Arrive` collectors of what comes into it from ranks and from other hosts.
    pub(crate) arrive: Vec<usize>,
    pub(crate) n_nodes: usize,
}

impl Layout {
    pub(crate) fn of(tree: Tree, hosts: Vec<Host>) -> Self {
        let collectors = tree.collectors(&hosts);
        let at: BTreeMap<Collector, usize> = collectors.iter().copied().zip(0..).collect();
        let around = |(node, shape): (usize, &mpi_tree::Node)| {
            let find = |place| at.get(&Collector { node, place }).copied();
            let n = shape.contributors.len();
            Around {
                arrive: (0..n).filter_map(|position| find(Place::Arrive(position))).collect(),
                leave: (0..n).map(|position| find(Place::Leave(position))).collect(),
                below: at[&tree.below(node, &hosts)],
            }
        };
        let nodes: Vec<Around> = tree.nodes.iter().enumerate().map(|(idx, node)| around((idx, node))).collect();
        let mut layout =
            Self { n_collectors: collectors.len(), nodes, paths: BTreeMap::new(), subtrees: Vec::new(), tree, hosts };
        layout.paths = layout.find_paths();
        layout.subtrees = layout.find_subtrees();
        layout
    }

    pub(crate) fn contributor(&self, step: Step) -> Contributor {
        self.tree.nodes[step.node].contributors[step.contributor]
    }

    /// The host that a contributor's own collector is on.
    pub(crate) fn host_of(&self, step: Step) -> usize {
        self.tree.host_of(self.contributor(step), &self.hosts).unwrap_or(self.tree.nodes[step.node].host)
    }

    /// The first collector on a rank's way: its call.
    pub(crate) fn entry(&self, step: Step) -> usize {
        let around = &self.nodes[step.node];
        around.leave[step.contributor].unwrap_or(around.arrive[step.contributor])
    }

    /// Returns the name of a contributor.
    pub(crate) fn name(&self, contributor: Contributor) -> String {
        match contributor {
            Contributor::Rank(rank) => format!("rank {rank}"),
            Contributor::Node(node) => self.tree.nodes[node].name.clone(),
        }
    }

    fn find_paths(&self) -> BTreeMap<Rank, Vec<Step>> {
        let mut above: BTreeMap<Contributor, Step> = BTreeMap::new();
        for (node, shape) in self.tree.nodes.iter().enumerate() {
            let steps =
                shape.contributors.iter().zip(0..).map(|(from, contributor)| (*from, Step { node, contributor }));
            above.extend(steps);
        }
        let way = |rank| {
            let first = above.get(&Contributor::Rank(rank)).copied();
            std::iter::successors(first, |step| above.get(&Contributor::Node(step.node)).copied()).collect()
        };
        let ranks = above.keys().filter_map(|from| match from {
            Contributor::Rank(rank) => Some(*rank),
            Contributor::Node(_) => None,
        });
        ranks.map(|rank| (rank, way(rank))).collect()
    }

    fn find_subtrees(&self) -> Vec<Subtree> {
        let host = |node: usize| self.tree.nodes[node].host;
        let is_top = |node: &usize| self.tree.nodes[*node].parent.is_none_or(|parent| host(parent) != host(*node));
        (0..self.tree.nodes.len())
            .filter(is_top)
            .map(|top| {
                let (mut open, mut arrive, mut n_nodes) = (vec![top], Vec::new(), 0);
                while let Some(node) = open.pop() {
                    n_nodes += 1;
                    for (position, contributor) in self.tree.nodes[node].contributors.iter().enumerate() {
                        match contributor {
                            Contributor::Node(child) if host(*child) == host(top) => open.push(*child),
                            _ => arrive.push(self.nodes[node].arrive[position]),
                        }
                    }
                }
                Subtree { node: top, arrive, n_nodes }
            })
            .collect()
    }
}
