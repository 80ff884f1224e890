//! A tree as the engine needs it: where messages go, whose memory holds a result, how blocks lie. The same on all
//! ranks.

use std::ops::Range;

use mpi_tree::{Between, Contributor, Host, Order, Roles, Seat, Tree, Wake};
use units::Rank;

/// The plan of a tree, which all ranks have.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The tree's nodes, then an exchange for each root if there are several that exchange.
    pub(crate) nodes: Vec<Node>,
    /// Seat where each rank contributes.
    pub(crate) seats: Vec<Seat>,
    /// Ranks from left to right, which is how the blocks of a gather lie on their way.
    pub(crate) leaves: Vec<Rank>,
    /// Nodes without a parent.
    pub(crate) roots: Vec<usize>,
    /// The host of each rank.
    pub(crate) hosts: Vec<usize>,
    /// Order in which contributions are combined.
    pub(crate) order: Order,
}

/// A node of the tree, or an exchange: where the parts of all roots come together for one of them.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) host: usize,
    /// The rank that takes messages for it.
    pub(crate) server: Rank,
    pub(crate) inputs: Vec<Input>,
    /// Seat where the node contributes; none for a root, and for an exchange.
    pub(crate) seat: Option<Seat>,
    /// Whether that seat is on another host.
    pub(crate) is_seat_remote: bool,
    /// The collector between it and what is below it.
    pub(crate) below: u16,
    /// The node whose memory holds the result for this one: the last one below it that is reached without a message.
    pub(crate) holder: usize,
    /// Its part of [`Plan::leaves`].
    pub(crate) leaves: Range<usize>,
    /// Number of those who use a result that not all ranks wait for; for a holder.
    pub(crate) n_readers: u32,
    pub(crate) wake: Wake,
    /// Exchange of a root that exchanges; root of an exchange.
    pub(crate) partner: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) who: Contributor,
    /// The rank that gets the result for the contributor in a call in which nobody has brought anything.
    pub(crate) sender: Rank,
    pub(crate) is_remote: bool,
    /// The collector right before the node.
    pub(crate) arrive: u16,
    /// The collector that messages of this contributor pass first, on its own host.
    pub(crate) first: u16,
    /// Its part of [`Plan::leaves`].
    pub(crate) leaves: Range<usize>,
}

impl Plan {
    /// Builds the plan of a sound tree over all ranks of the hosts.
    pub(crate) fn of(tree: &Tree, hosts: &[Host]) -> Self {
        let roles = Roles::new(tree, hosts);
        let mut plan = Self {
            nodes: Vec::with_capacity(tree.nodes.len()),
            seats: (0..roles.n_ranks()).map(|rank| roles.seat(rank as Rank)).collect(),
            leaves: Vec::with_capacity(roles.n_ranks()),
            roots: tree.roots().collect(),
            hosts: vec![0; roles.n_ranks()],
            order: tree.order,
        };
        for (at, host) in hosts.iter().enumerate() {
            host.ranks.iter().for_each(|&rank| plan.hosts[rank as usize] = at);
        }
        for (station, node) in roles.stations().iter().zip(&tree.nodes) {
            plan.nodes.push(Node {
                host: station.host,
                server: station.server,
                inputs: station.inputs.iter().map(Input::of).collect(),
                seat: station.seat,
                is_seat_remote: station.seat.is_some_and(|seat| tree.nodes[seat.node].host != station.host),
                below: station.below,
                holder: 0,
                leaves: 0..0,
                n_readers: 0,
                wake: node.wake,
                partner: None,
            });
        }
        for at in plan.roots.clone() {
            plan.find_leaves(at);
        }
        plan.find_holders(roles.from_roots());
        if plan.roots.len() > 1 && tree.between == Between::AllToAll {
            for at in plan.roots.clone() {
                plan.add_exchange(at);
            }
        }
        plan
    }

    /// Whether it is no node of the tree, but where the parts of all roots come together for one of them.
    pub(crate) fn is_exchange(&self, at: usize) -> bool {
        self.nodes[at].partner.is_some_and(|partner| partner < at) && !self.roots.contains(&at)
    }

    fn find_leaves(&mut self, at: usize) -> Range<usize> {
        let first = self.leaves.len();
        for position in 0..self.nodes[at].inputs.len() {
            self.nodes[at].inputs[position].leaves = match self.nodes[at].inputs[position].who {
                Contributor::Rank(rank) => {
                    self.leaves.push(rank);
                    self.leaves.len() - 1..self.leaves.len()
                }
                Contributor::Node(node) => self.find_leaves(node),
            };
        }
        self.nodes[at].leaves = first..self.leaves.len();
        self.nodes[at].leaves.clone()
    }

    fn find_holders(&mut self, from_roots: &[usize]) {
        for &at in from_roots {
            let holder = match self.nodes[at].seat {
                Some(seat) if !self.nodes[at].is_seat_remote => self.nodes[seat.node].holder,
                _ => at,
            };
            let is_reader = |input: &&Input| matches!(input.who, Contributor::Rank(_)) && !input.is_remote;
            // The ranks at the node, and whoever hands the result on from it.
            let n_readers = self.nodes[at].inputs.iter().filter(is_reader).count() as u32 + 1;
            self.nodes[at].holder = holder;
            self.nodes[holder].n_readers += n_readers;
        }
    }

    fn add_exchange(&mut self, root: usize) {
        let exchange = self.nodes.len();
        let of = &self.nodes[root];
        let inputs = self.roots.iter().map(|&other| Input {
            who: Contributor::Node(other),
            sender: self.nodes[other].server,
            is_remote: self.nodes[other].host != of.host,
            arrive: of.below,
            first: of.below,
            leaves: self.nodes[other].leaves.clone(),
        });
        self.nodes.push(Node {
            host: of.host,
            server: of.server,
            inputs: inputs.collect(),
            seat: None,
            is_seat_remote: false,
            below: of.below,
            holder: root,
            leaves: 0..self.leaves.len(),
            n_readers: 0,
            wake: of.wake,
            partner: Some(root),
        });
        self.nodes[root].partner = Some(exchange);
    }
}

impl Input {
    fn of(input: &mpi_tree::Input) -> Self {
        Self {
            who: input.contributor,
            sender: input.sender,
            is_remote: input.is_remote,
            arrive: input.arrive,
            first: input.leave.unwrap_or(input.arrive),
            leaves: 0..0,
        }
    }
}
