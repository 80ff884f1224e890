//! Links between the nodes of a site: topologies, and the way from one node to another.
//!
//! A link is one direction and carries one message after the other. Its queue has no end: the networks of clusters
//! hold messages back rather than lose them. Routes never depend on load.

use serde::{Deserialize, Serialize};
use units::Bandwidth;

use super::error::{MachineError, wrong};
use super::length::Length;

/// The network that connects the nodes of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The links that there are.
    pub topology: Topology,
    /// Time that each link adds to a message's way, on top of the latency of level `cluster`.
    #[serde(default)]
    pub latency: Length,
    /// Bandwidth of each link.
    pub bandwidth: Bandwidth,
}

/// The links that there are between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Each node has a link to one switch and one from it.
    Crossbar,
    /// Levels of switches; a message climbs only as far as it has to (Öhring et al. 1995), and its destination says
    /// by which switches.
    FatTree {
        /// Children of a switch, the lowest level first.
        down: Vec<u32>,
        /// Parents of a node or switch, the lowest level first.
        up: Vec<u32>,
    },
    /// Each node has a link to its neighbours, dimension by dimension, the ends joined. Messages go the shorter way,
    /// the first dimension first.
    Torus(Vec<u32>),
    /// Groups of routers that are all connected to each other, and one link each way between any two groups
    /// (Kim et al. 2008). Messages go the shortest way.
    Dragonfly {
        /// Groups.
        groups: u32,
        /// Routers of a group.
        routers: u32,
        /// Nodes of a router.
        nodes: u32,
    },
}

impl Network {
    pub(super) fn check(&self, site: &str, nodes: u32) -> Result<(), MachineError> {
        let (room, right) = match &self.topology {
            Topology::Crossbar => return Ok(()),
            Topology::FatTree { down, up } => {
                if down.is_empty() || down.len() != up.len() || up.contains(&0) {
                    let given = format!("down {down:?}, up {up:?}");
                    return Err(wrong(
                        "fat-tree",
                        format!("site `{site}`"),
                        given,
                        "as many numbers above 0 in `up` as in `down`",
                    ));
                }
                (room(down), "the product of `down` has to be the number of nodes")
            }
            Topology::Torus(dimensions) => {
                (room(dimensions), "the product of the dimensions has to be the number of nodes")
            }
            Topology::Dragonfly { groups, routers, nodes } => {
                (room(&[*groups, *routers, *nodes]), "groups x routers x nodes has to be the number of nodes")
            }
        };
        if room == u64::from(nodes) {
            return Ok(());
        }
        Err(MachineError::Network { site: site.to_owned(), room, nodes, right })
    }
}

fn room(extents: &[u32]) -> u64 {
    extents.iter().fold(1, |product: u64, &extent| product.saturating_mul(extent.into()))
}

impl Topology {
    /// Links of a site with so many nodes. A checked machine has at most 2^22.
    pub(super) fn n_links(&self, nodes: u32) -> u64 {
        let nodes = u64::from(nodes);
        match self {
            Self::Crossbar => 2 * nodes,
            Self::FatTree { down, up } => {
                levels(down, up).map(|level| level.n_links(nodes).saturating_mul(2)).fold(0, u64::saturating_add)
            }
            Self::Torus(dimensions) => nodes.saturating_mul(2 * dimensions.len() as u64),
            Self::Dragonfly { groups, routers, .. } => {
                let (groups, routers) = (u64::from(*groups), u64::from(*routers));
                let local = groups.saturating_mul(routers).saturating_mul(routers);
                (2 * nodes).saturating_add(local).saturating_add(groups * groups)
            }
        }
    }

    /// Visits the links from one node to another of a site with so many `nodes`, in order.
    pub(super) fn route(&self, nodes: u32, from: u32, to: u32, mut visit: impl FnMut(u32)) {
        match self {
            Self::Crossbar => {
                visit(2 * from);
                visit(2 * to + 1);
            }
            Self::FatTree { down, up } => climb(down, up, nodes, from, to, visit),
            Self::Torus(dimensions) => walk(dimensions, from, to, visit),
            Self::Dragonfly { groups, routers, nodes: of_router } => {
                let (source, target) = (from / of_router, to / of_router);
                let (source_group, target_group) = (source / routers, target / routers);
                let local = |at: u32, next: u32| 2 * nodes + at * routers + next % routers;
                visit(2 * from);
                if source_group == target_group {
                    if source != target {
                        visit(local(source, target));
                    }
                } else {
                    let gate = |of: u32, towards: u32| of * routers + (towards - u32::from(towards > of)) % routers;
                    let (leaves, enters) = (gate(source_group, target_group), gate(target_group, source_group));
                    if source != leaves {
                        visit(local(source, leaves));
                    }
                    visit(2 * nodes + groups * routers * routers + source_group * groups + target_group);
                    if enters != target {
                        visit(local(enters, target));
                    }
                }
                visit(2 * to + 1);
            }
        }
    }
}

/// Nodes and switches that the links of one level of a fat tree join, in numbers.
struct TreeLevel {
    /// Nodes below one vertex of the level below.
    below: u64,
    /// Vertices of the level below that have the same nodes below them.
    twins: u64,
    /// Parents of each.
    parents: u64,
}

impl TreeLevel {
    /// Returns the number of links in one direction.
    fn n_links(&self, nodes: u64) -> u64 {
        (nodes / self.below).saturating_mul(self.twins).saturating_mul(self.parents)
    }
}

fn levels<'a>(down: &'a [u32], up: &'a [u32]) -> impl Iterator<Item = TreeLevel> + 'a {
    let (mut below, mut twins) = (1_u64, 1_u64);
    down.iter().zip(up).map(move |(&children, &parents)| {
        let (children, parents) = (u64::from(children), u64::from(parents));
        let level = TreeLevel { below, twins, parents };
        below *= children;
        twins = twins.saturating_mul(parents);
        level
    })
}

/// Visits the links up to the lowest switch that has both nodes below it, and down. The choice of the parents depends
/// on the destination alone, so that messages to different nodes spread (D-mod-k).
fn climb(down: &[u32], up: &[u32], nodes: u32, from: u32, to: u32, mut visit: impl FnMut(u32)) {
    let (nodes, from, to) = (u64::from(nodes), u64::from(from), u64::from(to));
    let mut first = 0;
    let mut descent = Vec::new();
    for level in levels(down, up) {
        if from / level.below == to / level.below {
            break;
        }
        let vertex = |node: u64| node / level.below * level.twins + to % level.twins;
        let parent = to / level.twins % level.parents;
        visit((first + vertex(from) * level.parents + parent) as u32);
        first += level.n_links(nodes);
        descent.push((first + vertex(to) * level.parents + parent) as u32);
        first += level.n_links(nodes);
    }
    descent.into_iter().rev().for_each(visit);
}

fn walk(dimensions: &[u32], from: u32, to: u32, mut visit: impl FnMut(u32)) {
    let mut at = from;
    let mut stride = 1;
    for (idx, &extent) in (0..).zip(dimensions) {
        let (here, there) = (from / stride % extent, to / stride % extent);
        let ahead = (there + extent - here) % extent;
        let (n_steps, step, direction) =
            if ahead <= extent - ahead { (ahead, 1, 0) } else { (extent - ahead, extent - 1, 1) };
        for _ in 0..n_steps {
            visit(at * 2 * dimensions.len() as u32 + 2 * idx + direction);
            let place = at / stride % extent;
            at = at - place * stride + (place + step) % extent * stride;
        }
        stride *= extent;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Follows all routes: each link is one of those there are and joins the same two places on every route.
    #[track_caller]
    fn check(topology: &Topology, nodes: u32, longest: usize) {
        let n_links = topology.n_links(nodes) as u32;
        let mut lengths = HashMap::new();
        for from in 0..nodes {
            for to in (0..nodes).filter(|to| *to != from) {
                let mut route = Vec::new();
                topology.route(nodes, from, to, |link| route.push(link));
                assert!(route.iter().all(|link| *link < n_links), "{from} to {to}: {route:?} of {n_links}");
                let mut distinct = route.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), route.len(), "{from} to {to} takes a link twice: {route:?}");
                let mut back = Vec::new();
                topology.route(nodes, to, from, |link| back.push(link));
                assert_eq!(back.len(), route.len(), "{from} to {to} and back");
                assert!(
                    back.iter().all(|link| !route.contains(link)),
                    "{from} to {to} shares a direction with the way back"
                );
                *lengths.entry(route.len()).or_insert(0) += 1;
            }
        }
        assert_eq!(lengths.keys().max(), Some(&longest), "{lengths:?}");
    }

    #[test]
    fn routes_take_each_link_once_and_both_directions_are_apart() {
        check(&Topology::Crossbar, 5, 2);
        check(&Topology::FatTree { down: vec![4, 4], up: vec![1, 2] }, 16, 4);
        check(&Topology::FatTree { down: vec![2, 3, 2], up: vec![2, 2, 3] }, 12, 6);
        check(&Topology::Torus(vec![5]), 5, 2);
        check(&Topology::Torus(vec![4, 3, 2]), 24, 4);
        check(&Topology::Dragonfly { groups: 5, routers: 2, nodes: 3 }, 30, 5);
    }

    #[test]
    fn a_fat_tree_spreads_what_goes_to_different_nodes() {
        let tree = Topology::FatTree { down: vec![4, 4], up: vec![1, 4] };
        let mut tops = Vec::new();
        for to in 4..8 {
            let mut route = Vec::new();
            tree.route(16, to - 4, to, |link| route.push(link));
            tops.push(route[1]);
        }
        tops.dedup();
        assert_eq!(tops.len(), 4, "{tops:?}");
    }
}
