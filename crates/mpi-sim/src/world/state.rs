//! One rank: its clock, what it has begun, and what it asks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::{Rank, SimDuration, SimTime};

use crate::message::{Envelope, Handle, Message, MessageId, Wanted};
use crate::world::mailbox::{Mailbox, Post};
use crate::world::operation::Operation;

/// Activity of a rank, as far as the simulation goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doing {
    /// It may run, and waits for a worker.
    #[default]
    Ready,
    /// A worker runs it.
    Running,
    /// It waits for a message or a bound.
    Waiting,
    /// It has ended.
    Ended,
}

/// A question of a rank to the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// The time when all of its operations in `asked` are complete.
    All,
    /// The operation in `asked` that completes first.
    Any,
    /// The operations in `asked` that are complete by now.
    Now,
    /// The message that fits, as soon as there is one.
    Probe(Wanted),
    /// The message that fits now.
    ProbeNow(Wanted),
}

/// Counters of what a rank did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankCounts {
    /// Messages sent.
    pub n_sent: u64,
    /// Their bytes.
    pub n_bytes_sent: u64,
    /// Messages received.
    pub n_received: u64,
    /// Their bytes.
    pub n_bytes_received: u64,
    /// Polls.
    pub n_polls: u64,
    /// Time in the program itself.
    pub computing: SimDuration,
    /// Time in overheads of sends.
    pub sending: SimDuration,
    /// Time in overheads of receives, and in polls.
    pub receiving: SimDuration,
    /// Time spent waiting, by the rank that was waited for.
    pub waiting_for: BTreeMap<Rank, SimDuration>,
}

/// One rank.
#[derive(Default)]
pub(crate) struct RankState {
    pub(crate) clock: SimTime,
    pub(super) doing: Doing,
    pub(super) mailbox: Mailbox,
    operations: Vec<Operation>,
    free: Option<Handle>,
    question: Option<Question>,
    pub(crate) asked: Vec<Handle>,
    /// Its next message departs no sooner.
    pub(crate) wire_free: SimTime,
    /// Arrival time of the last message to each rank, if that is still to come.
    last_to: Vec<(Rank, SimTime)>,
    /// Messages that were sent to it.
    pub(crate) n_incoming: MessageId,
    /// Everything that arrives before this has been sent.
    pub(super) granted: SimTime,
    /// The same of those sources that matter to the present question.
    pub(super) granted_once: SimTime,
    /// Bound that the rank sent to others: nothing of the rank departs before this.
    pub(super) earliest_output: SimTime,
    /// While it waits: neither it nor its wild receives do anything before this if nothing more is sent to it.
    pub(super) acts: SimTime,
    pub(super) stretch_began: SimTime,
    pub(crate) counts: RankCounts,
}

/// The time when a question can be answered.
pub(super) struct Answer {
    /// The rank goes on then if nothing more is sent to it.
    pub(super) acts: SimTime,
    /// Whether nothing that is still to be sent can change that.
    pub(super) is_certain: bool,
    /// Time by which all arrivals have to be known, if the answer is not certain.
    pub(super) needs: SimTime,
    /// Whether messages matter to it, beside words of receivers.
    pub(super) hears: bool,
}

impl RankState {
    /// A place for an operation.
    pub(crate) fn begin(&mut self, operation: Operation) -> Handle {
        match self.free {
            Some(handle) => {
                let place = &mut self.operations[handle as usize];
                if let Operation::Free(next) = place {
                    self.free = *next;
                }
                *place = operation;
                handle
            }
            None => {
                self.operations.push(operation);
                (self.operations.len() - 1) as Handle
            }
        }
    }

    pub(crate) fn operation(&self, handle: Handle) -> &Operation {
        &self.operations[handle as usize]
    }

    pub(crate) fn operation_mut(&mut self, handle: Handle) -> &mut Operation {
        &mut self.operations[handle as usize]
    }

    pub(super) fn set(&mut self, handle: Handle, operation: Operation) {
        self.operations[handle as usize] = operation;
    }

    /// Gives the operation's place back.
    pub(crate) fn finish(&mut self, handle: Handle) -> Operation {
        let place = &mut self.operations[handle as usize];
        let operation = std::mem::replace(place, Operation::Free(self.free));
        self.free = Some(handle);
        operation
    }

    pub(super) fn n_operations(&self) -> usize {
        self.operations.iter().filter(|operation| !matches!(operation, Operation::Free(_))).count()
    }

    /// Sets the question that the rank goes on with.
    pub(crate) fn ask(&mut self, question: Question, handles: &[Handle]) {
        self.question = Some(question);
        self.asked.clear();
        self.asked.extend_from_slice(handles);
        self.granted_once = SimTime::ZERO;
    }

    /// Returns the arrival time of the message that a probe finds, and what is known of the message.
    pub(crate) fn probe(&self, wanted: &Wanted) -> Option<(SimTime, Envelope, MessageId)> {
        self.mailbox.probe(wanted).map(|message| (message.at, message.envelope, message.id))
    }

    /// Takes out what a probe found.
    pub(crate) fn take_message(&mut self, id: MessageId) -> Option<Message> {
        self.mailbox.take(id)
    }

    /// Takes a receive back that has no message.
    pub(super) fn withdraw(&mut self, handle: Handle) {
        self.mailbox.withdraw(handle);
        self.set(handle, Operation::Cancelled);
    }

    /// Counts that an operation kept the rank waiting.
    pub(crate) fn wait_for(&mut self, handle: Handle, span: SimDuration) {
        let whom = match self.operation(handle) {
            Operation::Received { envelope, .. } => envelope.source,
            Operation::Sent(_, to) => *to,
            _ => return,
        };
        self.count_wait(whom, span);
    }

    /// Moves the clock to what `source` sent, if it is not there yet.
    pub(crate) fn waited_until(&mut self, at: SimTime, source: Rank) {
        if at > self.clock {
            self.count_wait(source, at.saturating_since(self.clock));
            self.clock = at;
        }
    }

    fn count_wait(&mut self, whom: Rank, span: SimDuration) {
        let waited = self.counts.waiting_for.entry(whom).or_default();
        *waited = *waited + span;
    }

    /// Charges what a complete receive costs the core, once.
    pub(crate) fn receive_overhead(&mut self, handle: Handle) {
        if let Operation::Received { overhead, .. } = self.operation_mut(handle)
            && let Some(overhead) = overhead.take()
        {
            self.clock += overhead;
            self.counts.receiving = self.counts.receiving + overhead;
        }
    }

    /// Returns the arrival time of a message that would arrive at `at`: not before the message before it.
    pub(crate) fn arrives(&mut self, to: Rank, at: SimTime) -> SimTime {
        const PRUNED: usize = 32;
        if self.last_to.len() >= PRUNED {
            let clock = self.clock;
            self.last_to.retain(|(_, last)| *last > clock);
        }
        match self.last_to.iter_mut().find(|(rank, _)| *rank == to) {
            Some((_, last)) => {
                *last = at.max(*last);
                *last
            }
            None => {
                self.last_to.push((to, at));
                at
            }
        }
    }

    /// The operations it waits for that have no message: what they want.
    pub(super) fn open(&self) -> impl Iterator<Item = &Post> {
        let asked = matches!(self.question, Some(Question::All | Question::Any | Question::Now));
        self.asked.iter().filter(move |_| asked).filter_map(|handle| self.mailbox.posted(*handle))
    }

    /// Returns the ranks that have to receive before the sends in `asked` complete.
    pub(super) fn receivers(&self) -> impl Iterator<Item = Rank> {
        self.asked.iter().filter_map(|handle| match self.operation(*handle) {
            Operation::Sends(to) => Some(*to),
            _ => None,
        })
    }

    /// Returns the request of a probe.
    pub(super) fn probed(&self) -> Option<&Wanted> {
        match &self.question {
            Some(Question::Probe(wanted) | Question::ProbeNow(wanted)) => Some(wanted),
            _ => None,
        }
    }

    /// Returns the time when the present question can be answered, by what is known.
    pub(super) fn answer(&self) -> Answer {
        let never = SimTime::NEVER;
        let Some(question) = &self.question else {
            return Answer { acts: self.clock, is_certain: true, needs: SimTime::ZERO, hears: false };
        };
        match question {
            Question::All | Question::Any => {
                let is_all = *question == Question::All;
                let (mut acts, mut needs) = if is_all { (self.clock, SimTime::ZERO) } else { (never, never) };
                let (mut n_open, mut hears) = (0, false);
                for &handle in &self.asked {
                    let operation = self.operation(handle);
                    let known = operation.completes();
                    hears |= matches!(operation, Operation::Receives | Operation::Received { .. });
                    let at = known
                        .or_else(|| self.mailbox.posted(handle).and_then(|post| self.mailbox.earliest(&post.wanted)));
                    n_open += usize::from(known.is_none());
                    let at = at.unwrap_or(never);
                    if is_all {
                        acts = acts.max(at);
                        needs = if known.is_none() { needs.max(at) } else { needs };
                    } else {
                        acts = acts.min(at);
                    }
                }
                if !is_all {
                    acts = acts.max(self.clock);
                    needs = acts;
                }
                Answer { acts, is_certain: n_open == 0, needs, hears }
            }
            Question::Now => {
                let is_certain = !self.asked.is_empty()
                    && self.asked.iter().all(|handle| self.operation(*handle).completes().is_some());
                Answer { acts: self.clock, is_certain, needs: self.clock, hears: true }
            }
            Question::Probe(wanted) => {
                let found = self.mailbox.probe(wanted).map(|message| message.at);
                let acts = found.map_or(never, |at| at.max(self.clock));
                let is_certain = found.is_some() && wanted.source.is_some() && !self.mailbox.is_contested(wanted);
                Answer { acts, is_certain, needs: acts, hears: true }
            }
            Question::ProbeNow(wanted) => {
                // Of a named source nothing that fits comes before what is there.
                let is_found = self.mailbox.probe(wanted).is_some();
                let is_certain = is_found && wanted.source.is_some() && !self.mailbox.is_contested(wanted);
                Answer { acts: self.clock, is_certain, needs: self.clock, hears: true }
            }
        }
    }

    /// Returns a description of what the rank waits for.
    pub(super) fn describe(&self) -> String {
        let from = |wanted: &Wanted| {
            let source = wanted.source.map_or_else(|| "any rank".to_owned(), |source| format!("rank {source}"));
            match wanted.tag {
                Some(..0) => format!("a message of {source} in a collective call"),
                Some(tag) => format!("a message of {source} with tag {tag}"),
                None => format!("a message of {source} with any tag"),
            }
        };
        let mut waits: Vec<String> = self.open().map(|post| from(&post.wanted)).collect();
        waits.extend(self.probed().map(from));
        waits.extend(self.receivers().map(|to| format!("rank {to} to receive a message")));
        waits.join(", ")
    }
}
