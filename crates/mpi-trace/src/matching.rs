//! Matching of calls: sends with receives, calls of one collective operation, and the ranks that waited for each other.
//!
//! Records hold no message numbers: MPI's own rule gives them. Between two ranks of a communicator messages of one tag
//! are received in the order in which they were sent, and collective operations come in the same order on all ranks.
//! Where records were lost, the oldest are gone, so that both sides are counted from the end. A receive from any rank
//! takes what was sent first of what no other receive needs. That is a conclusion, not a measurement: pairs that
//! contradict the clocks are dropped and counted.

mod mail;
mod waits;

use std::collections::BTreeMap;

use units::Rank;

use self::mail::{Mail, Outbox, inboxes, take_from_any};
pub use self::waits::Waits;
use crate::operation::Family;
use crate::{Flow, Placed, Timeline};

/// Calls that belong together. Calls are given by their position in [`Timeline::calls`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// Messages in the order of the communicators, receivers and receives.
    pub messages: Vec<Message>,
    /// Meetings in the order of the communicators and of the calls on each.
    pub meetings: Vec<Meeting>,
    /// Sends without a receive.
    pub n_unreceived: u64,
    /// Receives without a send.
    pub n_unsent: u64,
    /// Pairs and meetings that the clocks contradict.
    pub n_contradicted: u64,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The call that sent it.
    pub send: usize,
    /// The call that received it, or announced that it would.
    pub receive: usize,
}

/// A collective operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The communicator's id.
    pub communicator: u64,
    /// The call of each member that recorded one, by rank.
    pub calls: Vec<usize>,
}

impl Matching {
    /// Matches all calls that were recorded.
    #[must_use]
    pub fn of(timeline: &Timeline) -> Self {
        let mut matching = Self::default();
        matching.match_messages(timeline);
        matching.match_meetings(timeline);
        matching
    }

    fn match_messages(&mut self, timeline: &Timeline) {
        let calls = timeline.calls();
        for ((_, receiver), Mail { mut outboxes, mut receives }) in inboxes(timeline) {
            let is_lossy = timeline.is_lossy(receiver) || outboxes.keys().any(|sender| timeline.is_lossy(*sender));
            if is_lossy {
                receives.reverse();
                outboxes.values_mut().for_each(Outbox::reverse);
            }
            for sender in receives.iter().filter_map(|(sender, ..)| *sender) {
                outboxes.entry(sender).or_default().n_needed += 1;
            }
            for (sender, tag, receive) in receives {
                let found = match sender {
                    Some(sender) => outboxes.get_mut(&sender).and_then(|outbox| {
                        outbox.n_needed -= 1;
                        outbox.take(tag)
                    }),
                    None => take_from_any(&mut outboxes, tag, &calls[receive], calls, is_lossy),
                };
                let Some(send) = found else {
                    self.n_unsent += 1;
                    continue;
                };
                // Nothing arrives before it was sent; what only says that it will receive may come long before.
                let is_over = calls[receive].event.operation.is_blocking_receive();
                if is_over && calls[send].start_ns > calls[receive].end_ns.saturating_add(timeline.error_ns()) {
                    self.n_contradicted += 1;
                } else {
                    self.messages.push(Message { send, receive });
                }
            }
            self.n_unreceived += outboxes.values().map(|outbox| outbox.n_left as u64).sum::<u64>();
        }
    }

    fn match_meetings(&mut self, timeline: &Timeline) {
        let calls = timeline.calls();
        let mut by_communicator: BTreeMap<u64, BTreeMap<Rank, Vec<usize>>> = BTreeMap::new();
        for (at, call) in calls.iter().enumerate() {
            let is_meeting = matches!(call.event.operation.family(), Family::Barrier | Family::Collective);
            if let Some((id, members)) = meeting_place(timeline, call).filter(|_| is_meeting && !call.event.is_failed)
                && members > 1
            {
                by_communicator.entry(id).or_default().entry(call.rank).or_default().push(at);
            }
        }
        for (communicator, by_rank) in by_communicator {
            let n_meetings = by_rank.values().map(Vec::len).max().unwrap_or(0);
            let is_lossy = by_rank.keys().any(|rank| timeline.is_lossy(*rank));
            for ordinal in 0..n_meetings {
                let call_of = |calls: &Vec<usize>| {
                    let at = if is_lossy { (ordinal + calls.len()).checked_sub(n_meetings) } else { Some(ordinal) };
                    at.and_then(|at| calls.get(at).copied())
                };
                let meeting: Vec<usize> = by_rank.values().filter_map(call_of).collect();
                if is_possible(&meeting, calls, timeline.error_ns()) {
                    self.meetings.push(Meeting { communicator, calls: meeting });
                } else {
                    self.n_contradicted += 1;
                }
            }
        }
    }
}

/// Returns the id of a call's communicator, and the number of its members.
fn meeting_place(timeline: &Timeline, call: &Placed) -> Option<(u64, usize)> {
    let (communicator, _) = call.communicator_and_peer()?;
    let recording = timeline.recording(call.rank)?;
    Some((recording.communicator_id(communicator)?, recording.n_members(communicator)?))
}

/// Whether calls can be one operation: all are of the same, and none that needs all others was over before the last
/// began.
fn is_possible(meeting: &[usize], calls: &[Placed], error_ns: u64) -> bool {
    let operation = |at: usize| calls[at].event.operation;
    let is_one = meeting.windows(2).all(|pair| operation(pair[0]) == operation(pair[1]));
    let is_all = meeting.first().is_some_and(|at| operation(*at).flow() == Some(Flow::All));
    let last_start = meeting.iter().map(|at| calls[*at].start_ns).max();
    let first_end = meeting.iter().map(|at| calls[*at].end_ns.saturating_add(error_ns)).min();
    is_one && (!is_all || last_start <= first_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Clock, Communicator, Head, RingNote, VERSION};
    use crate::{Event, Operation, Peer, Recording, RingKind, Subject};

    /// Start, end, operation, communicator, peer, tag.
    type Line = (u64, u64, Operation, u32, Peer, i32);

    const ANY: i32 = -1;

    /// A rank of three whose clock is that of all others.
    fn rank(rank: Rank, n_lost: u64, calls: &[Line]) -> Recording {
        let (host, program, library) = (String::new(), String::new(), String::new());
        let mut recording = Recording::new(Head { version: VERSION, rank, n_ranks: 3, host, pid: 1, program, library });
        let (kind, clock) = (RingKind::Calls, Clock::Monotonic);
        recording.note(RingNote { ring: 0, kind, thread: 0, clock, ticks: 0, monotonic_ns: 0, tree: None }.into());
        recording.note(Communicator { communicator: 5, id: 55, ranks: vec![2, 1], remote: Vec::new() }.into());
        let event = |&(start, end, operation, communicator, peer, tag): &Line| {
            let subject = Subject::Call { communicator, peer, tag: Some(tag) };
            Event { start, end, bytes: 8, operation, is_failed: false, subject }
        };
        recording.events(0, n_lost, calls.iter().map(event).collect()).unwrap();
        recording
    }

    /// Messages as starts of their sends and receives.
    #[track_caller]
    fn check_messages(recordings: &[Recording], expected: &[(u64, u64)]) -> Matching {
        let timeline = Timeline::of(recordings);
        let matching = Matching::of(&timeline);
        let start = |at: usize| timeline.calls()[at].start_ns;
        let mut found: Vec<_> =
            matching.messages.iter().map(|message| (start(message.send), start(message.receive))).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
        matching
    }

    fn to(rank: Rank) -> Peer {
        Peer::Rank(rank)
    }

    #[test]
    fn messages_of_a_tag_keep_their_order_and_tags_do_not_mix() {
        let sender = rank(
            0,
            0,
            &[
                (10, 11, Operation::SEND, 0, to(1), 1),
                (20, 21, Operation::SEND, 0, to(1), 2),
                (30, 31, Operation::SEND, 0, to(1), 1),
            ],
        );
        let receiver = rank(
            1,
            0,
            &[
                (40, 41, Operation::RECV, 0, to(0), 2),
                (50, 51, Operation::RECV, 0, to(0), 1),
                (60, 61, Operation::IRECV, 0, to(0), ANY),
            ],
        );
        let matching = check_messages(&[sender, receiver], &[(10, 50), (20, 40), (30, 60)]);
        assert_eq!((matching.n_unreceived, matching.n_unsent, matching.n_contradicted), (0, 0, 0));
    }

    #[test]
    fn parts_of_calls_are_messages_and_no_calls() {
        let exchange = |rank: Rank, other: Rank, start: u64| {
            let mut recording = self::rank(
                rank,
                0,
                &[(start, 90, Operation::SENDRECV, 0, to(other), 3), (start, 90, Operation::RECV, 0, to(other), 3)],
            );
            let part = &mut recording.rings[0].events[1].subject;
            *part = Subject::Part { communicator: 0, peer: to(other), tag: Some(3) };
            recording
        };
        let recordings = [exchange(0, 1, 10), exchange(1, 0, 40)];
        check_messages(&recordings, &[(10, 40), (40, 10)]);
        // Rank 0 waits for what rank 1 sends late.
        check_waits(&recordings, &[((0, 1), 30)]);
        assert_eq!(Timeline::of(&recordings).usage().len(), 2);
    }

    #[test]
    fn a_receive_that_was_called_off_takes_no_message_of_those_that_follow() {
        let irecv = (10, 11, Operation::IRECV, 0, to(0), 7);
        let receives = (0..5).map(|at| (30 + 20 * at, 35 + 20 * at, Operation::RECV, 0, to(0), 7));
        let mut receiver = rank(
            1,
            0,
            &[vec![irecv, (12, 13, Operation::CANCEL, 0, Peer::None, 0), irecv], receives.collect()].concat(),
        );
        let part = &mut receiver.rings[0].events[2];
        part.operation = Operation::CANCEL;
        part.subject = Subject::Part { communicator: 0, peer: to(0), tag: Some(7) };
        let sends: Vec<Line> = (0..5).map(|at| (31 + 20 * at, 33 + 20 * at, Operation::SEND, 0, to(1), 7)).collect();
        let expected: Vec<(u64, u64)> = (0..5).map(|at| (31 + 20 * at, 30 + 20 * at)).collect();
        let matching = check_messages(&[rank(0, 0, &sends), receiver], &expected);
        assert_eq!((matching.n_unreceived, matching.n_unsent, matching.n_contradicted), (0, 0, 0));
    }

    /// Heads may say anything. Counting up to these ranks would take memory and time without end.
    #[test]
    fn ranks_without_end_are_not_counted() {
        let mut recording = rank(u32::MAX, 0, &[(1, 2, Operation::SEND, 0, to(u32::MAX - 4), 0)]);
        recording.head.n_ranks = u32::MAX;
        let recordings = [recording];
        let matching = check_messages(&recordings, &[]);
        assert_eq!((matching.n_unreceived, Timeline::of(&recordings).n_ranks()), (1, u32::MAX));
        crate::write_perfetto(&Timeline::of(&recordings), std::io::sink()).unwrap();
    }

    #[test]
    fn receives_from_any_rank_leave_to_others_what_those_need() {
        let first = rank(0, 0, &[(10, 11, Operation::SEND, 0, to(1), 0)]);
        let second = rank(2, 0, &[(20, 21, Operation::SEND, 0, to(1), 0)]);
        let receives = [(5, 30, Operation::RECV, 0, Peer::Any, ANY), (31, 32, Operation::RECV, 0, to(0), 0)];
        check_messages(&[first, rank(1, 0, &receives), second], &[(10, 31), (20, 5)]);
    }

    /// Guards against slow matching: a search through all tags or all sends for each receive would not end.
    #[test]
    fn many_tags_and_messages_that_wait_for_long_take_no_longer_than_few() {
        let n = 100_000_u64;
        let sends: Vec<Line> = (0..n).map(|at| (at, at, Operation::ISEND, 0, to(1), at as i32)).collect();
        let half = n / 2;
        let posted = (0..n).map(|at| (at, at, Operation::IRECV, 0, to(0), at as i32));
        let posted = [posted.collect::<Vec<_>>(), vec![(3 * n, 3 * n, Operation::WAITALL, 0, Peer::None, 0)]].concat();
        let late: Vec<Line> =
            sends.iter().map(|line| (line.0 + 2 * n, line.1 + 2 * n, line.2, 0, line.4, line.5)).collect();
        check_waits(&[rank(0, 0, &late), rank(1, 0, &posted)], &[]);
        let tagged = (0..half).map(|at| (n + at, n + at, Operation::RECV, 0, to(0), (n - 1 - at) as i32));
        let any = (0..half).map(|at| (n + half + at, n + half + at, Operation::RECV, 0, Peer::Any, ANY));
        let recordings = [rank(0, 0, &sends), rank(1, 0, &tagged.chain(any).collect::<Vec<_>>())];
        let timeline = Timeline::of(&recordings);
        let matching = Matching::of(&timeline);
        assert_eq!((matching.messages.len() as u64, matching.n_unsent, matching.n_unreceived), (n, 0, 0));
        assert_eq!(matching.waits(&timeline), Waits::default());
    }

    #[test]
    fn peers_are_ranks_of_their_communicator() {
        let sender = rank(2, 0, &[(10, 11, Operation::SEND, 5, to(1), 0), (12, 13, Operation::SEND, 0, to(1), 0)]);
        let receiver = rank(1, 0, &[(20, 21, Operation::RECV, 0, to(2), 0), (30, 31, Operation::RECV, 5, to(0), 0)]);
        check_messages(&[receiver, sender], &[(10, 30), (12, 20)]);
    }

    #[test]
    fn where_records_were_lost_the_last_ones_belong_together() {
        let sends = |range: std::ops::Range<u64>| {
            range.map(|at| (at * 10, at * 10 + 1, Operation::SEND, 0, to(1), 0)).collect::<Vec<_>>()
        };
        let receives: Vec<Line> = (0..9).map(|at| (at * 10, at * 10 + 5, Operation::RECV, 0, to(0), 0)).collect();
        let expected: Vec<_> = (6..9).map(|at| (at * 10, at * 10)).collect();
        let recordings = [rank(0, 6, &sends(6..9)), rank(1, 0, &receives), rank(2, 0, &[])];
        assert_eq!(check_messages(&recordings, &expected).n_unsent, 6);
        // Without the loss, the first three would be meant; they were over before anything was sent.
        let recordings = [rank(0, 0, &sends(6..9)), rank(1, 0, &receives), rank(2, 0, &[])];
        assert_eq!(check_messages(&recordings, &[]).n_contradicted, 3);
    }

    #[track_caller]
    fn check_waits(recordings: &[Recording], expected: &[((Rank, Rank), u64)]) -> Waits {
        let timeline = Timeline::of(recordings);
        let waits = Matching::of(&timeline).waits(&timeline);
        assert_eq!(waits.span_ns.iter().map(|(who, span_ns)| (*who, *span_ns)).collect::<Vec<_>>(), expected);
        waits
    }

    #[test]
    fn who_is_late_is_waited_for() {
        let sends = rank(0, 0, &[(100, 110, Operation::SEND, 0, to(1), 0), (200, 300, Operation::SSEND, 0, to(2), 0)]);
        let receives = rank(1, 0, &[(70, 120, Operation::RECV, 0, to(0), 0)]);
        let comes_late = rank(2, 0, &[(260, 301, Operation::RECV, 0, to(0), 0)]);
        let waits = check_waits(&[sends, receives, comes_late], &[((0, 2), 60), ((1, 0), 30)]);
        assert_eq!((waits.late_sender_ns, waits.late_receiver_ns, waits.collective_ns), (30, 60, 0));
    }

    #[test]
    fn of_several_messages_a_wait_is_for_the_last() {
        let early = rank(0, 0, &[(50, 51, Operation::ISEND, 0, to(1), 0)]);
        let late = rank(2, 0, &[(90, 91, Operation::ISEND, 0, to(1), 0)]);
        let waits = rank(
            1,
            0,
            &[
                (10, 11, Operation::IRECV, 0, to(0), 0),
                (12, 13, Operation::IRECV, 0, to(2), 0),
                (20, 21, Operation::TEST, 0, Peer::None, 0),
                (40, 99, Operation::WAITALL, 0, Peer::None, 0),
            ],
        );
        check_waits(&[early, waits, late], &[((1, 2), 50)]);
    }

    #[test]
    fn in_collective_calls_the_last_or_the_root_is_waited_for() {
        let calls = |at: u64| {
            [
                (at, 100, Operation::BARRIER, 0, Peer::None, 0),
                (100 + at, 200, Operation::BCAST, 0, to(1), 0),
                (200 + at, 300, Operation::REDUCE, 0, to(0), 0),
            ]
        };
        let recordings = [rank(0, 0, &calls(10)), rank(1, 0, &calls(30)), rank(2, 0, &calls(40))];
        let waits = check_waits(&recordings, &[((0, 1), 20), ((0, 2), 60), ((1, 2), 10)]);
        assert_eq!(waits.collective_ns, 90);
    }

    #[test]
    fn other_operations_at_the_same_place_are_no_meeting() {
        let one = rank(0, 0, &[(1, 9, Operation::BARRIER, 0, Peer::None, 0), (11, 19, Operation::BCAST, 0, to(0), 0)]);
        let other =
            rank(1, 0, &[(1, 9, Operation::ALLREDUCE, 0, Peer::None, 0), (11, 19, Operation::BCAST, 0, to(0), 0)]);
        let recordings = [one, other];
        let matching = Matching::of(&Timeline::of(&recordings));
        assert_eq!(
            (matching.meetings, matching.n_contradicted),
            (vec![Meeting { communicator: 0, calls: vec![1, 3] }], 1)
        );
    }

    #[test]
    fn calls_become_a_trace_of_the_program() {
        let calls = [
            (1, 2, Operation::INIT, 0, Peer::None, 0),
            (3, 4, Operation::ISEND, 5, to(0), 0),
            (5, 6, Operation::SEND, 0, Peer::Null, 0),
            (7, 8, Operation::WAITALL, 0, Peer::None, 0),
        ];
        let recordings = [rank(1, 0, &calls)];
        let timeline = Timeline::of(&recordings);
        let mut csv = Vec::new();
        crate::write_csv(&timeline, &mut csv).unwrap();
        let text = String::from_utf8(csv).unwrap();
        assert_eq!(text, "rank,start_ns,end_ns,call,peer,size_bytes\n1,3,4,MPI_Isend,2,8\n1,7,8,MPI_Waitall,,0\n");
        assert_eq!(crate::Trace::read(text.as_bytes()).unwrap(), timeline.to_trace());
    }

    #[test]
    fn exports_are_json_with_all_calls_and_arrows() {
        let recordings = [
            rank(0, 0, &[(100, 110, Operation::SEND, 0, to(1), 0)]),
            rank(1, 0, &[(70, 120, Operation::RECV, 0, to(0), 0)]),
        ];
        let timeline = Timeline::of(&recordings);
        let (mut json, mut shown) = (Vec::new(), Vec::new());
        crate::write_json(&timeline, &mut json).unwrap();
        crate::write_perfetto(&timeline, &mut shown).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json["calls"][1]["call"], "MPI_Recv");
        assert_eq!(json["messages"], serde_json::json!([[0, 1]]));
        assert_eq!(json["waits"], serde_json::json!([{ "rank": 1, "waited_for": 0, "span_ns": 30 }]));
        let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
        let kinds: Vec<_> = shown["traceEvents"].as_array().unwrap().iter().map(|event| event["ph"].as_str()).collect();
        assert_eq!(kinds, ["M", "M", "X", "X", "s", "f"].map(Some));
        assert_eq!(shown["traceEvents"][2]["ts"], 0.03);
    }
}
