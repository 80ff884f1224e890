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

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mpi_trace::Operation;
use mpi_tree::{Collective, Contributor, Order, Seat};
use units::Rank;

use crate::combine::Combine;
use crate::gate::Gate;
use crate::memory::{Counter, Layout, NodeMemory, Shared, Wait, Which};
use crate::pause::{Patience, Pause, has_come, release};
use crate::plan::{Input, Plan};
use crate::port::{HEAD_BYTES, Head, Kind, Mailbox, Port, Trouble};
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
    /// Of these, those that all wait for.
    n_arounds: u32,
    /// Whether the last of these was one whose contributors left early.
    has_credit: bool,
    /// By node: what its counter of readers comes to.
    n_read: Vec<u32>,
    /// Nodes that this rank has gone on from, those farthest from the root first. Empty between calls.
    held: Vec<Held>,
}

/// A tree on one host.
pub(crate) struct Ground {
    pub(crate) plan: Plan,
    pub(crate) layout: Layout,
    /// Of all ranks of this host; zero at first.
    pub(crate) memory: Box<dyn Shared>,
}

/// What an engine is made of.
pub(crate) struct Part {
    pub(crate) ground: Arc<Ground>,
    pub(crate) rank: Rank,
    pub(crate) tree: u32,
    /// Whether more ranks than processors are on this machine.
    pub(crate) is_crowded: bool,
    pub(crate) gate: Option<Gate>,
}

/// What a rank calls.
pub(crate) struct Call<'a> {
    pub(crate) collective: Collective,
    /// Of the operation; 0 where it has none.
    pub(crate) root: Rank,
    /// Bytes that one rank brings or gets.
    pub(crate) n_bytes: usize,
    /// Of allreduce and reduce.
    pub(crate) combine: Option<Combine>,
    /// What this rank brings. Of a scatter's root: a block for each rank.
    pub(crate) input: &'a [u8],
    /// What it gets. Of a gather's root: a block of each rank. Empty where it gets nothing.
    pub(crate) output: &'a mut [u8],
}

/// A node whose result this rank hands on when it comes.
#[derive(Clone, Copy)]
struct Held {
    node: usize,
    /// When it went on from there.
    since: u64,
}

/// Which ways data take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// From all to the roots and back.
    Around,
    /// From all to the roots of the tree, and from there to the operation's.
    Down,
    /// From the operation's root to those of the tree, and from there to all.
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

    /// Makes a call. Gives the notice that came with it, if it is one that all wait for.
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

    /// What the counters come to after a call.
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

/// One call under way.
struct Run<'a, 'c, P> {
    engine: &'a mut Engine,
    ground: &'a Ground,
    plan: &'a Plan,
    call: &'a mut Call<'c>,
    flow: Flow,
    port: &'a mut P,
    mailbox: &'a mut Mailbox,
    recorder: &'a mut Recorder,
    /// When it began.
    start: u64,
    /// Messages to come for nodes that this rank serves, and for itself as root; those for what it holds do not
    /// count.
    n_messages: usize,
    /// Whether this rank waits for its own result.
    is_waiting: bool,
    /// Of the operation's root: what the tree's roots had for it.
    parts: Vec<Option<Vec<u8>>>,
    notice: u32,
}

impl<'a, P: Port> Run<'a, '_, P> {
    fn all(&mut self) -> Result<(), Trouble> {
        let (rank, root) = (self.engine.rank, self.call.root);
        self.prepare();
        let seat = self.plan.seats[rank as usize];
        match self.flow {
            Flow::Around | Flow::Down => {
                self.is_waiting = self.flow == Flow::Around;
                let mut value = self.mailbox.buffer();
                value.extend_from_slice(&self.call.input[..self.call.input.len().min(self.call.n_bytes)]);
                self.bring(seat, &value, self.start)?;
                self.mailbox.give_back(value);
                if self.flow == Flow::Down {
                    self.recorder.passed(self.input(seat).first, self.start, self.call.n_bytes);
                }
            }
            Flow::Up if rank == root => {
                self.give()?;
                self.recorder.passed(self.input(seat).first, self.start, self.call.n_bytes);
            }
            Flow::Up => self.is_waiting = true,
        }
        self.wait()?;
        if self.flow == Flow::Down && rank == root {
            self.join();
        }
        Ok(())
    }

    /// Finds out what this rank has to do for others.
    fn prepare(&mut self) {
        let (plan, rank, root) = (self.plan, self.engine.rank, self.call.root);
        let host_of_root = plan.hosts[root as usize];
        for (at, node) in plan.nodes.iter().enumerate().rev().filter(|(_, node)| node.server == rank) {
            let is_exchange = plan.is_exchange(at);
            match self.flow {
                Flow::Around | Flow::Down if self.flow == Flow::Around || !is_exchange => {
                    self.n_messages += node.inputs.iter().filter(|input| input.is_remote).count();
                }
                Flow::Up if node.seat.is_some() => self.engine.held.push(Held { node: at, since: self.start }),
                // A root on the host of the operation's root is released by that one.
                Flow::Up if !is_exchange && node.host != host_of_root => self.n_messages += 1,
                _ => {}
            }
        }
        if self.flow == Flow::Down && rank == root {
            self.parts = plan.roots.iter().map(|_| None).collect();
            self.n_messages += plan.roots.iter().filter(|&&at| plan.nodes[at].host != host_of_root).count();
        }
    }

    /// Does what comes up until nothing is left to be done.
    fn wait(&mut self) -> Result<(), Trouble> {
        let seat = self.plan.seats[self.engine.rank as usize];
        let wake = self.plan.nodes[seat.node].wake;
        let patience = Patience { is_crowded: self.engine.is_crowded, wake };
        let mut pause = Pause::new(patience);
        loop {
            let mut has_moved = self.take_messages()?;
            has_moved |= self.hand_on()?;
            has_moved |= self.take_result(seat);
            has_moved |= self.take_parts();
            if self.n_messages == 0 && self.engine.held.is_empty() && !self.is_waiting && self.has_parts() {
                return Ok(());
            }
            if has_moved {
                pause = Pause::new(patience);
                continue;
            }
            let sleep_on = self.only_wait(seat).map(|(node, wait)| (self.memory(node), wait));
            let sequence = self.engine.sequence;
            pause.step(sleep_on, sequence, self.port)?;
        }
    }

    /// The one word that all waits for, if it is one.
    fn only_wait(&self, seat: Seat) -> Option<(usize, Wait)> {
        if self.awaits_messages(seat) || !self.has_parts() {
            return None;
        }
        let is_held = |node: usize| self.engine.held.iter().any(|held| held.node == node);
        let held = self.engine.held.iter().filter_map(|held| self.plan.nodes[held.node].seat).map(|seat| seat.node);
        let mut waits = held.filter(|&node| !is_held(node)).map(|node| (node, Wait::Forward));
        let own = (self.is_waiting && !is_held(seat.node)).then_some((seat.node, Wait::Released));
        match (waits.next(), waits.next(), own) {
            (Some(wait), None, None) | (None, None, Some(wait)) => Some(wait),
            _ => None,
        }
    }

    fn awaits_messages(&self, seat: Seat) -> bool {
        let is_held_remote = |held: &Held| self.plan.nodes[held.node].is_seat_remote;
        self.n_messages > 0
            || (self.is_waiting && self.input(seat).is_remote)
            || self.engine.held.iter().any(is_held_remote)
    }

    fn take_messages(&mut self) -> Result<bool, Trouble> {
        let seat = self.plan.seats[self.engine.rank as usize];
        let key = (self.engine.rank, self.engine.tree, self.engine.sequence);
        let mut has_moved = false;
        while self.awaits_messages(seat) {
            let Some((head, message)) = self.mailbox.take(self.port, key)? else { break };
            self.handle(head, &message[HEAD_BYTES..])?;
            self.mailbox.give_back(message);
            has_moved = true;
        }
        Ok(has_moved)
    }

    fn handle(&mut self, head: Head, data: &[u8]) -> Result<(), Trouble> {
        let seat = Seat { node: head.node as usize, position: head.position as usize };
        let arrived = self.recorder.now();
        match head.kind {
            Kind::Down => {
                self.n_messages -= 1;
                self.arrive(seat, data, arrived, head.word)?;
                if self.flow == Flow::Down {
                    self.recorder.passed(self.input(seat).arrive, arrived, data.len());
                }
            }
            Kind::Up => {
                self.notice = head.word;
                match self.input(seat).who {
                    Contributor::Rank(_) => {
                        self.is_waiting = false;
                        self.recorder.passed(self.input(seat).first, self.start, data.len());
                        self.put_out(data);
                    }
                    Contributor::Node(node) => {
                        let at = self.engine.held.iter().position(|held| held.node == node);
                        let held = self.engine.held.remove(at.expect("a result comes to who waits for it"));
                        self.recorder.passed(self.plan.nodes[node].below, held.since, data.len());
                        self.publish(node, data)?;
                        self.release(node)?;
                    }
                }
            }
            Kind::Give => {
                self.n_messages -= 1;
                self.publish(seat.node, data)?;
                self.recorder.passed(self.plan.nodes[seat.node].below, arrived, data.len());
                self.release(seat.node)?;
            }
            Kind::Deliver => {
                self.n_messages -= 1;
                self.parts[seat.position] = Some(data.to_owned());
            }
        }
        Ok(())
    }

    /// Releases nodes below nodes that have been released.
    fn hand_on(&mut self) -> Result<bool, Trouble> {
        let mut has_moved = false;
        for at in (0..self.engine.held.len()).rev() {
            let held = self.engine.held[at];
            let node = &self.plan.nodes[held.node];
            let seat = node.seat.expect("a root is not held");
            if node.is_seat_remote || !has_come(self.memory(seat.node).wait(Wait::Forward), self.engine.sequence) {
                continue;
            }
            self.engine.held.remove(at);
            self.recorder.passed(node.below, held.since, self.size(&node.leaves));
            self.take_notice(held.node);
            self.release(held.node)?;
            has_moved = true;
        }
        Ok(has_moved)
    }

    fn take_result(&mut self, seat: Seat) -> bool {
        let is_here = self.is_waiting && !self.input(seat).is_remote;
        if !is_here || !has_come(self.memory(seat.node).wait(Wait::Released), self.engine.sequence) {
            return false;
        }
        self.is_waiting = false;
        let input = self.input(seat);
        self.recorder.passed(input.first, self.start, self.call.n_bytes);
        self.take_notice(seat.node);
        let value = self.read(seat.node, input.leaves.clone());
        self.put_out(&value);
        self.mailbox.give_back(value);
        if self.flow == Flow::Up {
            self.count_reader(seat.node);
        }
        true
    }

    /// Takes what roots on this host have for this rank as the operation's root.
    fn take_parts(&mut self) -> bool {
        let mut has_moved = false;
        for at in 0..self.parts.len() {
            let node = self.plan.roots[at];
            let is_here = self.plan.nodes[node].host == self.engine.host;
            if self.parts[at].is_none()
                && is_here
                && has_come(self.memory(node).wait(Wait::Released), self.engine.sequence)
            {
                self.parts[at] = Some(self.read(node, self.plan.nodes[node].leaves.clone()));
                self.count_reader(node);
                has_moved = true;
            }
        }
        has_moved
    }

    fn has_parts(&self) -> bool {
        self.parts.iter().all(Option::is_some)
    }

    /// Makes one result of what the tree's roots had.
    fn join(&mut self) {
        let parts: Vec<Vec<u8>> = std::mem::take(&mut self.parts).into_iter().flatten().collect();
        for (part, &root) in parts.iter().zip(&self.plan.roots) {
            if self.call.collective == Collective::Gather {
                let n = self.call.n_bytes;
                let ranks = &self.plan.leaves[self.plan.nodes[root].leaves.clone()];
                for (&rank, block) in ranks.iter().zip(part.chunks_exact(n)) {
                    self.call.output[rank as usize * n..][..n].copy_from_slice(block);
                }
            } else if root == self.plan.roots[0] {
                self.call.output.copy_from_slice(part);
            } else if let Some(combine) = self.call.combine {
                combine(self.call.output, part);
            }
        }
    }

    /// Gives the tree's roots what this rank, the operation's root, has for all.
    fn give(&mut self) -> Result<(), Trouble> {
        for &root in &self.plan.roots {
            let node = &self.plan.nodes[root];
            let mut value = self.mailbox.buffer();
            if self.call.collective == Collective::Scatter {
                let n = self.call.n_bytes;
                for &rank in &self.plan.leaves[node.leaves.clone()] {
                    value.extend_from_slice(&self.call.input[rank as usize * n..][..n]);
                }
            } else {
                value.extend_from_slice(self.call.input);
            }
            if node.host == self.engine.host {
                let start = self.recorder.now();
                self.publish(root, &value)?;
                self.recorder.passed(node.below, start, value.len());
                self.release(root)?;
            } else {
                self.send(node.server, Kind::Give, Seat { node: root, position: 0 }, 0, &value)?;
            }
            self.mailbox.give_back(value);
        }
        Ok(())
    }

    /// Contributes, here or by message.
    fn bring(&mut self, seat: Seat, value: &[u8], since: u64) -> Result<(), Trouble> {
        let rank = self.engine.rank;
        if self.input(seat).is_remote {
            let server = self.plan.nodes[seat.node].server;
            self.send(server, Kind::Down, seat, rank, value)?;
            if let Some(gate) = &self.engine.gate {
                gate.sent();
            }
            return Ok(());
        }
        self.arrive(seat, value, since, rank)
    }

    /// Puts a contribution into its place, and goes on from there if it was the last. `word` is who gets the result;
    /// at an exchange, the notice.
    fn arrive(&mut self, seat: Seat, value: &[u8], since: u64, word: u32) -> Result<(), Trouble> {
        let memory = self.memory(seat.node);
        // Nobody leaves early from an exchange.
        let is_exchange = self.plan.is_exchange(seat.node);
        if self.engine.has_credit && !is_exchange {
            self.until(memory.counter(Counter::Combined), self.engine.n_downs.wrapping_sub(1))?;
        }
        let slot = memory.slot(seat.position);
        slot.set_head(0, since);
        slot.set_head(1, word.into());
        let n_inputs = self.plan.nodes[seat.node].inputs.len() as u32;
        let n_calls = if is_exchange { self.engine.n_arounds } else { self.engine.n_downs };
        let before = n_calls.wrapping_sub(1).wrapping_mul(n_inputs);
        let arrived = memory.counter(Counter::Arrived);
        let n_arrived = if self.is_combined_early() {
            self.lock(memory)?;
            // Nobody else counts while this rank has the lock.
            if arrived.load(Ordering::Relaxed) == before {
                memory.slot(n_inputs as usize).write(value);
            } else {
                self.combine_early(memory, n_inputs as usize, value);
            }
            let n_arrived = arrived.fetch_add(1, Ordering::AcqRel);
            memory.counter(Counter::Lock).store(0, Ordering::Release);
            n_arrived
        } else {
            slot.write(value);
            arrived.fetch_add(1, Ordering::AcqRel)
        };
        if n_arrived.wrapping_sub(before) == n_inputs - 1 { self.go_on(seat.node) } else { Ok(()) }
    }

    fn is_combined_early(&self) -> bool {
        self.plan.order == Order::Arrival && self.call.combine.is_some()
    }

    fn combine_early(&mut self, memory: NodeMemory<'_>, place: usize, value: &[u8]) {
        let Some(combine) = self.call.combine else { return };
        let mut before = self.mailbox.buffer();
        memory.slot(place).read(0..value.len(), &mut before);
        combine(&mut before, value);
        memory.slot(place).write(&before);
        self.mailbox.give_back(before);
    }

    fn lock(&mut self, memory: NodeMemory<'_>) -> Result<(), Trouble> {
        let lock = memory.counter(Counter::Lock);
        let mut pause = self.pause();
        while lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            pause.step(None, self.engine.sequence, self.port)?;
        }
        Ok(())
    }

    /// Goes on from a node to which all contributors have come.
    fn go_on(&mut self, at: usize) -> Result<(), Trouble> {
        let node = &self.plan.nodes[at];
        let memory = self.memory(at);
        let value = self.combined(at);
        let notice = memory.slot(0).head(1) as u32;
        memory.counter(Counter::Combined).store(self.engine.n_downs, Ordering::Release);
        let since = self.recorder.now();
        match (node.seat, node.partner) {
            (Some(seat), _) => {
                if self.flow == Flow::Around {
                    self.engine.held.push(Held { node: at, since });
                }
                self.bring(seat, &value, since)?;
                if self.flow == Flow::Down {
                    self.recorder.passed(node.below, since, value.len());
                }
            }
            (None, Some(root)) if self.plan.is_exchange(at) => {
                // The exchange of a root: its own part came when the root had combined.
                let position = self.plan.roots.iter().position(|&other| other == root).expect("it is one");
                let since = memory.slot(position).head(0);
                self.notice = notice;
                self.publish(root, &value)?;
                self.recorder.passed(node.below, since, value.len());
                self.release(root)?;
            }
            (None, Some(_)) if self.flow == Flow::Around => self.exchange(at, &value, since)?,
            (None, _) => self.finish(at, &value, since)?,
        }
        self.mailbox.give_back(value);
        Ok(())
    }

    /// What all contributors brought.
    fn combined(&mut self, at: usize) -> Vec<u8> {
        let node = &self.plan.nodes[at];
        let memory = self.memory(at);
        let mut value = self.mailbox.buffer();
        if self.is_combined_early() {
            memory.slot(node.inputs.len()).read(0..self.call.n_bytes, &mut value);
            return value;
        }
        match self.call.combine {
            None => {
                for (position, input) in node.inputs.iter().enumerate() {
                    memory.slot(position).read(0..self.size(&input.leaves), &mut value);
                }
            }
            Some(combine) => {
                memory.slot(0).read(0..self.call.n_bytes, &mut value);
                let mut next = self.mailbox.buffer();
                for position in 1..node.inputs.len() {
                    next.clear();
                    memory.slot(position).read(0..self.call.n_bytes, &mut next);
                    combine(&mut value, &next);
                }
                self.mailbox.give_back(next);
            }
        }
        value
    }

    /// Brings a root's part to the exchanges of all roots.
    fn exchange(&mut self, root: usize, value: &[u8], since: u64) -> Result<(), Trouble> {
        let position = self.plan.roots.iter().position(|&other| other == root).expect("it is one");
        // That of the first root counts for all.
        let notice = if position == 0 { self.port.notice() } else { 0 };
        for &other in &self.plan.roots {
            let exchange = self.plan.nodes[other].partner.expect("several roots exchange");
            let seat = Seat { node: exchange, position };
            if self.input(seat).is_remote {
                self.send(self.plan.nodes[exchange].server, Kind::Down, seat, notice, value)?;
            } else {
                self.arrive(seat, value, since, notice)?;
            }
        }
        Ok(())
    }

    /// The only root, or one that has a part for the operation's root.
    fn finish(&mut self, root: usize, value: &[u8], since: u64) -> Result<(), Trouble> {
        let below = self.plan.nodes[root].below;
        if self.flow == Flow::Around {
            self.notice = self.port.notice();
            self.publish(root, value)?;
            self.recorder.passed(below, since, value.len());
            return self.release(root);
        }
        if self.plan.hosts[self.call.root as usize] == self.engine.host {
            self.publish(root, value)?;
            release(self.memory(root), Wait::Released, self.engine.sequence);
        } else {
            let position = self.plan.roots.iter().position(|&other| other == root).expect("it is one");
            self.send(self.call.root, Kind::Deliver, Seat { node: root, position }, 0, value)?;
        }
        self.recorder.passed(below, since, value.len());
        Ok(())
    }

    /// Puts the result for a host's part of the tree into its place.
    fn publish(&mut self, holder: usize, value: &[u8]) -> Result<(), Trouble> {
        let memory = self.memory(holder);
        if self.flow != Flow::Around {
            let n_read = self.engine.n_read[holder];
            self.until(memory.counter(Counter::Readers), n_read)?;
        }
        let result = memory.result(self.which());
        result.set_head(0, self.notice.into());
        result.write(value);
        Ok(())
    }

    /// Hands the result on to all who contribute to a node: first to other hosts, then to those here who hand it on,
    /// then to those who go back to computing. Whoever computes may take the processor from one who has still to
    /// send.
    fn release(&mut self, at: usize) -> Result<(), Trouble> {
        let (node, memory, start) = (&self.plan.nodes[at], self.memory(at), self.recorder.now());
        for (position, input) in node.inputs.iter().enumerate().filter(|(_, input)| input.is_remote) {
            if self.flow == Flow::Up && input.who == Contributor::Rank(self.call.root) {
                self.recorder.passed(input.arrive, start, 0);
                continue;
            }
            // Whoever gets the message may use the slot for the next call.
            let (since, to) = match self.flow {
                Flow::Up => (start, input.sender),
                _ => (memory.slot(position).head(0), memory.slot(position).head(1) as Rank),
            };
            let value = self.read(at, input.leaves.clone());
            self.send(to, Kind::Up, Seat { node: at, position }, self.notice, &value)?;
            self.recorder.passed(input.arrive, since, value.len());
            self.mailbox.give_back(value);
        }
        release(memory, Wait::Forward, self.engine.sequence);
        release(memory, Wait::Released, self.engine.sequence);
        if self.flow == Flow::Up {
            self.count_reader(at);
        }
        if let Some(gate) = &self.engine.gate {
            gate.released();
        }
        Ok(())
    }

    /// Those leaves' part of the result that a node's host has.
    fn read(&mut self, at: usize, leaves: Range<usize>) -> Vec<u8> {
        let holder = self.plan.nodes[at].holder;
        let mut value = self.mailbox.buffer();
        let from = if self.is_in_blocks() {
            (leaves.start - self.plan.nodes[holder].leaves.start) * self.call.n_bytes
        } else {
            0
        };
        let bytes = from..from + self.size(&leaves);
        self.memory(holder).result(self.which()).read(bytes, &mut value);
        value
    }

    fn take_notice(&mut self, at: usize) {
        if self.flow == Flow::Around {
            self.notice = self.memory(self.plan.nodes[at].holder).result(Which::AllWait).head(0) as u32;
        }
    }

    fn which(&self) -> Which {
        if self.flow == Flow::Around { Which::AllWait } else { Which::SomeWait }
    }

    fn put_out(&mut self, value: &[u8]) {
        self.call.output[..value.len()].copy_from_slice(value);
    }

    fn count_reader(&self, at: usize) {
        let holder = self.memory(self.plan.nodes[at].holder);
        holder.counter(Counter::Readers).fetch_add(1, Ordering::AcqRel);
    }

    /// Waits for a counter that others drive on, who wait for nothing that this rank still has to do.
    fn until(&mut self, counter: &AtomicU32, value: u32) -> Result<(), Trouble> {
        let mut pause = self.pause();
        while counter.load(Ordering::Acquire) != value {
            pause.step(None, self.engine.sequence, self.port)?;
        }
        Ok(())
    }

    fn pause(&self) -> Pause {
        let seat = self.plan.seats[self.engine.rank as usize];
        Pause::new(Patience { is_crowded: self.engine.is_crowded, wake: self.plan.nodes[seat.node].wake })
    }

    fn send(&mut self, to: Rank, kind: Kind, seat: Seat, word: u32, data: &[u8]) -> Result<(), Trouble> {
        let mut message = self.mailbox.buffer();
        let head = Head {
            kind,
            tree: self.engine.tree,
            sequence: self.engine.sequence,
            node: seat.node as u32,
            position: seat.position as u32,
            word,
        };
        head.write(&mut message);
        message.extend_from_slice(data);
        self.port.send(to, &message)?;
        self.mailbox.give_back(message);
        Ok(())
    }

    fn input(&self, seat: Seat) -> &'a Input {
        &self.plan.nodes[seat.node].inputs[seat.position]
    }

    fn memory(&self, node: usize) -> NodeMemory<'a> {
        self.ground.layout.node(&*self.ground.memory, node)
    }

    /// Bytes that these leaves bring or get together.
    fn size(&self, leaves: &Range<usize>) -> usize {
        if self.is_in_blocks() { leaves.len() * self.call.n_bytes } else { self.call.n_bytes }
    }

    fn is_in_blocks(&self) -> bool {
        matches!(self.call.collective, Collective::Gather | Collective::Scatter)
    }
}

#[cfg(test)]
mod tests;
