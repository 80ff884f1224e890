//! A stall that was put into an exchange on purpose: whether the traces find it.

use picture::Scale;
use text::figure::span_ns;

use crate::answer::names;
use crate::{Answer, Exchange, Lines};

/// The stall that was put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The node that was late.
    pub node: u64,
    /// Time by which the node was late.
    pub span_ns: u64,
}

/// A message that comes while its receiver sleeps lies there for a little less than that.
const FOUND: f64 = 0.9;

/// Rounds of a ring, each an exchange of its own; in one of them, this was put in.
#[must_use]
pub fn stall(rounds: &[Exchange], put_in: Stall, conditions: String) -> Answer {
    let usual = statistics::median(&rounds.iter().map(|round| round.length_ns() as f64).collect::<Vec<_>>());
    let slow = rounds.iter().enumerate().max_by_key(|(_, round)| round.length_ns());
    let worst = slow.and_then(|(number, round)| {
        let (at, cost_ns) = round.worst()?;
        Some((number, round.messages()[at], cost_ns))
    });
    let is_found = worst.is_some_and(|(_, message, cost_ns)| {
        message.to == put_in.node && cost_ns as f64 >= FOUND * put_in.span_ns as f64
    });
    let row = |message: &crate::Message| {
        vec![
            format!("{} to {}", message.from, message.to),
            span_ns(message.sent.length_ns() as f64),
            span_ns(message.held_ns() as f64),
            span_ns(message.received.length_ns() as f64),
            span_ns(message.end_to_end_ns() as f64),
        ]
    };
    let lengths = rounds.iter().enumerate().map(|(at, round)| (at as f64, round.length_ns() as f64 / 1e6)).collect();
    let picture = Lines {
        title: "Rounds of a ring of messages",
        caption: "from the first send to the last reception, by traces of the kernel",
        x: ("round", Scale::Linear),
        y: ("ms", Scale::Logarithmic),
        lines: vec![("here".into(), lengths)],
    };
    let verdict = match worst {
        Some((number, message, cost_ns)) => format!(
            "{}: rounds take {}, and round {number} {}; of that, {} are because node {} was late to take a message ({} were put in at node {})",
            if is_found { "found" } else { "not found" },
            span_ns(usual.unwrap_or(f64::NAN)),
            span_ns(rounds[number].length_ns() as f64),
            span_ns(cost_ns as f64),
            message.to,
            span_ns(put_in.span_ns as f64),
            put_in.node
        ),
        None => "not found: no message lay anywhere".to_owned(),
    };
    Answer {
        title: "A stall that was put in (figure 7.8)".into(),
        conditions,
        columns: names(&["message of the slow round", "send", "until taken", "receive", "all"]),
        rows: slow.map_or_else(Vec::new, |(_, round)| round.messages().iter().map(row).collect()),
        verdict,
        pictures: vec![("stall".into(), picture.picture())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Span};

    fn ring(begin: u64, late_ns: u64) -> Exchange {
        let span = |start_ns: u64| Span { start_ns, end_ns: start_ns + 10 };
        let at = |node: u64| begin + node * 20 + if node >= 2 { late_ns } else { 0 };
        let message = |node: u64| Message {
            from: node,
            to: (node + 1) % 3,
            sent: span(at(node)),
            device: None,
            received: span(at(node + 1) - 10),
        };
        Exchange::new((0..3).map(message).collect())
    }

    #[test]
    fn the_late_node_of_the_slow_round_is_named() {
        let rounds = [ring(1_000, 0), ring(2_000, 500), ring(3_000, 0)];
        let told = |node| stall(&rounds, Stall { node, span_ns: 500 }, String::new()).verdict;
        assert!(told(2).starts_with("found") && told(2).contains("round 1"), "{}", told(2));
        assert!(told(1).starts_with("not found"));
    }
}
