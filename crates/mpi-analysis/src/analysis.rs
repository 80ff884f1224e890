//! Analysis of a tree's calls: a value that can be stored, shown, drawn and compared.

use std::collections::BTreeMap;

use mpi_trace::Flow;
use mpi_tree::Contributor;
use serde::{Deserialize, Serialize};
use units::Rank;

use crate::Figures;

/// Figures of all calls on one tree whose data go the same way.
///
/// Where all wait for all, as in an allreduce, each figure is there. Where data only go to a root, as in a reduce, or
/// only come from one, there are those of that way: all others count no calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The tree's name.
    pub tree: String,
    /// Direction of the data.
    pub flow: Flow,
    /// Calls by operation.
    pub operations: BTreeMap<String, u64>,
    /// Calls that the figures are of.
    pub n_calls: u64,
    /// Calls given up because records of theirs were lost, or not there yet, whatever their flow.
    pub n_incomplete: u64,
    /// Calls whose stamps contradict each other.
    pub n_disordered: u64,
    /// Records of calls given up before, or of collectors that the tree does not have.
    pub n_strangers: u64,
    /// Cost of the critical path of each call: the greatest of all its paths.
    pub slowest: Figures,
    /// Parts of a call's time, if the clocks of all hosts are joined.
    pub split: Option<Split>,
    /// Nodes, as in the tree.
    pub nodes: Vec<NodeFigures>,
    /// Paths by rank.
    pub paths: Vec<PathFigures>,
    /// Nodes of one host that hang together.
    pub subtrees: Vec<SubtreeFigures>,
}

/// Parts of a call's time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// Time from the first rank's call to the last one's.
    pub arrival: Figures,
    /// Time from the last rank's call until the roots have combined all.
    pub reduce: Figures,
    /// Time from when the roots have the result until the last rank has it.
    pub broadcast: Figures,
}

/// Figures of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFigures {
    /// Name of the node, as in the tree.
    pub name: String,
    /// Host of the node.
    pub host: String,
    /// Cluster of the host.
    pub cluster: Option<String>,
    /// Position; none for a root.
    pub parent: Option<usize>,
    /// Contributors in the tree's order.
    pub contributors: Vec<ContributorFigures>,
    /// Time of combining after the last arrival.
    pub down_last: Figures,
    /// Time of releasing the first contributor.
    pub up_first: Figures,
    /// Time in which a root stores or exchanges the result, or hands it to the operation's root.
    pub store: Option<Figures>,
    /// Calls in which this root was the last to get its part of the result ready, among several roots.
    pub n_last: u64,
    /// Wait of the first arrival, the second and so on.
    pub wait_by_arrival: Vec<Figures>,
    /// t4 − t3 of the first departure, the second and so on.
    pub up_by_departure: Vec<Figures>,
}

/// Figures of one contributor to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContributorFigures {
    /// The contributor.
    pub from: From,
    /// Name of the contributor in tables.
    pub name: String,
    /// Wait until the last contributor arrived.
    pub arrival_wait: Figures,
    /// Wait after the first contributor left.
    pub departure_wait: Figures,
    /// t2 − t1.
    pub down: Figures,
    /// t4 − t3.
    pub up: Figures,
    /// Sum of both.
    pub total: Figures,
    /// Way there and back, if the contributor is on another host.
    pub hop: Option<HopFigures>,
    /// Number of times that the contributor arrived first, second and so on.
    pub arrived: Vec<u64>,
    /// Number of times that the contributor left first, second and so on.
    pub departed: Vec<u64>,
}

/// A contributor: a rank or a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum From {
    /// A rank.
    Rank(Rank),
    /// A node, by its position.
    Node(usize),
}

/// Figures of a hop between hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HopFigures {
    /// Host of the contributor.
    pub host: String,
    /// Whether it leads from one cluster to another.
    pub is_wan: bool,
    /// Time there and back. If calls go one way, time of that way, where the clocks of both hosts are joined.
    pub span: Figures,
}

/// Figures of one rank's way to its root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathFigures {
    /// Rank whose path it is.
    pub rank: Rank,
    /// Host that the rank runs on.
    pub host: String,
    /// The call, from its beginning to its end.
    pub total: Figures,
    /// The call, from its beginning to its end, without arrival waits, which hide the difference between fast and slow
    /// paths.
    pub cost: Figures,
    /// Calls in which no other path cost as much.
    pub n_slowest: u64,
    /// Nodes from the rank to its root, each with the position of the contributor that the way comes from.
    pub steps: Vec<(usize, usize)>,
}

/// Figures of the nodes of one host that hang together, seen as one: what comes in, and what leaves at the top.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubtreeFigures {
    /// Position of the node nearest to the root.
    pub node: usize,
    /// Number of nodes.
    pub n_nodes: usize,
    /// Time from the last arrival anywhere in the subtree until the combined value leaves.
    pub down_last: Figures,
    /// Time from the result's return until the first contributor has it.
    pub up_first: Figures,
    /// Time from when the first contributor has the result until the last one has it.
    pub departure_wait: Figures,
}

/// A part of the time on a path. Each is one of the papers' six symptoms when it is large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Waiting for the last to arrive.
    ArrivalWait,
    /// Combining.
    Down,
    /// The network, there and back.
    Hop,
    /// Storing the result, or exchanging it between roots.
    Store,
    /// Releasing the first.
    Up,
    /// Waiting for one's turn to leave.
    DepartureWait,
}

/// One part of a path, with its figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage<'a> {
    /// The part.
    pub part: Part,
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor that the way comes from.
    pub contributor: usize,
    /// Figures of its time.
    pub figures: &'a Figures,
}

/// Level of the machine that a stage belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nodes on one host.
    Host(String),
    /// Hops inside a cluster.
    Lan,
    /// Hops between clusters.
    Wan,
}

impl std::convert::From<Contributor> for From {
    fn from(contributor: Contributor) -> Self {
        match contributor {
            Contributor::Rank(rank) => Self::Rank(rank),
            Contributor::Node(node) => Self::Node(node),
        }
    }
}

impl Part {
    /// Returns the part's name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ArrivalWait => "arrival wait",
            Self::Down => "down",
            Self::Hop => "hop",
            Self::Store => "store",
            Self::Up => "up",
            Self::DepartureWait => "departure wait",
        }
    }

    /// Whether it is waiting for others, so that a long one is what somebody else's slowness leads to.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::ArrivalWait | Self::DepartureWait)
    }

    /// Whether calls whose data go this way have it.
    #[must_use]
    pub fn is_of(self, flow: Flow) -> bool {
        match self {
            Self::ArrivalWait | Self::Down => flow.is_joined(),
            Self::Up | Self::DepartureWait => flow.is_handed_out(),
            Self::Hop | Self::Store => true,
        }
    }
}

impl ContributorFigures {
    /// Calls in which it was the last to arrive.
    #[must_use]
    pub fn n_last(&self) -> u64 {
        self.arrived.last().copied().unwrap_or(0)
    }
}

impl Analysis {
    /// The tree's name, and the way if it is not both.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}{}", self.tree, self.flow.suffix())
    }

    /// A rank's path.
    #[must_use]
    pub fn path(&self, rank: Rank) -> Option<&PathFigures> {
        self.paths.iter().find(|path| path.rank == rank)
    }

    /// All stages of a path, from the rank to its root and back, or one way. Where it is both, the means add up to the
    /// mean of [`PathFigures::total`].
    #[must_use]
    pub fn stages(&self, path: &PathFigures) -> Vec<Stage<'_>> {
        let mut stages = Vec::new();
        for &(node, contributor) in &path.steps {
            let own = &self.nodes[node].contributors[contributor];
            let mut push = |part, figures| stages.push(Stage { part, node, contributor, figures });
            if let Some(hop) = &own.hop {
                push(Part::Hop, &hop.span);
            }
            if self.flow.is_joined() {
                push(Part::ArrivalWait, &own.arrival_wait);
                push(Part::Down, &self.nodes[node].down_last);
            }
            if let Some(store) = &self.nodes[node].store {
                push(Part::Store, store);
            }
            if self.flow.is_handed_out() {
                push(Part::Up, &self.nodes[node].up_first);
                push(Part::DepartureWait, &own.departure_wait);
            }
        }
        stages
    }

    /// Returns the level of the machine that a stage belongs to.
    #[must_use]
    pub fn level(&self, stage: &Stage<'_>) -> Level {
        let node = &self.nodes[stage.node];
        match (stage.part, &node.contributors[stage.contributor].hop) {
            (Part::Hop, Some(hop)) if hop.is_wan => Level::Wan,
            (Part::Hop, _) => Level::Lan,
            _ => Level::Host(node.host.clone()),
        }
    }
}
