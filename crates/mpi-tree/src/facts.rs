//! Counts of a tree, and the differences between two trees.

use std::collections::BTreeMap;
use std::fmt;

use units::Rank;

use crate::forest::places;
use crate::{Contributor, Forest, Host, Tree};

/// Counts of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Partial results.
    pub n_nodes: usize,
    /// Contributors on another host than their node: each costs a message in either direction.
    pub n_hops: usize,
    /// The most of them between a rank and its root.
    pub n_hops_max: usize,
    /// The most nodes between a rank and its root, both counted.
    pub depth: usize,
    /// The most contributors of a node.
    pub fan_in_max: usize,
}

/// A part of a tree or forest that is not the same in another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Hosts, clusters or ranks on them are not the same.
    Hosts,
    /// Rules are not the same.
    Rules,
    /// A tree that only the first has.
    TreeGone(String),
    /// A tree that only the second has.
    TreeAdded(String),
    /// Something about a tree that both have.
    Tree {
        /// Its name.
        tree: String,
        /// The change of the tree.
        change: TreeChange,
    },
}

/// A difference between two versions of a tree. Nodes and hosts go by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeChange {
    /// The way in which roots are joined, or the order in which contributions are combined.
    Manner {
        /// Way and order in the first tree.
        from: String,
        /// Way and order in the second tree.
        to: String,
    },
    /// A node that only the first has.
    NodeGone(String),
    /// A node that only the second has.
    NodeAdded(String),
    /// A node on another host.
    Moved {
        /// The node.
        node: String,
        /// Host in the first tree.
        from: String,
        /// Host in the second tree.
        to: String,
    },
    /// A node or ranks with another parent.
    Parent {
        /// A node's name, or ranks.
        contributor: String,
        /// Parent in the first tree; none for a root.
        from: Option<String>,
        /// Parent in the second tree.
        to: Option<String>,
    },
    /// A node with the same contributors in another order, or whose ranks wait otherwise.
    Node(String),
    /// Counts.
    Facts {
        /// Counts of the first.
        from: Facts,
        /// Counts of the second.
        to: Facts,
    },
}

impl Tree {
    /// Returns the counts of the tree.
    #[must_use]
    pub fn facts(&self, hosts: &[Host]) -> Facts {
        let places = places(hosts);
        let mut facts = Facts { n_nodes: self.nodes.len(), n_hops: 0, n_hops_max: 0, depth: 0, fan_in_max: 0 };
        // Hops and nodes between each node and its root.
        let mut above = vec![(0, 1); self.nodes.len()];
        for at in self.from_roots() {
            let node = &self.nodes[at];
            facts.fan_in_max = facts.fan_in_max.max(node.contributors.len());
            let (n_hops, depth) = above[at];
            facts.depth = facts.depth.max(depth);
            for contributor in &node.contributors {
                let host = match *contributor {
                    Contributor::Rank(rank) => places[rank as usize],
                    Contributor::Node(child) => Some(self.nodes[child].host),
                };
                let n_hops_below = n_hops + usize::from(host != Some(node.host));
                facts.n_hops += n_hops_below - n_hops;
                facts.n_hops_max = facts.n_hops_max.max(n_hops_below);
                if let Contributor::Node(child) = *contributor {
                    above[child] = (n_hops_below, depth + 1);
                }
            }
        }
        facts
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_nodes, n_hops, n_hops_max, depth, fan_in_max } = self;
        write!(
            f,
            "nodes {n_nodes}, depth {depth}, fan-in up to {fan_in_max}, hops {n_hops}, on a path up to {n_hops_max}"
        )
    }
}

impl Forest {
    /// Returns the differences from `other`: none if both would run alike, whatever their epochs.
    #[must_use]
    pub fn changes(&self, other: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.hosts != other.hosts {
            changes.push(Change::Hosts);
        }
        for tree in &self.trees {
            match other.trees.iter().find(|theirs| theirs.name == tree.name) {
                Some(theirs) => {
                    let of_tree = Pair { from: (tree, &self.hosts), to: (theirs, &other.hosts) }.changes();
                    changes.extend(of_tree.into_iter().map(|change| Change::Tree { tree: tree.name.clone(), change }));
                }
                None => changes.push(Change::TreeGone(tree.name.clone())),
            }
        }
        let is_added = |tree: &&Tree| self.trees.iter().all(|mine| mine.name != tree.name);
        changes.extend(other.trees.iter().filter(is_added).map(|tree| Change::TreeAdded(tree.name.clone())));
        let rules = |forest: &Self| -> Vec<_> {
            let name = |tree: usize| forest.trees[tree].name.clone();
            forest.rules.iter().map(|rule| (rule.operation, rule.bytes_max, name(rule.tree))).collect()
        };
        if rules(self) != rules(other) {
            changes.push(Change::Rules);
        }
        changes
    }
}

/// Two trees of the same name.
struct Pair<'a> {
    from: (&'a Tree, &'a [Host]),
    to: (&'a Tree, &'a [Host]),
}

impl Pair<'_> {
    fn changes(&self) -> Vec<TreeChange> {
        let ((from, from_hosts), (to, to_hosts)) = (self.from, self.to);
        let mut changes = Vec::new();
        let manner = |tree: &Tree| format!("{}, {} order", tree.between.name(), tree.order.name());
        if manner(from) != manner(to) {
            changes.push(TreeChange::Manner { from: manner(from), to: manner(to) });
        }
        for node in &from.nodes {
            let Some(theirs) = to.nodes.iter().find(|theirs| theirs.name == node.name) else {
                changes.push(TreeChange::NodeGone(node.name.clone()));
                continue;
            };
            let (mine, other) = (&from_hosts[node.host].name, &to_hosts[theirs.host].name);
            if mine != other {
                let (from, to) = (mine.clone(), other.clone());
                changes.push(TreeChange::Moved { node: node.name.clone(), from, to });
            }
            let (before, after) = (parent(from, node.parent), parent(to, theirs.parent));
            if before != after {
                changes.push(TreeChange::Parent { contributor: node.name.clone(), from: before, to: after });
            }
            let (mine, other) = (names(from, &node.contributors), names(to, &theirs.contributors));
            let is_shuffled = mine != other && sorted(&mine) == sorted(&other);
            if is_shuffled || node.wake != theirs.wake {
                changes.push(TreeChange::Node(node.name.clone()));
            }
        }
        let is_added = |name: &&String| from.nodes.iter().all(|mine| mine.name != **name);
        let added = to.nodes.iter().map(|node| &node.name).filter(is_added);
        changes.extend(added.cloned().map(TreeChange::NodeAdded));
        changes.extend(moved_ranks(from, to));
        let (before, after) = (from.facts(from_hosts), to.facts(to_hosts));
        if before != after {
            changes.push(TreeChange::Facts { from: before, to: after });
        }
        changes
    }
}

/// Ranks with another parent, those with the same parents before and after together.
fn moved_ranks(from: &Tree, to: &Tree) -> Vec<TreeChange> {
    let parents = |tree: &Tree| -> BTreeMap<Rank, String> {
        let of_node = tree.nodes.iter().flat_map(|node| node.contributors.iter().map(move |it| (it, &node.name)));
        of_node.filter_map(|(contributor, name)| Some((rank_of(contributor)?, name.clone()))).collect()
    };
    let (before, after) = (parents(from), parents(to));
    let mut moved: BTreeMap<(String, Option<String>), Vec<Rank>> = BTreeMap::new();
    for (rank, parent) in before {
        let now = after.get(&rank).cloned();
        if now.as_ref() != Some(&parent) {
            moved.entry((parent, now)).or_default().push(rank);
        }
    }
    let change = |((from, to), ranks): ((String, Option<String>), Vec<Rank>)| TreeChange::Parent {
        contributor: format!("{} {}", if ranks.len() == 1 { "rank" } else { "ranks" }, crate::write::ranges(&ranks)),
        from: Some(from),
        to,
    };
    moved.into_iter().map(change).collect()
}

fn rank_of(contributor: &Contributor) -> Option<Rank> {
    match *contributor {
        Contributor::Rank(rank) => Some(rank),
        Contributor::Node(_) => None,
    }
}

fn parent(tree: &Tree, parent: Option<usize>) -> Option<String> {
    parent.map(|node| tree.nodes[node].name.clone())
}

fn names(tree: &Tree, contributors: &[Contributor]) -> Vec<String> {
    let name = |contributor: &Contributor| match *contributor {
        Contributor::Rank(rank) => rank.to_string(),
        Contributor::Node(node) => tree.nodes[node].name.clone(),
    };
    contributors.iter().map(name).collect()
}

fn sorted(names: &[String]) -> Vec<&String> {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    sorted
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts => f.write_str("hosts are not the same"),
            Self::Rules => f.write_str("rules are not the same"),
            Self::TreeGone(tree) => write!(f, "tree {tree}: gone"),
            Self::TreeAdded(tree) => write!(f, "tree {tree}: added"),
            Self::Tree { tree, change } => write!(f, "tree {tree}: {change}"),
        }
    }
}

impl fmt::Display for TreeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_root = |parent: &Option<String>| parent.clone().unwrap_or_else(|| "none, a root".to_owned());
        match self {
            Self::Manner { from, to } => write!(f, "{from} -> {to}"),
            Self::NodeGone(node) => write!(f, "node {node} gone"),
            Self::NodeAdded(node) => write!(f, "node {node} added"),
            Self::Moved { node, from, to } => write!(f, "node {node} moved from host {from} to {to}"),
            Self::Parent { contributor, from, to } => {
                write!(f, "parent of {contributor}: {} -> {}", or_root(from), or_root(to))
            }
            Self::Node(node) => write!(f, "node {node}: contributors in another order, or another way to wait"),
            Self::Facts { from, to } => write!(f, "before: {from}; after: {to}"),
        }
    }
}
