//! A tree as a value.

use serde::Deserialize;
use units::Rank;

/// A host, and which ranks of `MPI_COMM_WORLD` run on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name by which the host calls itself.
    pub name: String,
    /// The cluster or site that it belongs to, if hosts are grouped.
    pub cluster: Option<String>,
    /// Ranks in ascending order.
    pub ranks: Vec<Rank>,
}

impl Host {
    /// Hosts `h0`, `h1` and so on, with as many ranks each, in blocks.
    #[must_use]
    pub fn blocks(n_hosts: u32, n_ranks_each: u32) -> Vec<Self> {
        let ranks = |at: u32| (at * n_ranks_each..(at + 1) * n_ranks_each).collect();
        (0..n_hosts).map(|at| Self { name: format!("h{at}"), cluster: None, ranks: ranks(at) }).collect()
    }
}

/// A spanning tree, or one for each cluster whose roots exchange their results.
///
/// A tree that was read or made by this crate is sound: each rank contributes once and reaches a root, each parent is
/// there, no node is its own ancestor, each node has a contributor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Name of the tree in rules.
    pub name: String,
    /// Nodes in the order of the file. Nodes without a parent are roots.
    pub nodes: Vec<Node>,
    /// The way in which several roots are joined.
    pub between: Between,
    /// Order in which contributions are combined.
    pub order: Order,
}

/// A place where contributions are joined, and the result is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the node in the file.
    pub name: String,
    /// Host of the node: a position in the list of hosts.
    pub host: usize,
    /// Position of the node that it contributes to; none for a root.
    pub parent: Option<usize>,
    /// Contributors, in the order in which contributions are combined.
    pub contributors: Vec<Contributor>,
    /// The way in which those who wait for its result wait.
    pub wake: Wake,
}

/// A source of a part of the result at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contributor {
    /// A rank of the communicator.
    Rank(Rank),
    /// Another node, by its position.
    Node(usize),
}

/// The way in which several roots come to one result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Between {
    /// There is one root only, which joins the clusters like any node.
    #[default]
    Reduce,
    /// Each root sends its cluster's part to all others, and combines in the order of the roots (MagPIe).
    AllToAll,
}

/// Order in which a node combines contributions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Order {
    /// The order of the file: sums repeat to the bit.
    #[default]
    Fixed,
    /// The order of arrival: less waiting, and sums of floating-point numbers differ from call to call.
    Arrival,
}

/// The way in which a rank waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Wake {
    /// Asks again and again: quickest where each rank has a core of its own.
    Spin,
    /// Sleeps in the kernel until it is woken.
    Futex,
    /// Asks for a while, then sleeps.
    #[default]
    Both,
}

impl Tree {
    /// Nodes without a parent, in the order of the file.
    pub fn roots(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.parent.is_none()).map(|(at, _)| at)
    }

    /// Returns the host of a contributor: a position in `hosts`.
    #[must_use]
    pub fn host_of(&self, contributor: Contributor, hosts: &[Host]) -> Option<usize> {
        match contributor {
            Contributor::Rank(rank) => hosts.iter().position(|host| host.ranks.binary_search(&rank).is_ok()),
            Contributor::Node(node) => self.nodes.get(node).map(|node| node.host),
        }
    }

    /// Gives each node the parent that it contributes to.
    pub(crate) fn adopt(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.parent = None);
        for at in 0..self.nodes.len() {
            for position in 0..self.nodes[at].contributors.len() {
                if let Contributor::Node(child) = self.nodes[at].contributors[position] {
                    self.nodes[child].parent = Some(at);
                }
            }
        }
    }
}
