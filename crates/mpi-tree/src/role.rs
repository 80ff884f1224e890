//! Roles in a call over a tree: the rank that serves a node, the senders of its contributions, and the node where each
//! rank begins.

use units::Rank;

use crate::forest::places;
use crate::{Contributor, Host, Place, Tree};

/// Everybody's part in the calls over one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    stations: Vec<Station>,
    seats: Vec<Seat>,
    from_roots: Vec<usize>,
}

/// Roles at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Station {
    /// The host that owns the node.
    pub host: usize,
    /// The rank that receives from other hosts for the node, and sends to them: the lowest rank on its host that
    /// contributes below it, or else the lowest rank on its host.
    pub server: Rank,
    /// One for each contributor, in the order in which they are combined.
    pub inputs: Vec<Input>,
    /// Seat where the node contributes itself; none for a root.
    pub seat: Option<Seat>,
    /// The collector between the node and what is below it: a `Leave` or `Arrive` of its parent, or its own `Store`.
    pub below: u16,
}

/// The part that one contributor brings to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// The contributor.
    pub contributor: Contributor,
    /// The rank that brings the part if it comes from another host: the rank itself, or the server of the node.
    pub sender: Rank,
    /// Whether it comes from another host, as a message to this node's server.
    pub is_remote: bool,
    /// The collector where it arrives.
    pub arrive: u16,
    /// The collector that it passes on the other host, if it comes from there.
    pub leave: Option<u16>,
}

/// A contributor's place at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat {
    /// Position of the node.
    pub node: usize,
    /// Position among its contributors.
    pub position: usize,
}

impl Roles {
    /// The parts in a sound tree.
    ///
    /// # Panics
    /// If the tree is not sound.
    #[must_use]
    pub fn new(tree: &Tree, hosts: &[Host]) -> Self {
        let from_roots = tree.from_roots();
        let mut seats = vec![None; places(hosts).len()];
        let mut seats_of_nodes = vec![None; tree.nodes.len()];
        for (node, at) in tree.nodes.iter().zip(0..) {
            for (position, contributor) in node.contributors.iter().enumerate() {
                let seat = Some(Seat { node: at, position });
                match *contributor {
                    Contributor::Rank(rank) => seats[rank as usize] = seat,
                    Contributor::Node(node) => seats_of_nodes[node] = seat,
                }
            }
        }
        let seats: Vec<Seat> = seats.into_iter().map(|seat| seat.expect("each rank contributes")).collect();
        let servers = servers(tree, hosts, &seats);
        let mut stations: Vec<Station> = (0..tree.nodes.len())
            .map(|at| Station {
                host: tree.nodes[at].host,
                server: servers[at],
                inputs: Vec::new(),
                seat: seats_of_nodes[at],
                below: 0,
            })
            .collect();
        let mut leave = None;
        for (collector, number) in tree.collectors(hosts).into_iter().zip(0..=u16::MAX) {
            let station = &mut stations[collector.node];
            match collector.place {
                Place::Leave(_) => leave = Some(number),
                Place::Arrive(position) => {
                    let contributor = tree.nodes[collector.node].contributors[position];
                    let sender = match contributor {
                        Contributor::Rank(rank) => rank,
                        Contributor::Node(node) => servers[node],
                    };
                    let is_remote = leave.is_some();
                    station.inputs.push(Input { contributor, sender, is_remote, arrive: number, leave: leave.take() });
                }
                Place::Store => station.below = number,
            }
        }
        for at in 0..stations.len() {
            if let Some(Seat { node, position }) = stations[at].seat {
                let input = stations[node].inputs[position];
                stations[at].below = input.leave.unwrap_or(input.arrive);
            }
        }
        Self { stations, seats, from_roots }
    }

    /// One for each node, in the order of the tree.
    #[must_use]
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// Returns the seat where a rank contributes.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn seat(&self, rank: Rank) -> Seat {
        self.seats[rank as usize]
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.seats.len()
    }

    /// Returns the nodes that a rank serves and that receive from other hosts, those farthest from a root first.
    pub fn served_by(&self, rank: Rank) -> impl Iterator<Item = usize> {
        self.from_roots.iter().rev().copied().filter(move |&node| {
            let station = &self.stations[node];
            station.server == rank && station.inputs.iter().any(|input| input.is_remote)
        })
    }

    /// The nodes between a rank and its root, from the rank's own to the root.
    pub fn path(&self, rank: Rank) -> impl Iterator<Item = usize> {
        let parent = |node: &usize| self.stations[*node].seat.map(|seat| seat.node);
        std::iter::successors(Some(self.seat(rank).node), parent)
    }

    /// All nodes, those with a parent after it.
    #[must_use]
    pub fn from_roots(&self) -> &[usize] {
        &self.from_roots
    }

    /// The ranks below each node, in the order in which they are combined.
    #[must_use]
    pub fn ranks_below(&self) -> Vec<Vec<Rank>> {
        let mut below: Vec<Vec<Rank>> = vec![Vec::new(); self.stations.len()];
        for &at in self.from_roots.iter().rev() {
            let mut ranks = Vec::new();
            for input in &self.stations[at].inputs {
                match input.contributor {
                    Contributor::Rank(rank) => ranks.push(rank),
                    Contributor::Node(node) => ranks.extend(&below[node]),
                }
            }
            below[at] = ranks;
        }
        below
    }
}

/// Returns the rank that serves each node.
fn servers(tree: &Tree, hosts: &[Host], seats: &[Seat]) -> Vec<Rank> {
    let places = places(hosts);
    let mut servers: Vec<Option<Rank>> = vec![None; tree.nodes.len()];
    // Each rank offers itself to all nodes on its way; in ascending order, so that the first offer stays.
    for (rank, place) in (0..).zip(&places) {
        let mut next = Some(seats[rank as usize].node);
        while let Some(at) = next {
            let node = &tree.nodes[at];
            if Some(node.host) == *place && servers[at].is_none() {
                servers[at] = Some(rank);
            }
            next = node.parent;
        }
    }
    let lowest = |host: usize| hosts[host].ranks.first().copied().expect("each host has a rank");
    servers.into_iter().zip(&tree.nodes).map(|(server, node)| server.unwrap_or_else(|| lowest(node.host))).collect()
}
