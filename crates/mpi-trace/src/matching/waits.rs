//! Waits of ranks for each other, of the calls that were matched.

use std::collections::BTreeMap;

use units::Rank;

use super::{Matching, Meeting, Message};
use crate::{Flow, Operation, Placed, Timeline};

/// Time for which each rank waited for each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Time by the rank that waited and the rank that it waited for.
    pub span_ns: BTreeMap<(Rank, Rank), u64>,
    /// Part of this time in receives and waits for messages that were not sent yet.
    pub late_sender_ns: u64,
    /// Part of this time in sends whose receiver was not there yet.
    pub late_receiver_ns: u64,
    /// Part of this time in collective operations, for the last to arrive.
    pub collective_ns: u64,
}

/// Calls that wait, by rank and thread.
type WaitingCalls = BTreeMap<(Rank, u32), Vec<usize>>;

impl Matching {
    /// Computes the time for which each rank waited for each other, as the clocks of the hosts show it.
    #[must_use]
    pub fn waits(&self, timeline: &Timeline) -> Waits {
        let calls = timeline.calls();
        let mut waits = Waits::default();
        let mut waiting = WaitingCalls::new();
        for (at, call) in calls.iter().enumerate().filter(|(_, call)| call.event.operation.is_wait()) {
            waiting.entry((call.rank, call.thread)).or_default().push(at);
        }
        // The last message that a call waited for is what it waited for.
        let mut late: BTreeMap<usize, (u64, Rank)> = BTreeMap::new();
        for message in &self.messages {
            let (send, receive) = (&calls[message.send], &calls[message.receive]);
            if let Some(waiting) = Self::waits_for(message, calls, &waiting) {
                let entry = late.entry(waiting).or_default();
                *entry = (*entry).max((send.start_ns, send.rank));
            }
            let is_blocked = matches!(send.event.operation, Operation::SEND | Operation::SSEND);
            if is_blocked && send.start_ns < receive.start_ns && receive.start_ns <= send.end_ns {
                let span_ns = receive.start_ns - send.start_ns;
                waits.late_receiver_ns += span_ns;
                waits.add(send.rank, receive.rank, span_ns);
            }
        }
        for (waiting, (sent_ns, sender)) in late {
            let call = &calls[waiting];
            let span_ns = sent_ns.min(call.end_ns).saturating_sub(call.start_ns);
            waits.late_sender_ns += span_ns;
            waits.add(call.rank, sender, span_ns);
        }
        for meeting in &self.meetings {
            waits.take_meeting(meeting, timeline);
        }
        waits
    }

    /// Returns the call that was under way on the receiver's side when a message was sent, if it had to be for it: the
    /// receive itself, or the first call after it that waits and that the message could end.
    fn waits_for(message: &Message, calls: &[Placed], waiting: &WaitingCalls) -> Option<usize> {
        let (send, receive) = (&calls[message.send], &calls[message.receive]);
        let at = if receive.event.operation.is_blocking_receive() {
            message.receive
        } else {
            let of_thread = waiting.get(&(receive.rank, receive.thread))?;
            // A thread's calls come one after the other, so that their ends are in order too.
            let is_before = |at: &usize| *at < message.receive || calls[*at].end_ns < send.start_ns;
            *of_thread.get(of_thread.partition_point(is_before))?
        };
        (calls[at].start_ns < send.start_ns).then_some(at)
    }
}

impl Waits {
    fn add(&mut self, who: Rank, whom: Rank, span_ns: u64) {
        if span_ns > 0 {
            *self.span_ns.entry((who, whom)).or_default() += span_ns;
        }
    }

    /// Adds the waits of a meeting. All wait for the last to arrive if each needs something of each other; if data
    /// comes from a root, for the root; if it goes to a root, the root for the last.
    fn take_meeting(&mut self, meeting: &Meeting, timeline: &Timeline) {
        let calls = timeline.calls();
        let members = || meeting.calls.iter().map(|at| &calls[*at]);
        let Some(last) = members().max_by_key(|call| call.start_ns) else { return };
        let root = timeline.peer(last).and_then(|root| members().find(|call| call.rank == root));
        let mut wait = |who: &Placed, whom: &Placed| {
            let span_ns = whom.start_ns.min(who.end_ns).saturating_sub(who.start_ns);
            self.collective_ns += span_ns;
            self.add(who.rank, whom.rank, span_ns);
        };
        match (last.event.operation.flow(), root) {
            (Some(Flow::All), _) => members().for_each(|call| wait(call, last)),
            (Some(Flow::FromRoot), Some(root)) => members().for_each(|call| wait(call, root)),
            (Some(Flow::ToRoot), Some(root)) => wait(root, last),
            _ => {}
        }
    }
}

impl Operation {
    fn is_wait(self) -> bool {
        matches!(self, Self::WAIT | Self::WAITALL | Self::WAITANY | Self::WAITSOME)
    }
}
