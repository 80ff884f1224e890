//! Trees made by rule: flat, binomial or of a fan-in, over hosts or over ranks, with levels inside a host, over
//! clusters.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use crate::forest::places;
use crate::{Between, Contributor, Host, Node, Order, Tree, Wake};

/// Rule by which a tree is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Shape that joins hosts; ranks, if hosts do not count.
    pub shape: Shape,
    /// The units that the shape joins.
    pub grain: Grain,
    /// Largest number of contributors at a node inside a host, which gets as many levels as that takes. None: one node
    /// for all its ranks.
    pub inside: Option<FanIn>,
    /// The way in which clusters are joined, each of which has the shape.
    pub between: Between,
    /// Order of the tree.
    pub order: Order,
    /// Wake of all its nodes.
    pub wake: Wake,
}

/// Rule for the number of contributors to a node, if all nodes have about as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One node for all.
    Flat,
    /// The first one's node has as contributors itself and the nodes of the 2nd, 3rd, 5th, 9th…, which have the parts
    /// between these.
    Binomial,
    /// Parts of about the same size, and parts of these.
    KWay(FanIn),
}

/// The units that a shape joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    /// Each host has a node, to which its ranks contribute. A single rank needs none.
    #[default]
    Host,
    /// Ranks in their order, wherever they run, as libraries do that know nothing of hosts.
    Rank,
}

/// Largest number of contributors to a node: 2 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FanIn(usize);

/// A text that names no shape.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{}` is not a shape: use flat, binomial, or a fan-in of 2 or more as in 8-way", given.escape_debug())]
pub struct ShapeError {
    /// The text as given.
    pub given: String,
}

impl FanIn {
    /// Builds a fan-in; none below 2, with which a tree would not end.
    #[must_use]
    pub fn new(contributors: usize) -> Option<Self> {
        (contributors >= 2).then_some(Self(contributors))
    }
}

impl FromStr for Shape {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fan_in = || text.strip_suffix("-way")?.parse().ok().and_then(FanIn::new);
        match text {
            "flat" => Ok(Self::Flat),
            "binomial" => Ok(Self::Binomial),
            _ => fan_in().map(Self::KWay).ok_or_else(|| ShapeError { given: text.to_owned() }),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat => f.write_str("flat"),
            Self::Binomial => f.write_str("binomial"),
            Self::KWay(FanIn(contributors)) => write!(f, "{contributors}-way"),
        }
    }
}

impl Tree {
    /// A tree over all ranks of these hosts, each of which has at least one. A node lives where its first contributor
    /// is.
    #[must_use]
    pub fn make(name: &str, hosts: &[Host], layout: &Layout) -> Self {
        let mut maker = Maker { nodes: Vec::new(), names: HashSet::new(), wake: layout.wake };
        let clusters = clusters(hosts);
        let mut tops = Vec::with_capacity(clusters.len());
        for (cluster, members) in &clusters {
            let items = match layout.grain {
                Grain::Host => members.iter().map(|&host| maker.host(hosts, host, layout.inside)).collect(),
                Grain::Rank => ranks(hosts, members),
            };
            let top = match cluster {
                Some(cluster) if clusters.len() > 1 => cluster,
                _ => "root",
            };
            let item = maker.shape(top, &items, layout.shape);
            let is_root = layout.between == Between::AllToAll || clusters.len() == 1;
            // A root is a node, also above a single rank.
            let is_bare = matches!(item.contributor, Contributor::Rank(_));
            tops.push(if is_root && is_bare { maker.join(top, &[item]) } else { item });
        }
        if layout.between == Between::Reduce && tops.len() > 1 {
            maker.join("root", &tops);
        }
        let mut tree = Self { name: name.to_owned(), nodes: maker.nodes, between: layout.between, order: layout.order };
        tree.adopt();
        tree.sort_from_roots();
        tree
    }

    /// Puts parents before their children, which is how people read trees.
    fn sort_from_roots(&mut self) {
        let order = self.from_roots();
        let mut moved_to = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, &from)| moved_to[from] = to);
        for node in &mut self.nodes {
            node.parent = node.parent.map(|parent| moved_to[parent]);
            for contributor in &mut node.contributors {
                if let Contributor::Node(child) = contributor {
                    *child = moved_to[*child];
                }
            }
        }
        let mut nodes: Vec<Option<Node>> = self.nodes.drain(..).map(Some).collect();
        self.nodes = order.iter().map(|&from| nodes[from].take().expect("each node is reached once")).collect();
    }
}

/// The hosts of each cluster, in the order of their first hosts. Those without a cluster are one, too.
fn clusters(hosts: &[Host]) -> Vec<(Option<&str>, Vec<usize>)> {
    let mut clusters: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for (at, host) in hosts.iter().enumerate() {
        let name = host.cluster.as_deref();
        match clusters.iter_mut().find(|(cluster, _)| *cluster == name) {
            Some((_, members)) => members.push(at),
            None => clusters.push((name, vec![at])),
        }
    }
    clusters
}

fn ranks(hosts: &[Host], members: &[usize]) -> Vec<Item> {
    let places = (0..).zip(places(hosts));
    let item = |(rank, place): (_, Option<usize>)| {
        let host = place.filter(|host| members.contains(host))?;
        Some(Item { contributor: Contributor::Rank(rank), host })
    };
    places.filter_map(item).collect()
}

/// Something to be joined, and where it is.
#[derive(Clone, Copy)]
struct Item {
    contributor: Contributor,
    host: usize,
}

struct Maker {
    nodes: Vec<Node>,
    names: HashSet<String>,
    wake: Wake,
}

impl Maker {
    /// A node above the items, on the host of the first.
    fn join(&mut self, name: &str, items: &[Item]) -> Item {
        let host = items[0].host;
        let contributors = items.iter().map(|item| item.contributor).collect();
        let name = self.unused(name);
        self.nodes.push(Node { name, host, parent: None, contributors, wake: self.wake });
        Item { contributor: Contributor::Node(self.nodes.len() - 1), host }
    }

    fn unused(&mut self, wanted: &str) -> String {
        // Names of hosts may begin with a digit, those of nodes may not.
        let begins_well = wanted.starts_with(|first: char| first.is_ascii_alphabetic());
        let wanted = if begins_well { wanted.to_owned() } else { format!("host-{wanted}") };
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.clone()).chain(numbered);
        let name = names.find(|name| !self.names.contains(name)).expect("there are more numbers than names");
        self.names.insert(name.clone());
        name
    }

    fn host(&mut self, hosts: &[Host], at: usize, inside: Option<FanIn>) -> Item {
        let Host { name, ranks, .. } = &hosts[at];
        let mut items: Vec<Item> =
            ranks.iter().map(|&rank| Item { contributor: Contributor::Rank(rank), host: at }).collect();
        if let Some(FanIn(contributors_max)) = inside {
            while items.len() > contributors_max {
                items =
                    items.chunks(contributors_max).map(|chunk| self.joined(&format!("{name}.part"), chunk)).collect();
            }
        }
        self.joined(name, &items)
    }

    fn shape(&mut self, name: &str, items: &[Item], shape: Shape) -> Item {
        match (items, shape) {
            ([item], _) => *item,
            (_, Shape::Flat) => self.join(name, items),
            (_, Shape::Binomial) => {
                let mut parts = vec![items[0]];
                let mut begin = 1;
                while begin < items.len() {
                    let end = (2 * begin).min(items.len());
                    parts.push(self.shape("join", &items[begin..end], shape));
                    begin = end;
                }
                self.join(name, &parts)
            }
            (_, Shape::KWay(FanIn(contributors))) => {
                let n_parts = contributors.min(items.len());
                let bound = |part: usize| part * (items.len() / n_parts) + part.min(items.len() % n_parts);
                let parts: Vec<Item> =
                    (0..n_parts).map(|part| self.shape("join", &items[bound(part)..bound(part + 1)], shape)).collect();
                self.join(name, &parts)
            }
        }
    }

    /// A node above several items; a single one needs none.
    fn joined(&mut self, name: &str, items: &[Item]) -> Item {
        if let [item] = items { *item } else { self.join(name, items) }
    }
}
