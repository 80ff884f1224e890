//! Operations over the trees of a tree file; [`mpi_tree::Roles`] defines who sends to whom.
//!
//! Whoever contributes to a node sends to its server, inside a host as well: the machine's levels say what that costs.
//! Values are joined in the order of the file. That takes no simulated time, so that an order of arrival would be as
//! fast.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mpi_tree::{Collective, Contributor, Forest, Roles};
use units::Rank;

use super::{Algorithm, Block, Combine, Group};
use crate::message::{Handle, Wanted};
use crate::switch::Switch;
use crate::world::Stopped;

/// All trees of a file.
#[derive(Clone, Debug)]
pub(super) struct Schedules {
    forest: Arc<Forest>,
    of_trees: Vec<Arc<Schedule>>,
}

/// Roles of all ranks in calls over one tree. Members of a group are the ranks of the tree.
#[derive(Debug)]
pub(super) struct Schedule {
    roles: Roles,
    /// Nodes that each rank serves, by rank, those nearest to a root first.
    served: Vec<Vec<usize>>,
    /// Ranks below each node, by node, from left to right.
    below: Vec<Vec<Rank>>,
    roots: Vec<usize>,
}

impl Schedules {
    pub(super) fn new(forest: &Arc<Forest>) -> Self {
        let of_tree = |tree| {
            let roles = Roles::new(tree, &forest.hosts);
            let mut served = vec![Vec::new(); roles.n_ranks()];
            for &node in roles.from_roots() {
                served[roles.stations()[node].server as usize].push(node);
            }
            Arc::new(Schedule { served, below: roles.ranks_below(), roots: tree.roots().collect(), roles })
        };
        Self { forest: Arc::clone(forest), of_trees: forest.trees.iter().map(of_tree).collect() }
    }

    pub(super) fn n_ranks(&self) -> usize {
        self.forest.n_ranks()
    }

    /// The tree that the file's rules have for a call.
    pub(super) fn rule(&self, operation: Collective, bytes: usize) -> Option<&Arc<Schedule>> {
        self.forest.rule(operation, bytes as u64).map(|tree| &self.of_trees[tree])
    }
}

impl Schedule {
    fn server(&self, node: usize) -> Rank {
        self.roles.stations()[node].server
    }

    /// The number of the message between a root and others.
    fn tag_of_root(&self, root: usize) -> u16 {
        self.roles.stations()[root].below
    }
}

impl<S: Switch> Group<'_, '_, S> {
    pub(super) fn tree_barrier(&mut self, schedule: &Schedule) -> Result<Algorithm, Stopped> {
        self.around(schedule, Block::Size(0), &|_, _| {})?;
        Ok(Algorithm::Tree)
    }

    pub(super) fn tree_allreduce(
        &mut self,
        schedule: &Schedule,
        data: &mut Block,
        combine: &Combine<'_>,
    ) -> Result<Algorithm, Stopped> {
        *data = self.around(schedule, data.clone(), &|into, part| into.combine_all(part, combine))?;
        Ok(Algorithm::Tree)
    }

    pub(super) fn tree_reduce(
        &mut self,
        schedule: &Schedule,
        root: usize,
        data: &mut Block,
        combine: &Combine<'_>,
    ) -> Result<Algorithm, Stopped> {
        let join = |into: &mut Block, part: &Block| into.combine_all(part, combine);
        let parts = self.bring_to_root(schedule, root, data.clone(), &join)?;
        if let Some(result) = joined(parts, &join) {
            *data = result;
        }
        Ok(Algorithm::Tree)
    }

    pub(super) fn tree_gather(
        &mut self,
        schedule: &Schedule,
        root: usize,
        block: &Block,
    ) -> Result<(Block, Algorithm), Stopped> {
        let join = |into: &mut Block, part: &Block| into.append(part);
        let parts = self.bring_to_root(schedule, root, block.clone(), &join)?;
        let Some(from_left) = joined(parts, &join) else { return Ok((block.like(0), Algorithm::Tree)) };
        let size = block.len();
        let mut all = block.like(size * self.members.len());
        for (idx, rank) in schedule.roots.iter().flat_map(|root| &schedule.below[*root]).enumerate() {
            all.put(*rank as usize * size..(*rank as usize + 1) * size, &from_left.part(idx * size..(idx + 1) * size));
        }
        Ok((all, Algorithm::Tree))
    }

    pub(super) fn tree_broadcast(
        &mut self,
        schedule: &Schedule,
        root: usize,
        data: &mut Block,
    ) -> Result<Algorithm, Stopped> {
        let mut sent = Vec::new();
        let values = self.give(schedule, root, &|_| data.clone(), &mut sent)?;
        let own = self.hand_up(schedule, values, Some(root), None, &mut sent)?;
        self.finish(&sent)?;
        if let Some(own) = own.filter(|_| self.me != root) {
            *data = own;
        }
        Ok(Algorithm::Tree)
    }

    pub(super) fn tree_scatter(
        &mut self,
        schedule: &Schedule,
        root: usize,
        data: &Block,
        block: usize,
    ) -> Result<(Block, Algorithm), Stopped> {
        let at = |rank: usize| rank * block..(rank + 1) * block;
        let below = |node: usize| {
            let mut part = data.like(0);
            schedule.below[node].iter().for_each(|rank| part.append(&data.part(at(*rank as usize))));
            part
        };
        let mut sent = Vec::new();
        let values = self.give(schedule, root, &below, &mut sent)?;
        let own = self.hand_up(schedule, values, Some(root), Some(block), &mut sent)?;
        self.finish(&sent)?;
        let own = own.filter(|_| self.me != root).unwrap_or_else(|| data.part(at(root)));
        Ok((own, Algorithm::Tree))
    }

    /// Joins everybody's data, and brings the result to all.
    fn around(&mut self, schedule: &Schedule, own: Block, join: &dyn Fn(&mut Block, &Block)) -> Result<Block, Stopped> {
        let mut sent = Vec::new();
        let values = self.bring_down(schedule, own, join, &mut sent)?;
        let servers = schedule.roots.iter().map(|root| schedule.server(*root)).collect();
        let parts = self.between_roots(schedule, &servers, values, &mut sent)?;
        let mut values = BTreeMap::new();
        if let Some(result) = joined(parts, join) {
            let is_served = |root: &&usize| schedule.server(**root) == self.me as Rank;
            values.extend(schedule.roots.iter().filter(is_served).map(|root| (*root, result.clone())));
        }
        let result = self.hand_up(schedule, values, None, None, &mut sent)?;
        self.finish(&sent)?;
        Ok(result.expect("everybody gets the result"))
    }

    /// Joins everybody's data down to the roots of the tree, and brings these to the root of the operation; nothing to
    /// others.
    fn bring_to_root(
        &mut self,
        schedule: &Schedule,
        root: usize,
        own: Block,
        join: &dyn Fn(&mut Block, &Block),
    ) -> Result<Vec<Block>, Stopped> {
        let mut sent = Vec::new();
        let values = self.bring_down(schedule, own, join, &mut sent)?;
        let parts = self.between_roots(schedule, &BTreeSet::from([root as Rank]), values, &mut sent)?;
        self.finish(&sent)?;
        Ok(parts)
    }

    /// Joins what comes to the nodes that this rank serves; gives what the roots among them have.
    fn bring_down(
        &mut self,
        schedule: &Schedule,
        own: Block,
        join: &dyn Fn(&mut Block, &Block),
        sent: &mut Vec<Handle>,
    ) -> Result<BTreeMap<usize, Block>, Stopped> {
        let (me, stations) = (self.me as Rank, schedule.roles.stations());
        let served = &schedule.served[self.me];
        let mut awaited = BTreeMap::new();
        for input in served.iter().flat_map(|node| &stations[*node].inputs).filter(|input| input.sender != me) {
            awaited.insert(input.arrive, self.rank.receive(self.numbered(input.sender, input.arrive)));
        }
        let seat = schedule.roles.seat(me);
        let mut own = Some(own);
        let station = &stations[seat.node];
        if let Some(own) = own.take_if(|_| station.server != me) {
            sent.push(self.send_numbered(station.server, station.inputs[seat.position].arrive, own));
        }
        let mut values = BTreeMap::new();
        for &node in served.iter().rev() {
            let inputs = &stations[node].inputs;
            let handles: Vec<Handle> = inputs.iter().filter_map(|input| awaited.get(&input.arrive).copied()).collect();
            self.rank.wait_all(&handles)?;
            let mut parts = Vec::with_capacity(inputs.len());
            for input in inputs {
                parts.push(match (awaited.remove(&input.arrive), input.contributor) {
                    (Some(handle), _) => self.take(handle),
                    (None, Contributor::Rank(_)) => own.take().expect("a rank contributes once"),
                    (None, Contributor::Node(child)) => values.remove(&child).expect("children come before parents"),
                });
            }
            let value = joined(parts, join).expect("each node has a contributor");
            match stations[node].seat.filter(|seat| stations[seat.node].server != me) {
                Some(seat) => {
                    let parent = &stations[seat.node];
                    sent.push(self.send_numbered(parent.server, parent.inputs[seat.position].arrive, value));
                }
                None => drop(values.insert(node, value)),
            }
        }
        Ok(values)
    }

    /// Brings what the roots of the tree have to some ranks; gives them all, in the order of the roots, to these ranks
    /// alone.
    fn between_roots(
        &mut self,
        schedule: &Schedule,
        to: &BTreeSet<Rank>,
        mut values: BTreeMap<usize, Block>,
        sent: &mut Vec<Handle>,
    ) -> Result<Vec<Block>, Stopped> {
        let me = self.me as Rank;
        for (root, value) in &values {
            for rank in to.iter().filter(|rank| **rank != me) {
                sent.push(self.send_numbered(*rank, schedule.tag_of_root(*root), value.clone()));
            }
        }
        if !to.contains(&me) {
            return Ok(Vec::new());
        }
        let mut awaited = BTreeMap::new();
        for root in schedule.roots.iter().filter(|root| !values.contains_key(root)) {
            let wanted = self.numbered(schedule.server(*root), schedule.tag_of_root(*root));
            awaited.insert(*root, self.rank.receive(wanted));
        }
        self.rank.wait_all(&awaited.values().copied().collect::<Vec<_>>())?;
        for (root, handle) in awaited {
            let value = self.take(handle);
            values.insert(root, value);
        }
        Ok(values.into_values().collect())
    }

    /// Brings what the operation's root has for each root of the tree to the servers of these.
    fn give(
        &mut self,
        schedule: &Schedule,
        root: usize,
        part: &dyn Fn(usize) -> Block,
        sent: &mut Vec<Handle>,
    ) -> Result<BTreeMap<usize, Block>, Stopped> {
        let mut values = BTreeMap::new();
        for &of_tree in &schedule.roots {
            let (server, tag) = (schedule.server(of_tree), schedule.tag_of_root(of_tree));
            if self.me == root && server != root as Rank {
                sent.push(self.send_numbered(server, tag, part(of_tree)));
            } else if self.me == root {
                values.insert(of_tree, part(of_tree));
            } else if server == self.me as Rank {
                let handle = self.rank.receive(self.numbered(root as Rank, tag));
                self.rank.wait_all(&[handle])?;
                values.insert(of_tree, self.take(handle));
            }
        }
        Ok(values)
    }

    /// Hands on what roots have, up to each rank but `but`: all of it, or its block of so many bytes, as they lie from
    /// left to right.
    fn hand_up(
        &mut self,
        schedule: &Schedule,
        mut values: BTreeMap<usize, Block>,
        but: Option<usize>,
        block: Option<usize>,
        sent: &mut Vec<Handle>,
    ) -> Result<Option<Block>, Stopped> {
        let (me, stations) = (self.me as Rank, schedule.roles.stations());
        let mut awaited = BTreeMap::new();
        for &node in &schedule.served[self.me] {
            if let Some(seat) = stations[node].seat.filter(|seat| stations[seat.node].server != me) {
                let parent = &stations[seat.node];
                let wanted = self.numbered(parent.server, parent.inputs[seat.position].arrive);
                awaited.insert(node, self.rank.receive(wanted));
            }
        }
        let seat = schedule.roles.seat(me);
        let at = &stations[seat.node];
        let is_sent = at.server != me && but != Some(self.me);
        let own = is_sent.then(|| self.rank.receive(self.numbered(at.server, at.inputs[seat.position].arrive)));
        let mut got = None;
        for &node in &schedule.served[self.me] {
            let value = match awaited.remove(&node) {
                Some(handle) => {
                    self.rank.wait_all(&[handle])?;
                    self.take(handle)
                }
                None => values.remove(&node).expect("parents come before children"),
            };
            let mut from = 0;
            for input in &stations[node].inputs {
                let n_ranks = match input.contributor {
                    Contributor::Rank(_) => 1,
                    Contributor::Node(child) => schedule.below[child].len(),
                };
                let part = block.map_or_else(|| value.clone(), |block| value.part(from..from + n_ranks * block));
                from += n_ranks * block.unwrap_or(0);
                match input.contributor {
                    Contributor::Rank(rank) if but == Some(rank as usize) => {}
                    _ if input.sender != me => sent.push(self.send_numbered(input.sender, input.arrive, part)),
                    Contributor::Rank(_) => got = Some(part),
                    Contributor::Node(child) => drop(values.insert(child, part)),
                }
            }
        }
        if let Some(handle) = own {
            self.rank.wait_all(&[handle])?;
            got = Some(self.take(handle));
        }
        Ok(got)
    }

    /// A message of a call is named by the collector that it passes, of which each has a number.
    fn numbered(&self, from: Rank, collector: u16) -> Wanted {
        Wanted { tag: Some(collector.into()), ..self.wanted(from as usize) }
    }

    fn send_numbered(&mut self, to: Rank, collector: u16, data: Block) -> Handle {
        self.begin_to_send_tagged(to as usize, collector.into(), data)
    }

    fn finish(&mut self, sent: &[Handle]) -> Result<(), Stopped> {
        self.rank.wait_all(sent)?;
        sent.iter().for_each(|handle| drop(self.rank.take(*handle)));
        Ok(())
    }
}

/// All in one, from left to right.
fn joined(parts: Vec<Block>, join: &dyn Fn(&mut Block, &Block)) -> Option<Block> {
    parts.into_iter().reduce(|mut into, part| {
        join(&mut into, &part);
        into
    })
}
