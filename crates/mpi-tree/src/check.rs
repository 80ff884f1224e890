//! Whether a tree can be used at all: each rank reaches a root, once.

use units::Rank;

use crate::collector::N_COLLECTORS_MAX;
use crate::forest::places;
use crate::{Between, Contributor, Host, Tree, TreeError};

/// Room for a chain over all ranks of a large job, but not for one that takes a drawing's stack.
const DEPTH_MAX: usize = 1024;

impl Tree {
    /// Whether each rank contributes to one node, each node to at most one, all reach a root, and there is one root or
    /// several that exchange their results. The first fault is told.
    ///
    /// # Errors
    /// What is wrong, by the names of the file.
    pub fn check(&self, hosts: &[Host]) -> Result<(), TreeError> {
        let tree = || self.name.clone();
        let name = |node: usize| self.nodes[node].name.clone();
        let mut of_rank: Vec<Option<usize>> = vec![None; places(hosts).len()];
        let mut of_node: Vec<Option<usize>> = vec![None; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            if node.contributors.is_empty() {
                return Err(TreeError::NoContributors { tree: tree(), node: name(at) });
            }
            for contributor in &node.contributors {
                let (parent, called) = match *contributor {
                    Contributor::Rank(rank) => (&mut of_rank[rank as usize], format!("rank {rank}")),
                    Contributor::Node(node) => (&mut of_node[node], format!("node `{}`", name(node))),
                };
                if let Some(first) = parent.replace(at) {
                    let (first, second) = (name(first), name(at));
                    return Err(TreeError::ContributesTwice { tree: tree(), contributor: called, first, second });
                }
            }
        }
        if let Some(rank) = of_rank.iter().position(Option::is_none) {
            return Err(TreeError::Orphan { tree: tree(), rank: rank as Rank });
        }
        if let Some(cycle) = cycle(&of_node) {
            let way = cycle[1..].iter().map(|&node| name(node)).collect();
            return Err(TreeError::Cycle { tree: tree(), node: name(cycle[0]), way });
        }
        assert!(
            of_node.iter().zip(&self.nodes).all(|(parent, node)| *parent == node.parent),
            "parents are those of the contributors"
        );
        let roots: Vec<String> = self.roots().map(name).collect();
        if roots.len() > 1 && self.between == Between::Reduce {
            return Err(TreeError::Roots { tree: tree(), roots });
        }
        let depth = self.facts(hosts).depth;
        if depth > DEPTH_MAX {
            return Err(TreeError::TooDeep { tree: tree(), given: depth, limit: DEPTH_MAX });
        }
        let n_collectors = self.collectors(hosts).len();
        if n_collectors > N_COLLECTORS_MAX {
            return Err(TreeError::TooManyCollectors { tree: tree(), given: n_collectors, limit: N_COLLECTORS_MAX });
        }
        Ok(())
    }

    /// Positions of all nodes, parents before their children.
    #[must_use]
    pub fn from_roots(&self) -> Vec<usize> {
        let mut order: Vec<usize> = self.roots().collect();
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            order.extend(self.nodes[at].contributors.iter().filter_map(|contributor| match contributor {
                Contributor::Node(node) => Some(*node),
                Contributor::Rank(_) => None,
            }));
            next += 1;
        }
        order
    }
}

/// A way through parents that comes back to where it began, each node once.
fn cycle(parents: &[Option<usize>]) -> Option<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    // By which start a node was seen first: who meets a node of their own start again has gone around.
    let mut seen_from = vec![UNSEEN; parents.len()];
    for start in 0..parents.len() {
        let mut at = start;
        while seen_from[at] == UNSEEN {
            seen_from[at] = start;
            let Some(parent) = parents[at] else { break };
            at = parent;
            if seen_from[at] == start {
                let mut way = vec![at];
                while let Some(parent) = parents[*way.last()?].filter(|parent| *parent != at) {
                    way.push(parent);
                }
                return Some(way);
            }
        }
    }
    None
}
