//! One call of one rank: what it brings, what it waits for, and what it does for others meanwhile.

use std::ops::Range;

use mpi_tree::{Collective, Contributor, Seat};
use units::Rank;

use super::{Call, Engine, Flow, Ground, Held};
use crate::memory::{NodeMemory, Wait, Which};
use crate::pause::{Patience, Pause, has_come};
use crate::plan::{Input, Plan};
use crate::port::{HEAD_BYTES, Head, Kind, Mailbox, Port, Trouble};
use crate::record::Recorder;

/// One call under way.
pub(super) struct Run<'a, 'c, P> {
    pub(super) engine: &'a mut Engine,
    pub(super) ground: &'a Ground,
    pub(super) plan: &'a Plan,
    pub(super) call: &'a mut Call<'c>,
    pub(super) flow: Flow,
    pub(super) port: &'a mut P,
    pub(super) mailbox: &'a mut Mailbox,
    pub(super) recorder: &'a mut Recorder,
    /// Time at which the call began.
    pub(super) start: u64,
    /// Messages to come for nodes that this rank serves, and for itself as root; those for what it holds do not
    /// count.
    pub(super) n_messages: usize,
    /// Whether this rank waits for its own result.
    pub(super) is_waiting: bool,
    /// Parts that the tree's roots had for the operation's root, on that root.
    pub(super) parts: Vec<Option<Vec<u8>>>,
    pub(super) notice: u32,
}

impl<'a, P: Port> Run<'a, '_, P> {
    pub(super) fn all(&mut self) -> Result<(), Trouble> {
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
                if !self.recorder.is_second_half() {
                    self.recorder.passed(self.input(seat).first, self.start, self.call.n_bytes);
                }
            }
            Flow::Up => self.is_waiting = true,
        }
        self.wait()?;
        if self.flow == Flow::Down && rank == root {
            self.join();
        }
        if rank == root && self.recorder.is_second_half() {
            // In the program's call, it waits for the result at its node like all others.
            self.recorder.passed(self.input(seat).first, self.recorder.began(self.start), self.call.n_bytes);
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
                        self.recorder.passed(self.input(seat).first, self.recorder.began(self.start), data.len());
                        self.put_out(data);
                    }
                    Contributor::Node(node) => {
                        let at = self.engine.held.iter().position(|held| held.node == node);
                        let held = self.engine.held.remove(at.expect("a result comes to who waits for it"));
                        self.recorder.passed(self.plan.nodes[node].below, self.since(node, held.since), data.len());
                        self.publish(node, data)?;
                        self.release(node)?;
                    }
                }
            }
            Kind::Give => {
                self.n_messages -= 1;
                self.notice = head.word;
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
    pub(super) fn hand_on(&mut self) -> Result<bool, Trouble> {
        let mut has_moved = false;
        while let Some(at) = self.engine.held.iter().rposition(|held| self.may_hand_on(held)) {
            let held = self.engine.held.remove(at);
            let node = &self.plan.nodes[held.node];
            self.recorder.passed(node.below, self.since(held.node, held.since), self.size(&node.leaves));
            self.take_notice(held.node);
            self.release(held.node)?;
            has_moved = true;
        }
        Ok(has_moved)
    }

    fn may_hand_on(&self, held: &Held) -> bool {
        let node = &self.plan.nodes[held.node];
        let seat = node.seat.expect("a root is not held");
        !node.is_seat_remote && has_come(self.memory(seat.node).wait(Wait::Forward), self.engine.sequence)
    }

    fn take_result(&mut self, seat: Seat) -> bool {
        let is_here = self.is_waiting && !self.input(seat).is_remote;
        if !is_here || !has_come(self.memory(seat.node).wait(Wait::Released), self.engine.sequence) {
            return false;
        }
        self.is_waiting = false;
        let input = self.input(seat);
        self.recorder.passed(input.first, self.recorder.began(self.start), self.call.n_bytes);
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
        self.notice = self.port.notice();
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
                let start = self.since(root, self.recorder.now());
                self.publish(root, &value)?;
                self.recorder.passed(node.below, start, value.len());
                self.release(root)?;
            } else {
                self.send(node.server, Kind::Give, Seat { node: root, position: 0 }, self.notice, &value)?;
            }
            self.mailbox.give_back(value);
        }
        Ok(())
    }

    /// Contributes, here or by message.
    pub(super) fn bring(&mut self, seat: Seat, value: &[u8], since: u64) -> Result<(), Trouble> {
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

    /// Returns the time when what comes back to a node had gone down from it: this moment, unless that was in the
    /// first half of the program's call.
    fn since(&self, node: usize, moment: u64) -> u64 {
        if self.recorder.is_second_half() { self.memory(node).result(Which::SomeWait).head(1) } else { moment }
    }

    fn put_out(&mut self, value: &[u8]) {
        self.call.output[..value.len()].copy_from_slice(value);
    }

    pub(super) fn pause(&self) -> Pause {
        let seat = self.plan.seats[self.engine.rank as usize];
        Pause::new(Patience { is_crowded: self.engine.is_crowded, wake: self.plan.nodes[seat.node].wake })
    }

    pub(super) fn send(&mut self, to: Rank, kind: Kind, seat: Seat, word: u32, data: &[u8]) -> Result<(), Trouble> {
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

    pub(super) fn input(&self, seat: Seat) -> &'a Input {
        &self.plan.nodes[seat.node].inputs[seat.position]
    }

    pub(super) fn memory(&self, node: usize) -> NodeMemory<'a> {
        self.ground.layout.node(&*self.ground.memory, node)
    }

    /// Bytes that these leaves bring or get together.
    pub(super) fn size(&self, leaves: &Range<usize>) -> usize {
        if self.is_in_blocks() { leaves.len() * self.call.n_bytes } else { self.call.n_bytes }
    }

    pub(super) fn is_in_blocks(&self) -> bool {
        matches!(self.call.collective, Collective::Gather | Collective::Scatter)
    }
}
