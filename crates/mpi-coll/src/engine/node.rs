//! Work of a call at a node: contributions come together, and the result goes back to all who made them.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use mpi_tree::{Contributor, Order, Seat};
use units::Rank;

use super::run::Run;
use super::{Flow, Held};
use crate::memory::{Counter, NodeMemory, Wait, Which};
use crate::pause::release;
use crate::port::{Kind, Port, Trouble};

impl<'a, P: Port> Run<'a, '_, P> {
    /// Puts a contribution into its place, and goes on from there if it was the last. `word` is who gets the result;
    /// at an exchange, the notice.
    pub(super) fn arrive(&mut self, seat: Seat, value: &[u8], since: u64, word: u32) -> Result<(), Trouble> {
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
        if self.flow == Flow::Down {
            // For the second half of the program's call, if this is the first: nobody comes here again before that is
            // over.
            memory.result(Which::SomeWait).set_head(1, since);
        }
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

    /// Returns what all contributors brought.
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

    /// Finishes a call at the only root, or at one that has a part for the operation's root.
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
    pub(super) fn publish(&mut self, holder: usize, value: &[u8]) -> Result<(), Trouble> {
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
    /// this rank included, then to those who go back to computing. Whoever computes may take the processor from one
    /// who has still to send.
    pub(super) fn release(&mut self, at: usize) -> Result<(), Trouble> {
        let (node, memory, start) = (&self.plan.nodes[at], self.memory(at), self.recorder.now());
        for (position, input) in node.inputs.iter().enumerate().filter(|(_, input)| input.is_remote) {
            if self.flow == Flow::Up && input.who == Contributor::Rank(self.call.root) {
                self.recorder.passed(input.arrive, start, 0);
                continue;
            }
            // Whoever gets the message may use the slot for the next call.
            let (since, to) = match self.flow {
                Flow::Up if self.recorder.is_second_half() => (memory.slot(position).head(0), input.sender),
                Flow::Up => (start, input.sender),
                _ => (memory.slot(position).head(0), memory.slot(position).head(1) as Rank),
            };
            let value = self.read(at, input.leaves.clone());
            self.send(to, Kind::Up, Seat { node: at, position }, self.notice, &value)?;
            self.recorder.passed(input.arrive, since, value.len());
            self.mailbox.give_back(value);
        }
        release(memory, Wait::Forward, self.engine.sequence);
        self.hand_on()?;
        release(memory, Wait::Released, self.engine.sequence);
        if self.flow == Flow::Up {
            self.count_reader(at);
        }
        if let Some(gate) = &self.engine.gate {
            gate.released();
        }
        Ok(())
    }

    /// Returns those leaves' part of the result that a node's host has.
    pub(super) fn read(&mut self, at: usize, leaves: Range<usize>) -> Vec<u8> {
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

    pub(super) fn take_notice(&mut self, at: usize) {
        self.notice = self.memory(self.plan.nodes[at].holder).result(self.which()).head(0) as u32;
    }

    fn which(&self) -> Which {
        if self.flow == Flow::Around { Which::AllWait } else { Which::SomeWait }
    }

    pub(super) fn count_reader(&self, at: usize) {
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
}
