//! Messages on links that they share.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use units::{Rank, SimDuration, SimTime};

use crate::machine::{Link, LinkIdx, Machine};
use crate::message::{Envelope, Handle, Message};

/// Messages on links that they share, in the order in which they come to the next link.
pub(super) struct Transit {
    /// Time at which each link is free.
    free: Vec<SimTime>,
    waiting: BinaryHeap<Reverse<Hop>>,
    /// Arrival time of the last message of one rank at another.
    last: HashMap<(Rank, Rank), SimTime>,
    n_sent: u64,
    /// Reused.
    route: Vec<LinkIdx>,
}

/// A message that comes to its next link.
struct Hop {
    at: SimTime,
    source: Rank,
    to: Rank,
    /// Number in the order of sending, for messages of one source, receiver and kind.
    sequence: u64,
    /// Links that are still to come, the last one first.
    links: Vec<LinkIdx>,
    n_bytes: u64,
    /// Time after the last link.
    wire: SimDuration,
    what: What,
}

/// The message or the data that a hop carries.
enum What {
    /// A message, or the request to send it.
    Message(Message),
    /// The data of a message that a receive asked for.
    Data(Handle),
}

/// A message, or data, that came to its receiver.
pub(super) enum Came {
    Message(Rank, Message),
    Data(Rank, Handle),
}

impl Transit {
    pub(super) fn new(links: &[Link]) -> Self {
        let free = vec![SimTime::ZERO; links.len()];
        Self { free, waiting: BinaryHeap::new(), last: HashMap::new(), n_sent: 0, route: Vec::new() }
    }

    /// Whether there are links between the two.
    pub(super) fn is_taken(&mut self, machine: &Machine, from: Rank, to: Rank) -> bool {
        if self.free.is_empty() {
            return false;
        }
        machine.route(from, to, &mut self.route);
        !self.route.is_empty()
    }

    /// Sends a message at `departs`.
    pub(super) fn send(&mut self, machine: &Machine, departs: SimTime, to: Rank, wire: SimDuration, message: Message) {
        let n_bytes = if message.has_to_ask { 0 } else { message.envelope.n_bytes };
        self.push(machine, (departs, message.envelope.source, to), n_bytes, wire, What::Message(message));
    }

    /// Sends the data of a message at `departs`.
    pub(super) fn send_data(
        &mut self,
        machine: &Machine,
        departs: SimTime,
        from: Rank,
        to: Rank,
        (handle, wire): (Handle, SimDuration),
        envelope: &Envelope,
    ) {
        self.push(machine, (departs, from, to), envelope.n_bytes, wire, What::Data(handle));
    }

    fn push(
        &mut self,
        machine: &Machine,
        (at, source, to): (SimTime, Rank, Rank),
        n_bytes: u64,
        wire: SimDuration,
        what: What,
    ) {
        machine.route(source, to, &mut self.route);
        let links = self.route.iter().rev().copied().collect();
        let sequence = self.n_sent;
        self.n_sent += 1;
        self.waiting.push(Reverse(Hop { at, source, sequence, to, links, n_bytes, wire, what }));
    }

    /// Returns the time at which the next message comes to a link.
    pub(super) fn next(&self) -> Option<SimTime> {
        self.waiting.peek().map(|Reverse(hop)| hop.at)
    }

    /// Moves the next message past its link; returns what comes to its receiver, and when.
    pub(super) fn step(&mut self, machine: &Machine) -> Option<(SimTime, Came)> {
        let Reverse(mut hop) = self.waiting.pop()?;
        let link = hop.links.pop().expect("a message on its way has a link to come");
        let carrier = &machine.links()[link as usize];
        let begins = hop.at.max(self.free[link as usize]);
        let busy = carrier.busy(hop.n_bytes);
        self.free[link as usize] = begins + busy;
        if !hop.links.is_empty() {
            hop.at = begins + carrier.latency;
            self.waiting.push(Reverse(hop));
            return None;
        }
        // The last byte has to have passed, and the way beside the links is still to come.
        let mut at = (begins + carrier.latency + busy.max(hop.wire)).max(hop.at + super::INSTANT);
        Some(match hop.what {
            What::Message(message) => {
                let last = self.last.entry((hop.source, hop.to)).or_default();
                at = at.max(*last);
                *last = at;
                (at, Came::Message(hop.to, Message { at, ..message }))
            }
            What::Data(handle) => (at, Came::Data(hop.to, handle)),
        })
    }
}

impl PartialEq for Hop {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Hop {}

impl PartialOrd for Hop {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Hop {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Data leave when the receiver asks, so their place among what their source sends is not that of a counter.
        let key = |hop: &Self| (hop.at, hop.source, matches!(hop.what, What::Data(_)), hop.to, hop.sequence);
        key(self).cmp(&key(other))
    }
}
