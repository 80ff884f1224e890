//! Messages between nodes, each with its times at three points: which of them the whole waited for, and what a late
//! receiver cost.

use std::collections::BTreeMap;

use record::Items;
use record_view::{Error, rows};

use crate::Span;
use crate::layers::whole;

/// A message, on one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sender.
    pub from: u64,
    /// The receiver.
    pub to: u64,
    /// The sender's software.
    pub sent: Span,
    /// The sender's device, where that was seen.
    pub device: Option<Span>,
    /// The receiver's software; where receiving includes waiting, its begin is before the message's arrival.
    pub received: Span,
}

/// Messages that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    messages: Vec<Message>,
}

/// Pairs the records of three types, [`Message::sent`], [`Message::device`] and [`Message::received`], whose fields
/// `node` and `peer` say who and with whom: the n-th that a node sent to another is the n-th that was received. What
/// has no counterpart is left out.
///
/// # Errors
/// Where the file is damaged or has no such records.
pub fn messages<'a>(read: impl Fn() -> Result<Items<'a>, Error>, records: [&str; 3]) -> Result<Exchange, Error> {
    let mut by_pair: BTreeMap<(u64, u64), [Vec<Span>; 3]> = BTreeMap::new();
    for (place, record) in records.into_iter().enumerate() {
        for row in rows(read()?, record, &["node", "peer", "start_ns", "end_ns"])? {
            let [node, peer, start_ns, end_ns] = [0, 1, 2, 3].map(|column| whole(&row[column]));
            let pair = if place == 2 { (peer, node) } else { (node, peer) };
            by_pair.entry(pair).or_default()[place].push(Span { start_ns, end_ns });
        }
    }
    let paired = by_pair.into_iter().flat_map(|((from, to), mut spans)| {
        spans.iter_mut().for_each(|spans| spans.sort_unstable());
        let [sent, device, received] = spans;
        let message =
            move |(place, (sent, received))| Message { from, to, sent, device: device.get(place).copied(), received };
        sent.into_iter().zip(received).enumerate().map(message).collect::<Vec<_>>()
    });
    Ok(Exchange::new(paired.collect()))
}

impl Message {
    /// Returns the time when the message was there for its receiver to take.
    #[must_use]
    pub fn arrived_ns(&self) -> u64 {
        self.device.unwrap_or(self.sent).end_ns
    }

    /// Returns the time for which the message lay there because its receiver was late; zero if the receiver waited.
    #[must_use]
    pub fn held_ns(&self) -> u64 {
        self.received.start_ns.saturating_sub(self.arrived_ns())
    }

    /// Returns the time from the begin of the message's sending to the end of its reception.
    #[must_use]
    pub fn end_to_end_ns(&self) -> u64 {
        self.received.end_ns - self.sent.start_ns
    }
}

impl Exchange {
    /// Builds an exchange of these messages, in the order in which they were sent.
    #[must_use]
    pub fn new(mut messages: Vec<Message>) -> Self {
        messages.sort_by_key(|message| message.sent);
        Self { messages }
    }

    /// Returns the messages in the order in which they were sent.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the time from the first send to the last reception.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        let start = self.messages.iter().map(|message| message.sent.start_ns).min();
        let end = self.messages.iter().map(|message| message.received.end_ns).max();
        end.unwrap_or(0) - start.unwrap_or(0)
    }

    /// Positions of the messages that the end of the exchange waited for, in the order of time: before each, the one
    /// that its sender had received latest by arrival. Empty without messages.
    #[must_use]
    pub fn critical_path(&self) -> Vec<usize> {
        let mut path = Vec::new();
        let all = || self.messages.iter().enumerate();
        let mut next = all().max_by_key(|(_, message)| message.received.end_ns).map(|(at, _)| at);
        while let Some(at) = next {
            path.push(at);
            let sent = &self.messages[at];
            let before =
                all().filter(|(_, message)| message.to == sent.from && message.received.end_ns <= sent.sent.start_ns);
            next = before.max_by_key(|(_, message)| message.arrived_ns()).map(|(at, _)| at);
        }
        path.reverse();
        path
    }

    /// The nodes along the critical path.
    #[must_use]
    pub fn path_nodes(&self) -> Vec<u64> {
        let path = self.critical_path();
        let first = path.first().map(|at| self.messages[*at].from);
        first.into_iter().chain(path.iter().map(|at| self.messages[*at].to)).collect()
    }

    /// Returns the time by which, at most, the exchange would have ended earlier, had this message been taken when it
    /// arrived: no more than the path's next message at the same receiver lay there, and nothing where the path does
    /// not come by.
    #[must_use]
    pub fn cost_ns(&self, at: usize) -> u64 {
        let late = &self.messages[at];
        let on_path = self.critical_path().into_iter().map(|place| &self.messages[place]);
        let mut after =
            on_path.filter(|message| message.to == late.to && message.received.start_ns >= late.received.start_ns);
        after.next().map_or(0, |message| message.held_ns().min(late.held_ns()))
    }

    /// The message that cost most by lying there, and that.
    #[must_use]
    pub fn worst(&self) -> Option<(usize, u64)> {
        let costs = (0..self.messages.len()).map(|at| (at, self.cost_ns(at)));
        costs.max_by_key(|(_, cost)| *cost).filter(|(_, cost)| *cost > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: u64, to: u64, sent: u64, received: u64) -> Message {
        let span = |start_ns| Span { start_ns, end_ns: start_ns + 2 };
        Message { from, to, sent: span(sent), device: None, received: span(received) }
    }

    #[test]
    fn a_late_receiver_on_the_way_is_found_with_what_it_cost() {
        // Around a ring; node 2 takes what it got 50 late, and what came from aside waits with it.
        let exchange =
            Exchange::new(vec![message(0, 1, 0, 2), message(1, 2, 5, 57), message(2, 0, 60, 62), message(3, 2, 1, 54)]);
        assert_eq!(exchange.path_nodes(), [0, 1, 2, 0]);
        assert_eq!(exchange.length_ns(), 64);
        let (at, cost_ns) = exchange.worst().unwrap();
        assert_eq!((exchange.messages()[at].to, cost_ns), (2, 50));
        // The one from aside lay there for 51, and costs no more than the path's did.
        assert_eq!(exchange.cost_ns(1), 50);
    }

    #[test]
    fn without_messages_there_is_nothing_to_wait_for() {
        let none = Exchange::new(Vec::new());
        assert!(none.critical_path().is_empty() && none.worst().is_none() && none.length_ns() == 0);
    }
}
