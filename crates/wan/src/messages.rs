//! Properties of a link, out of the recorded messages of a program between two hosts.
//!
//! A message tells of the link if its receiver was waiting when it was sent: otherwise its time is the receiver's. What
//! the MPI library adds is part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mpi_trace::{Matching, Operation, Recording, Timeline};
use netmodel::{Trace, TraceError};
use units::{Bandwidth, Rank};

/// Longest message that gives a latency, and shortest message that gives a bandwidth.
const SHORT_BYTES: u64 = 1 << 10;
const LONG_BYTES: u64 = 32 << 10;

/// The way in which a latency is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// Latency of each message, as far as the hosts' clocks agree.
    One,
    /// Half of the time of a message and the next one back together: the offset of the clocks cancels out.
    Two,
}

/// The reason why messages make no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessagesError {
    /// A host that is not known.
    #[error("no rank was on the host `{given}`; there were {known}")]
    Host {
        /// Name as given.
        given: String,
        /// Names of all hosts.
        known: String,
    },
    /// Lack of messages that give a latency.
    #[error(
        "of messages from `{from}` to `{to}`, none of at most {SHORT_BYTES} bytes was received by a rank that waited for it, and answered where that is asked for"
    )]
    Nothing {
        /// The host of the senders.
        from: String,
        /// The host of the receivers.
        to: String,
    },
    /// A trace that is not possible.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// A message between the hosts. Its time is negative where clocks disagree by more than it takes.
#[derive(Clone, Copy)]
struct Crossing {
    at_ns: u64,
    bytes: u64,
    took_ns: i64,
}

/// Computes latencies and bandwidths from one host to another, from the first message on.
///
/// # Errors
/// [`MessagesError`] if a host is unknown, or no message between them gives a latency.
pub fn messages_between(recordings: &[Recording], from: &str, to: &str, ways: Ways) -> Result<Trace, MessagesError> {
    let timeline = Timeline::of(recordings);
    let hosts: BTreeMap<Rank, &str> =
        timeline.recordings().map(|recording| (recording.head.rank, recording.head.host.as_str())).collect();
    for given in [from, to] {
        if !hosts.values().any(|host| *host == given) {
            let known: BTreeSet<&str> = hosts.values().copied().collect();
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(MessagesError::Host { given: given.to_owned(), known });
        }
    }
    let matching = Matching::of(&timeline);
    let crossings = |from: &str, to: &str| {
        let calls = timeline.calls();
        let of = |message: &mpi_trace::Message| {
            let (send, receive) = (&calls[message.send], &calls[message.receive]);
            let is_here = hosts.get(&send.rank) == Some(&from) && hosts.get(&receive.rank) == Some(&to);
            let is_awaited = receive.event.operation == Operation::RECV && receive.start_ns <= send.start_ns;
            let took_ns = receive.end_ns.cast_signed() - send.start_ns.cast_signed();
            (is_here && is_awaited).then_some(Crossing { at_ns: send.start_ns, bytes: send.event.bytes, took_ns })
        };
        let mut crossings: Vec<Crossing> = matching.messages.iter().filter_map(of).collect();
        crossings.sort_by_key(|crossing| crossing.at_ns);
        // Of messages that several ranks sent at once, one is enough: a trace has one value at a moment.
        crossings.dedup_by_key(|crossing| crossing.at_ns);
        crossings
    };
    let there = crossings(from, to);
    let latency = match ways {
        Ways::One => short(&there).map(|crossing| (crossing.at_ns, crossing.took_ns)).collect(),
        Ways::Two => halves(&there, &crossings(to, from)),
    };
    let Some((first_ns, _)) = latency.first().copied() else {
        return Err(MessagesError::Nothing { from: from.to_owned(), to: to.to_owned() });
    };
    let since = |at_ns: u64| Duration::from_nanos(at_ns.saturating_sub(first_ns));
    let latency = latency
        .into_iter()
        .map(|(at_ns, took_ns)| (since(at_ns), Duration::from_nanos(u64::try_from(took_ns).unwrap_or(0))));
    // What was sent before the first latency is known has nothing to be compared with.
    let bandwidth = bandwidths(&there).filter(|(at_ns, _)| *at_ns >= first_ns);
    Ok(Trace::new(latency, bandwidth.map(|(at_ns, rate)| (since(at_ns), rate)))?)
}

fn short(crossings: &[Crossing]) -> impl Iterator<Item = &Crossing> {
    crossings.iter().filter(|crossing| crossing.bytes <= SHORT_BYTES)
}

/// Returns half the time of each short message and the next one back that was sent after it had arrived, rounded up.
fn halves(there: &[Crossing], back: &[Crossing]) -> Vec<(u64, i64)> {
    let back: Vec<&Crossing> = short(back).collect();
    let mut next = 0;
    let half = |crossing: &Crossing| {
        next += back[next..].partition_point(|answer| answer.at_ns < crossing.at_ns);
        let answer = back.get(next)?;
        Some((crossing.at_ns, (crossing.took_ns + answer.took_ns + 1).div_euclid(2)))
    };
    short(there).filter_map(half).collect()
}

/// Returns the bandwidth of each long message, by the time that it took longer than the last short one before it: both
/// are off by the same where clocks disagree.
fn bandwidths(there: &[Crossing]) -> impl Iterator<Item = (u64, Bandwidth)> {
    let mut latency_ns = None;
    there.iter().filter_map(move |crossing| {
        if crossing.bytes <= SHORT_BYTES {
            latency_ns = Some(crossing.took_ns);
        }
        let wire_ns = crossing.took_ns - latency_ns?;
        let rate = 8e9 * crossing.bytes as f64 / wire_ns as f64;
        let is_telling = crossing.bytes >= LONG_BYTES && wire_ns > 0;
        is_telling.then(|| Bandwidth::new(rate as u64)).flatten().map(|rate| (crossing.at_ns, rate))
    })
}

#[cfg(test)]
mod tests {
    use mpi_trace::file::{Clock, Head, RingNote, VERSION};
    use mpi_trace::{Event, Peer, RingKind, Subject};

    use super::*;

    /// Start, end, operation, bytes.
    type Line = (u64, u64, Operation, u64);

    /// A rank of two, each on a host of its own, whose clock is off by so much without anybody knowing.
    fn rank(rank: Rank, off_ns: u64, calls: &[Line]) -> Recording {
        let host = ["a", "b"][rank as usize].to_owned();
        let (program, library) = (String::new(), String::new());
        let mut recording = Recording::new(Head { version: VERSION, rank, n_ranks: 2, host, pid: 1, program, library });
        let (kind, clock) = (RingKind::Calls, Clock::Monotonic);
        recording.note(RingNote { ring: 0, kind, thread: 0, clock, ticks: 0, monotonic_ns: 0, tree: None }.into());
        let subject = Subject::Call { communicator: 0, peer: Peer::Rank(1 - rank), tag: Some(0) };
        let event = |&(start, end, operation, bytes): &Line| Event {
            start: start + off_ns,
            end: end + off_ns,
            bytes,
            operation,
            is_failed: false,
            subject,
        };
        recording.events(0, 0, calls.iter().map(event).collect()).unwrap();
        recording
    }

    /// 5 us there, 3 us back; then a message whose receiver comes late, and 100,000 bytes at 1 Gbit/s.
    fn recordings(off_ns: u64) -> [Recording; 2] {
        let (send, recv) = (Operation::SEND, Operation::RECV);
        [
            rank(
                0,
                0,
                &[
                    (1_000, 1_100, send, 8),
                    (1_200, 11_000, recv, 8),
                    (20_000, 20_100, send, 8),
                    (50_000, 60_000, send, 100_000),
                ],
            ),
            rank(
                1,
                off_ns,
                &[
                    (500, 6_000, recv, 8),
                    (8_000, 8_100, send, 8),
                    (30_000, 30_100, recv, 8),
                    (40_000, 855_000, recv, 100_000),
                ],
            ),
        ]
    }

    #[test]
    fn a_message_that_was_waited_for_tells_of_the_link() {
        let trace = messages_between(&recordings(0), "a", "b", Ways::One).unwrap();
        assert_eq!(trace.to_csv(), "t_ns,latency_ns,rate_bits_per_sec\n0,5000,\n49000,,1000000000\n");
        let trace = messages_between(&recordings(0), "b", "a", Ways::One).unwrap();
        assert_eq!(trace.to_csv(), "t_ns,latency_ns,rate_bits_per_sec\n0,3000,\n");
    }

    #[test]
    fn there_and_back_clocks_that_are_apart_do_not_matter() {
        for off_ns in [0, 400] {
            let trace = messages_between(&recordings(off_ns), "a", "b", Ways::Two).unwrap();
            assert_eq!(trace.to_csv(), "t_ns,latency_ns,rate_bits_per_sec\n0,4000,\n49000,,1000000000\n");
        }
    }

    #[test]
    fn what_tells_of_nothing_is_refused() {
        let told = |from, to| messages_between(&recordings(0), from, to, Ways::One).unwrap_err().to_string();
        assert!(told("a", "c").contains("`c`; there were a, b"));
        assert!(told("a", "a").contains("from `a` to `a`"));
    }
}
