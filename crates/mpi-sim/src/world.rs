//! The clocks and messages of all ranks, and who may go on.

mod bounds;
mod lock;
mod mailbox;
mod operation;
mod state;
mod transit;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::num::NonZero;

use des::Protocol;
use serde::{Deserialize, Serialize};
use units::{Rank, SimDuration, SimTime};

use crate::machine::Machine;
use crate::message::{Context, Handle, Message, Wanted};
use state::{Doing, RankState};
use transit::Transit;

pub use lock::{Held, Lock};
pub(crate) use mailbox::Post;
pub(crate) use operation::Operation;
pub(crate) use state::Question;
pub use state::RankCounts;

/// Least time that every message takes, so that all that follows from an event comes after it. On a machine without
/// latency results are exact in this way, too; protocols other than the sequential one take many rounds for it.
pub(crate) const INSTANT: SimDuration = SimDuration::from_nanos(1);

/// Settings of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Protocol by which a rank determines that nothing earlier can arrive.
    pub protocol: Protocol,
    /// Ranks that run at a time.
    pub n_workers: NonZero<u32>,
    /// Whether no two ranks send the same tag to one rank, as whoever runs the program says.
    pub has_unique_tags: bool,
}

/// The stop of a simulation: the rank that found the reason, its clock, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} stopped at {at}: {reason}")]
pub struct Stopped {
    /// The rank that found the reason.
    pub rank: Rank,
    /// The clock of that rank.
    pub at: SimTime,
    /// The reason that the rank found.
    pub reason: Reason,
}

/// The reason why the simulation stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// All ranks that have not ended wait for each other.
    #[error("every rank waits for another, and none can go on")]
    Deadlock,
    /// A rank ended the program.
    #[error("{0}")]
    Ended(String),
}

/// A rank that waited when the simulation stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The rank.
    pub rank: Rank,
    /// Time since which the rank waited, by its clock.
    pub at: SimTime,
    /// The awaited event: "a message of rank 3 with tag 7".
    pub awaits: String,
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Rounds: how often all workers waited for each other to find out who may go on.
    pub n_rounds: u64,
    /// Rounds after which nobody could.
    pub n_idle_rounds: u64,
    /// Number of times that bounds grew so slowly that the first of all went on without one.
    pub n_slow_advances: u64,
    /// Bounds of other ranks that were asked for in rounds.
    pub n_null_messages: u64,
    /// Number of times that a rank went on until it had to wait for a bound or a message.
    pub n_stretches: u64,
    /// Total advance of clocks in these stretches.
    pub stretched: SimDuration,
}

/// The clocks and messages of all ranks; everybody reaches it through a [`Lock`].
pub struct World {
    machine: Machine,
    settings: Settings,
    /// Whether a rank goes on as soon as what it waits for cannot change.
    runs_ahead: bool,
    communicators: HashMap<(Rank, Context), Communicator>,
    ranks: Vec<RankState>,
    transit: Transit,
    /// Ranks that may run as soon as a worker is free.
    ready: VecDeque<Rank>,
    n_idle_workers: u32,
    /// Whether a worker looks for the next rank.
    is_choosing: bool,
    n_ended: u32,
    /// Ranks that wait, by when they act; an entry whose time is not its rank's any more is passed over.
    agenda: BinaryHeap<Reverse<(SimTime, Rank)>>,
    /// Ranks that got a worker that was idle; the caller wakes them once it has let go of the world.
    woken: Vec<Rank>,
    /// The end of the present quantum.
    window: SimTime,
    counts: Counts,
    stopped: Option<Stopped>,
    /// Ranks that waited when the simulation stopped.
    waits: Vec<Wait>,
}

/// Declaration of a communicator by a rank.
struct Communicator {
    members: Box<[Rank]>,
    has_unique_tags: bool,
}

impl World {
    /// The ranks of `machine` at time zero. The first of them, one for each worker, may run at once.
    #[must_use]
    pub fn new(machine: Machine, settings: Settings) -> Lock<Self> {
        let n_ranks = machine.n_ranks();
        let n_running = settings.n_workers.get().min(n_ranks);
        let runs_ahead = match settings.protocol {
            Protocol::Sequential => true,
            Protocol::Quantum(_) => false,
            Protocol::Rounds(rounds) => rounds.deterministic,
        };
        let mut ranks: Vec<RankState> = (0..n_ranks).map(|_| RankState::default()).collect();
        for rank in &mut ranks[..n_running as usize] {
            rank.doing = Doing::Running;
        }
        Lock::new(Self {
            transit: Transit::new(machine.links()),
            machine,
            settings,
            runs_ahead,
            communicators: HashMap::new(),
            ranks,
            ready: (n_running..n_ranks).collect(),
            n_idle_workers: settings.n_workers.get() - n_running,
            is_choosing: false,
            n_ended: 0,
            agenda: BinaryHeap::new(),
            woken: Vec::new(),
            window: SimTime::ZERO,
            counts: Counts::default(),
            stopped: None,
            waits: Vec::new(),
        })
    }

    /// Returns the ranks that may run at the beginning.
    #[must_use]
    pub fn first(&self) -> std::ops::Range<Rank> {
        0..self.settings.n_workers.get().min(self.machine.n_ranks())
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the settings of the simulation.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the clock of a rank.
    #[must_use]
    pub fn clock(&self, rank: Rank) -> SimTime {
        self.ranks[rank as usize].clock
    }

    /// Returns the counters of a rank so far.
    #[must_use]
    pub fn rank_counts(&self, rank: Rank) -> &RankCounts {
        &self.ranks[rank as usize].counts
    }

    /// Returns the counters of the run so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the reason why the simulation stopped, if it did.
    #[must_use]
    pub fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    /// Returns what each rank waited for when the simulation stopped, by rank: for reports of deadlocks.
    #[must_use]
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// Messages that a rank was sent and did not receive.
    pub fn unreceived(&self, rank: Rank) -> impl Iterator<Item = &crate::message::Envelope> {
        self.ranks[rank as usize].mailbox.left()
    }

    /// Operations that a rank began and did not complete.
    #[must_use]
    pub fn n_unfinished(&self, rank: Rank) -> usize {
        self.ranks[rank as usize].n_operations()
    }

    /// Ends the simulation for everybody: each rank's next question is answered with it.
    pub fn stop(&mut self, stopped: Stopped) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some(stopped);
        for rank in 0..self.ranks.len() as Rank {
            let state = &self.ranks[rank as usize];
            if state.doing == Doing::Waiting {
                let awaits = state.describe();
                // Others wait only until it is known that nothing earlier can arrive.
                if !awaits.is_empty() {
                    self.waits.push(Wait { rank, at: state.clock, awaits });
                }
                self.make_ready(rank);
            }
        }
    }

    pub(crate) fn take_woken(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.woken)
    }

    pub(crate) fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }

    pub(crate) fn state(&mut self, rank: Rank) -> &mut RankState {
        &mut self.ranks[rank as usize]
    }

    /// Whether the rank, which is about to wait, may go on at once.
    pub(crate) fn goes_on(&mut self, me: Rank) -> bool {
        if self.stopped.is_none() {
            self.settle(me);
            if !self.is_permitted(me) {
                let state = &mut self.ranks[me as usize];
                state.doing = Doing::Waiting;
                if state.acts < SimTime::NEVER {
                    self.agenda.push(Reverse((state.acts, me)));
                }
                self.counts.n_stretches += 1;
                self.counts.stretched = self.counts.stretched + state.clock.saturating_since(state.stretch_began);
                return false;
            }
        }
        self.ranks[me as usize].doing = Doing::Running;
        true
    }

    /// Returns the rank that takes the place of a rank that waits or has ended; none if others still run.
    pub(crate) fn next(&mut self) -> Option<Rank> {
        self.is_choosing = true;
        let next = self.choose();
        self.is_choosing = false;
        next
    }

    fn choose(&mut self) -> Option<Rank> {
        loop {
            if let Some(rank) = self.ready.pop_front() {
                return Some(rank);
            }
            if self.n_idle_workers + 1 < self.settings.n_workers.get() || self.n_ended as usize == self.ranks.len() {
                self.n_idle_workers += 1;
                return None;
            }
            if !self.round() {
                let waits = (0..).zip(&self.ranks).find(|(_, state)| state.doing == Doing::Waiting);
                let (rank, at) = waits.map_or((0, SimTime::ZERO), |(rank, state)| (rank, state.clock));
                self.stop(Stopped { rank, at, reason: Reason::Deadlock });
            }
        }
    }

    /// Lets a rank run as soon as there is a worker.
    fn make_ready(&mut self, rank: Rank) {
        let state = &mut self.ranks[rank as usize];
        state.doing = Doing::Ready;
        state.stretch_began = state.clock;
        // Where a worker looks for the next rank, it takes the first itself.
        if self.n_idle_workers > 0 && !(self.is_choosing && self.ready.is_empty()) {
            self.n_idle_workers -= 1;
            self.woken.push(rank);
        } else {
            self.ready.push_back(rank);
        }
    }

    /// Looks again at a rank that may be waiting for what has changed.
    fn reconsider(&mut self, rank: Rank) {
        if self.ranks[rank as usize].doing == Doing::Waiting {
            self.settle(rank);
            let before = self.ranks[rank as usize].acts;
            if self.is_permitted(rank) {
                self.make_ready(rank);
                return;
            }
            let acts = self.ranks[rank as usize].acts;
            if acts != before && acts < SimTime::NEVER {
                self.agenda.push(Reverse((acts, rank)));
            }
        }
    }

    /// Brings a message to its receiver.
    pub(crate) fn deliver(&mut self, to: Rank, message: Message) {
        if let Some((post, message)) = self.ranks[to as usize].mailbox.deliver(message) {
            self.pair(to, &post, message);
        }
        self.reconsider(to);
    }

    /// Begins to receive.
    pub(crate) fn post(&mut self, me: Rank, post: Post) {
        if let Some((post, message)) = self.ranks[me as usize].mailbox.post(post) {
            self.pair(me, &post, message);
        }
    }

    /// Brings receives that name no source together with messages, as far as bounds allow.
    fn settle(&mut self, rank: Rank) {
        loop {
            let state = &mut self.ranks[rank as usize];
            let bound = state.granted.max(state.granted_once);
            let Some((post, message)) = state.mailbox.settle(bound) else { return };
            self.pair(rank, &post, message);
        }
    }

    /// Pairs a message with its receive.
    pub(crate) fn pair(&mut self, to: Rank, post: &Post, message: Message) {
        let Message { envelope, bytes, at, cost, answer_to, has_to_ask, .. } = message;
        let met = at.max(post.at);
        let from = envelope.source;
        let mut arrives = met;
        if let Some(handle) = answer_to {
            // The receiver's word travels back.
            let asked = met + self.word(to, from);
            let sent = if has_to_ask { asked + cost.gap } else { asked };
            self.ranks[from as usize].set(handle, Operation::Sent(sent, to));
            if has_to_ask {
                arrives = asked + cost.wire.max(INSTANT);
                if self.transit.is_taken(&self.machine, from, to) {
                    arrives = SimTime::NEVER;
                    self.transit.send_data(&self.machine, asked, from, to, (post.handle, cost.wire), &envelope);
                }
            }
            self.reconsider(from);
        }
        let received = Operation::Received {
            at: arrives,
            envelope,
            bytes,
            overhead: Some(cost.receive_overhead),
            answers: answer_to.is_some(),
        };
        self.ranks[to as usize].set(post.handle, received);
    }

    /// Completes a receive whose data, which were asked for, have come.
    fn complete(&mut self, to: Rank, handle: Handle, arrived: SimTime) {
        if let Operation::Received { at, .. } = self.ranks[to as usize].operation_mut(handle) {
            *at = arrived;
        }
        self.reconsider(to);
    }

    /// Returns the time that a receiver's answer takes to the sender. The answer is so short that it does not wait for
    /// links.
    fn word(&self, from: Rank, to: Rank) -> SimDuration {
        self.machine.cost(from, to, 0).wire.max(INSTANT)
    }

    /// Sends what departs then and takes `wire`, by links where there are any.
    pub(crate) fn send(&mut self, to: Rank, departs: SimTime, wire: SimDuration, message: Message) {
        let from = message.envelope.source;
        if self.transit.is_taken(&self.machine, from, to) {
            self.transit.send(&self.machine, departs, to, wire, message);
        } else {
            let at = self.ranks[from as usize].arrives(to, departs + wire.max(INSTANT));
            self.deliver(to, Message { at, ..message });
        }
    }

    /// Stores a rank's declaration of a communicator. Communicators without a common rank may have the same context.
    pub(crate) fn declare(&mut self, me: Rank, context: Context, members: &[Rank], has_unique_tags: bool) {
        self.communicators.insert((me, context), Communicator { members: members.into(), has_unique_tags });
    }

    /// Removes a communicator, whose context may become another's.
    pub(crate) fn forget(&mut self, me: Rank, context: Context) {
        self.communicators.remove(&(me, context));
    }

    /// Whether the first of several sources' messages has to be found for such a receive.
    pub(crate) fn is_wild(&self, me: Rank, wanted: &Wanted) -> bool {
        let has_unique_tags = || {
            self.settings.has_unique_tags
                || self.communicators.get(&(me, wanted.context)).is_some_and(|known| known.has_unique_tags)
        };
        wanted.source.is_none() && !(self.runs_ahead && wanted.tag.is_some() && has_unique_tags())
    }

    /// Takes a receive back unless its message has come by the rank's clock.
    ///
    /// A message on its way stays for the next receive. One whose sender waits for this receive counts as come: the
    /// sender may know already.
    pub(crate) fn cancel(&mut self, me: Rank, handle: Handle) -> bool {
        let state = &mut self.ranks[me as usize];
        let now = state.clock;
        match state.operation(handle) {
            Operation::Received { at, answers: false, .. } if *at > now => {
                let Operation::Received { at, envelope, bytes, .. } =
                    std::mem::replace(state.operation_mut(handle), Operation::Cancelled)
                else {
                    unreachable!("the operation was looked at")
                };
                let id = state.n_incoming;
                state.n_incoming += 1;
                let cost = self.machine.cost(envelope.source, me, envelope.n_bytes);
                state.mailbox.put_back(Message { id, envelope, bytes, at, cost, answer_to: None, has_to_ask: false });
            }
            Operation::Receives => state.withdraw(handle),
            _ => return false,
        }
        self.settle(me);
        true
    }

    /// Ends a rank.
    pub(crate) fn end(&mut self, me: Rank) {
        self.ranks[me as usize].doing = Doing::Ended;
        self.n_ended += 1;
    }
}
