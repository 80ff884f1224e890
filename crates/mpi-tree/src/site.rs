//! A tree cut into sites: a tree for each cluster, and how these are joined.
//!
//! What goes on between sites can then be different from what goes on inside: long messages in pieces that follow each
//! other, or answers that do not wait for all.

use std::collections::BTreeMap;

use units::Rank;

use crate::{Between, Collector, Contributor, Host, Node, Roles, Tree};

/// The parts of a tree that lie in different clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites {
    /// The way in which sites are joined. With [`Between::Reduce`], the first site joins them.
    pub between: Between,
    /// Two or more, in the order in which their parts are combined.
    pub sites: Vec<Site>,
}

/// One cluster's part, as a tree of its own. Its ranks are numbered anew, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The site's tree, with one root.
    pub tree: Tree,
    /// Node in the whole tree, by node of the site. Empty if the site's only node stands for a rank.
    pub nodes: Vec<usize>,
    /// Hosts with a rank of the site.
    pub hosts: Vec<Host>,
    /// Rank in the whole tree, by number in the site.
    pub ranks: Vec<Rank>,
    /// The rank that serves the root: a number in the site.
    pub server: Rank,
}

/// The site to which each node or rank belongs.
struct Cut<'a> {
    tree: &'a Tree,
    hosts: &'a [Host],
    /// Position of the part, by node.
    parts: Vec<usize>,
    /// Roots of the parts.
    tops: Vec<Contributor>,
}

impl Tree {
    /// Cuts a sound tree: at its roots, where several exchange; else between nodes of different clusters. None if there
    /// is one site only, if a site hangs below another that is not the root's, or if a node lives on a host without a
    /// rank of its site.
    #[must_use]
    pub fn sites(&self, hosts: &[Host]) -> Option<Sites> {
        let mut cut = Cut { tree: self, hosts, parts: vec![0; self.nodes.len()], tops: Vec::new() };
        for at in self.from_roots() {
            let part = match self.nodes[at].parent {
                Some(parent) if !cut.is_between(parent, Contributor::Node(at)) => cut.parts[parent],
                Some(parent) if cut.parts[parent] != 0 => return None,
                _ => {
                    cut.tops.push(Contributor::Node(at));
                    cut.tops.len() - 1
                }
            };
            cut.parts[at] = part;
        }
        for (at, node) in self.nodes.iter().enumerate() {
            for &rank in node.contributors.iter().filter(|who| matches!(who, Contributor::Rank(_))) {
                if cut.is_between(at, rank) {
                    if cut.parts[at] != 0 {
                        return None;
                    }
                    cut.tops.push(rank);
                }
            }
        }
        let sites = (0..cut.tops.len()).map(|part| cut.site(part)).collect::<Option<Vec<Site>>>()?;
        (sites.len() > 1).then_some(Sites { between: self.between, sites })
    }
}

impl Cut<'_> {
    /// Whether a contributor of a node is in another cluster. Roots that exchange keep what is below them.
    fn is_between(&self, node: usize, contributor: Contributor) -> bool {
        let cluster = |host: Option<usize>| host.and_then(|host| self.hosts[host].cluster.as_deref());
        self.tree.between == Between::Reduce
            && cluster(Some(self.tree.nodes[node].host)) != cluster(self.tree.host_of(contributor, self.hosts))
    }

    fn site(&self, part: usize) -> Option<Site> {
        let mut nodes = Vec::new();
        let mut ranks = Vec::new();
        let mut moved_to = vec![None; self.tree.nodes.len()];
        if let Contributor::Rank(rank) = self.tops[part] {
            let host = self.tree.host_of(self.tops[part], self.hosts)?;
            let (name, wake) = (format!("rank-{rank}"), self.tree.nodes[0].wake);
            nodes.push(Node { name, host, parent: None, contributors: vec![self.tops[part]], wake });
            ranks.push(rank);
        }
        for (at, node) in self.tree.nodes.iter().enumerate() {
            if self.parts[at] != part || matches!(self.tops[part], Contributor::Rank(_)) {
                continue;
            }
            let is_inside = |who: &&Contributor| !self.is_between(at, **who);
            let contributors: Vec<Contributor> = node.contributors.iter().filter(is_inside).copied().collect();
            ranks.extend(contributors.iter().filter_map(|who| match who {
                Contributor::Rank(rank) => Some(*rank),
                Contributor::Node(_) => None,
            }));
            moved_to[at] = Some(nodes.len());
            nodes.push(Node { contributors, ..node.clone() });
        }
        ranks.sort_unstable();
        let number = |rank: &Rank| ranks.binary_search(rank).ok().map(|at| at as Rank);
        let (mut hosts, mut hosts_moved_to) = (Vec::new(), vec![None; self.hosts.len()]);
        for (at, host) in self.hosts.iter().enumerate() {
            let of_site: Vec<Rank> = host.ranks.iter().filter_map(number).collect();
            if !of_site.is_empty() {
                hosts_moved_to[at] = Some(hosts.len());
                hosts.push(Host { ranks: of_site, ..host.clone() });
            }
        }
        for node in &mut nodes {
            node.host = hosts_moved_to[node.host]?;
            if node.contributors.is_empty() {
                return None;
            }
            for who in &mut node.contributors {
                *who = match *who {
                    Contributor::Rank(rank) => Contributor::Rank(number(&rank)?),
                    Contributor::Node(node) => Contributor::Node(moved_to[node]?),
                };
            }
        }
        let of_whole = moved_to.iter().enumerate().filter(|(_, moved)| moved.is_some()).map(|(at, _)| at).collect();
        let mut tree = Tree { name: self.tree.name.clone(), nodes, between: Between::Reduce, order: self.tree.order };
        tree.adopt();
        let root = tree.roots().next()?;
        let server = Roles::new(&tree, &hosts).stations()[root].server;
        Some(Site { tree, nodes: of_whole, hosts, ranks, server })
    }
}

impl Site {
    /// Returns the number of each of the site's collectors in the whole tree, by its number in the site. None if sites
    /// hang below each other, because some of the whole tree's collectors are between sites then.
    ///
    /// # Panics
    /// If the site is of another tree.
    #[must_use]
    pub fn collectors_in(&self, whole: &Tree, hosts: &[Host]) -> Option<Vec<u16>> {
        if whole.between != Between::AllToAll {
            return None;
        }
        let of_whole: BTreeMap<Collector, u16> = whole.collectors(hosts).into_iter().zip(0..=u16::MAX).collect();
        let of_site = self.tree.collectors(&self.hosts).into_iter();
        Some(of_site.map(|own| of_whole[&Collector { node: self.nodes[own.node], ..own }]).collect())
    }
}

impl Sites {
    /// Returns the place of a rank of the whole tree: its site, and its number there.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn place(&self, rank: Rank) -> (usize, Rank) {
        let places = self.sites.iter().enumerate();
        let mut places = places.filter_map(|(site, of)| Some((site, of.ranks.binary_search(&rank).ok()? as Rank)));
        places.next().expect("each rank is in a site")
    }

    /// Returns the rank in the whole tree that serves a site.
    #[must_use]
    pub fn server(&self, site: usize) -> Rank {
        let of = &self.sites[site];
        of.ranks[of.server as usize]
    }
}
