//! One rank's part in the calls over one tree.
//!
//! Inside a host contributions go through shared memory, and the last to arrive at a node goes on with what all
//! brought. A contribution from another host goes by message to the node's server, a fixed rank that puts it into
//! its place while it is in the call itself. No rank leaves a call before all that it serves in it has been handed
//! on. Why so: `docs/decisions/who-receives.md`.
//!
//! Nothing is shared between two calls but counters that only grow, so that calls follow each other without a pause:
//! - In a call that all wait for (allreduce, barrier), whoever contributes to the next one has left this one: slots
//!   and results of this one are used no more.
//! - Where contributors leave early (reduce, gather), each waits in its next call until the node's slots have been
//!   combined ([`Counter::Combined`]): a credit of one.
//! - Where the root of the operation may be ahead (bcast, scatter), whoever writes the next such result waits until
//!   all have used this one ([`Counter::Readers`]). Calls that all wait for have a result of their own.
//!
//! All ranks make the same calls in the same order, so that each knows what these counters come to.

mod node;
mod run;

use std::sync::Arc;

use mpi_trace::Operation;
use mpi_tree::Collective;
use units::Rank;

use self::run::Run;
use crate::combine::Combine;
use crate::gate::Gate;
use crate::memory::{Layout, Shared};
use crate::plan::Plan;
use crate::port::{Mailbox, Port, Trouble};
use crate::record::Recorder;

/// A rank's place in one tree.
pub(crate) struct Engine {
    ground: Arc<Ground>,
    rank: Rank,
    host: usize,
    /// Its number in messages.
    tree: u32,
    is_crowded: bool,
    gate: Option<Gate>,
    /// The last call's number; the first is 1.
    sequence: u32,
    /// Calls so far in which ranks contributed.
    n_downs: u32,
    /// Calls among these that all wait for.
    n_arounds: u32,
    /// Whether the last of these was one whose contributors left early.
    has_credit: bool,
    /// Value that each node's counter of readers comes to, by node.
    n_read: Vec<u32>,
    /// Nodes that this rank has gone on from, those farthest from the root first. Empty between calls.
    held: Vec<Held>,
}

/// A tree on one host.
pub(crate) struct Ground {
    pub(crate) plan: Plan,
    pub(crate) layout: Layout,
    /// Memory of all ranks of this host; zero at first.
    pub(crate) memory: Box<dyn Shared>,
}

/// The parts that an engine is made of.
pub(crate) struct Part {
    pub(crate) ground: Arc<Ground>,
    pub(crate) rank: Rank,
    pub(crate) tree: u32,
    /// Whether more ranks than processors are on this machine.
    pub(crate) is_crowded: bool,
    pub(crate) gate: Option<Gate>,
}

/// A call of a rank.
pub(crate) struct Call<'a> {
    pub(crate) collective: Collective,
    /// Root of the operation; 0 if the operation has none.
    pub(crate) root: Rank,
    /// Bytes that one rank brings or gets.
    pub(crate) n_bytes: usize,
    /// Combination of values, for allreduce and reduce.
    pub(crate) combine: Option<Combine>,
    /// Data that this rank brings. For a scatter's root: a block for each rank.
    pub(crate) input: &'a [u8],
    /// Data that this rank gets. For a gather's root: a block of each rank. Empty if the rank gets nothing.
    pub(crate) output: &'a mut [u8],
}

/// A node whose result this rank hands on when it comes.
#[derive(Clone, Copy)]
struct Held {
    node: usize,
    /// Time at which the rank went on from the node.
    since: u64,
}

/// The way that data take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// Way from all to the roots and back.
    Around,
    /// Way from all to the roots of the tree, and from there to the operation's root.
    Down,
    /// Way from the operation's root to the roots of the tree, and from there to all.
    Up,
}

impl Flow {
    fn of(collective: Collective) -> Self {
        match collective {
            Collective::Allreduce | Collective::Barrier => Self::Around,
            Collective::Reduce | Collective::Gather => Self::Down,
            Collective::Bcast | Collective::Scatter => Self::Up,
        }
    }
}

impl Engine {
    pub(crate) fn new(part: Part) -> Self {
        let plan = &part.ground.plan;
        Self {
            n_read: vec![0; plan.nodes.len()],
            host: plan.hosts[part.rank as usize],
            ground: part.ground,
            rank: part.rank,
            tree: part.tree,
            is_crowded: part.is_crowded,
            gate: part.gate,
            sequence: 0,
            n_downs: 0,
            n_arounds: 0,
            has_credit: false,
            held: Vec::new(),
        }
    }

    /// Makes a call. Gives the notice that came with it, the same on all ranks; 0 where nothing goes from one rank to
    /// all.
    pub(crate) fn call(
        &mut self,
        call: &mut Call<'_>,
        port: &mut impl Port,
        mailbox: &mut Mailbox,
        recorder: &mut Recorder,
    ) -> Result<u32, Trouble> {
        let flow = Flow::of(call.collective);
        self.sequence = self.sequence.wrapping_add(1);
        if flow != Flow::Up {
            self.n_downs = self.n_downs.wrapping_add(1);
        }
        if flow == Flow::Around {
            self.n_arounds = self.n_arounds.wrapping_add(1);
        }
        recorder.begin(operation(call.collective));
        let ground = Arc::clone(&self.ground);
        let mut run = Run {
            ground: &ground,
            plan: &ground.plan,
            engine: self,
            flow,
            n_messages: 0,
            is_waiting: false,
            start: recorder.now(),
            parts: Vec::new(),
            notice: 0,
            call,
            port,
            mailbox,
            recorder,
        };
        run.all()?;
        let notice = run.notice;
        self.count(call.root, flow);
        Ok(notice)
    }

    /// Updates the values that the counters come to after a call.
    fn count(&mut self, root: Rank, flow: Flow) {
        let plan = &self.ground.plan;
        match flow {
            Flow::Around => self.has_credit = false,
            Flow::Down => {
                self.has_credit = true;
                let host = plan.hosts[root as usize];
                let of_root = plan.roots.iter().filter(|&&node| plan.nodes[node].host == host);
                of_root.for_each(|&node| self.n_read[node] = self.n_read[node].wrapping_add(1));
            }
            Flow::Up => {
                for (n_read, node) in self.n_read.iter_mut().zip(&plan.nodes) {
                    *n_read = n_read.wrapping_add(node.n_readers);
                }
                // The root has what it gave.
                let seat = plan.seats[root as usize];
                if !plan.nodes[seat.node].inputs[seat.position].is_remote {
                    let holder = plan.nodes[seat.node].holder;
                    self.n_read[holder] = self.n_read[holder].wrapping_sub(1);
                }
            }
        }
    }
}

pub(crate) fn operation(collective: Collective) -> Operation {
    match collective {
        Collective::Allreduce => Operation::ALLREDUCE,
        Collective::Barrier => Operation::BARRIER,
        Collective::Bcast => Operation::BCAST,
        Collective::Gather => Operation::GATHER,
        Collective::Reduce => Operation::REDUCE,
        Collective::Scatter => Operation::SCATTER,
    }
}

#[cfg(test)]
mod tests;
