//! Sends and receives by where they meet, and which send a receive takes.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use units::Rank;

use super::meeting_place;
use crate::operation::Family;
use crate::{Operation, Peer, Placed, Subject, Timeline};

/// A communicator's id, the receiver.
pub(super) type Inbox = (u64, Rank);

/// Sends and receives that may meet in one inbox.
#[derive(Default)]
pub(super) struct Mail {
    pub(super) outboxes: BTreeMap<Rank, Outbox>,
    /// Sender, tag and call of the receives; `None` is any.
    pub(super) receives: Vec<(Option<Rank>, Option<i32>, usize)>,
}

/// Sends of one sender to an inbox: all of it in order, and that of each tag. A send that was taken out of one of the
/// two is skipped in the other.
#[derive(Default)]
pub(super) struct Outbox {
    all: VecDeque<usize>,
    by_tag: HashMap<i32, VecDeque<usize>>,
    taken: HashSet<usize>,
    pub(super) n_left: usize,
    /// Receives that name this sender, and are still to come.
    pub(super) n_needed: usize,
}

impl Outbox {
    fn push(&mut self, send: usize, tag: i32) {
        self.all.push_back(send);
        self.n_left += 1;
        self.by_tag.entry(tag).or_default().push_back(send);
    }

    pub(super) fn reverse(&mut self) {
        self.all.make_contiguous().reverse();
        self.by_tag.values_mut().for_each(|queue| queue.make_contiguous().reverse());
    }

    /// Returns the next send, of a tag or of any.
    fn next(&mut self, tag: Option<i32>) -> Option<usize> {
        let queue = match tag {
            None => &mut self.all,
            Some(tag) => self.by_tag.get_mut(&tag)?,
        };
        while queue.front().is_some_and(|send| self.taken.contains(send)) {
            queue.pop_front();
        }
        queue.front().copied()
    }

    pub(super) fn take(&mut self, tag: Option<i32>) -> Option<usize> {
        let send = self.next(tag)?;
        self.taken.insert(send);
        self.n_left -= 1;
        Some(send)
    }
}

/// Removes and returns the send for a receive from any rank, of those that no other receive needs: the one that was
/// sent first; from the end, the one that was sent last, but not after the receive was over.
pub(super) fn take_from_any(
    outboxes: &mut BTreeMap<Rank, Outbox>,
    tag: Option<i32>,
    receive: &Placed,
    calls: &[Placed],
    is_lossy: bool,
) -> Option<usize> {
    let end_ns = if receive.event.operation.is_blocking_receive() { receive.end_ns } else { u64::MAX };
    let spare = outboxes.values_mut().filter(|outbox| outbox.n_left > outbox.n_needed);
    let candidates = spare.filter_map(|outbox| {
        let start_ns = calls[outbox.next(tag)?].start_ns;
        Some((start_ns, outbox))
    });
    let chosen = if is_lossy {
        candidates.max_by_key(|(start_ns, _)| (*start_ns <= end_ns, *start_ns))
    } else {
        candidates.min_by_key(|(start_ns, _)| *start_ns)
    };
    chosen?.1.take(tag)
}

/// Returns all sends and receives by where they meet.
pub(super) fn inboxes(timeline: &Timeline) -> BTreeMap<Inbox, Mail> {
    let mut inboxes: BTreeMap<Inbox, Mail> = BTreeMap::new();
    for (at, call) in timeline.calls().iter().enumerate() {
        let (Subject::Call { peer, tag, .. } | Subject::Part { peer, tag, .. }) = call.event.subject else { continue };
        let Some((id, _)) = meeting_place(timeline, call) else { continue };
        let family = call.event.operation.family();
        if call.event.is_failed || peer == Peer::None || timeline.is_called_off(call) {
            continue;
        }
        if let (Family::Send | Family::Exchange, Some(receiver)) = (family, timeline.peer(call)) {
            let outboxes = &mut inboxes.entry((id, receiver)).or_default().outboxes;
            outboxes.entry(call.rank).or_default().push(at, tag.unwrap_or(0));
        }
        let mail = || (id, call.rank);
        match (family, peer) {
            (Family::Receive, Peer::Any) => {
                inboxes.entry(mail()).or_default().receives.push((None, tag.filter(|tag| *tag >= 0), at));
            }
            (Family::Receive, Peer::Rank(_)) => {
                if let Some(sender) = timeline.peer(call) {
                    let receive = (Some(sender), tag.filter(|tag| *tag >= 0), at);
                    inboxes.entry(mail()).or_default().receives.push(receive);
                }
            }
            _ => {}
        }
    }
    inboxes
}

impl Operation {
    /// Whether its own end shows that a message has come.
    pub(super) fn is_blocking_receive(self) -> bool {
        matches!(self, Self::RECV | Self::MRECV)
    }
}
