//! Requests of a rank to the simulation.

use std::sync::Arc;

use units::{Rank as RankIdx, SimDuration, SimTime};

use crate::collective::Choices;
use crate::message::{Context, Envelope, Handle, Message, MessageId, Mode, Wanted};
use crate::switch::Switch;
use crate::world::{Held, INSTANT, Lock, Operation, Post, Question, Stopped, World};

/// A rank's way into the world. Each call returns when the rank may go on; times are simulated.
pub struct Rank<'a, S> {
    world: &'a Lock<World>,
    switch: &'a S,
    me: RankIdx,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A send is complete.
    Sent,
    /// A receive, with its message.
    Received(Envelope, Box<[u8]>),
    /// A receive was taken back.
    Cancelled,
}

impl Taken {
    /// A received message's bytes; none of what else there may be.
    #[must_use]
    pub fn into_bytes(self) -> Box<[u8]> {
        match self {
            Self::Received(_, bytes) => bytes,
            Self::Sent | Self::Cancelled => Box::default(),
        }
    }
}

impl<'a, S: Switch> Rank<'a, S> {
    /// Rank `me`, which is running.
    #[must_use]
    pub fn new(world: &'a Lock<World>, switch: &'a S, me: RankIdx) -> Self {
        Self { world, switch, me }
    }

    /// Returns the number of this rank.
    #[must_use]
    pub fn me(&self) -> RankIdx {
        self.me
    }

    /// Returns the rules and tables that choose the algorithms of collective operations that are made of messages.
    pub(crate) fn choices(&self) -> Arc<Choices> {
        Arc::clone(self.world.hold().machine().choices())
    }

    /// All ranks.
    #[must_use]
    pub fn n_ranks(&self) -> u32 {
        self.world.hold().machine().n_ranks()
    }

    /// Declares which ranks use a communicator's messages of this context, and whether no two of them send the same
    /// tag. Then this rank, when it takes messages of any source, waits for bounds of these ranks alone, and for no
    /// bound if it names the tag.
    pub fn declare(&mut self, context: Context, members: &[RankIdx], has_unique_tags: bool) {
        self.world.hold().declare(self.me, context, members, has_unique_tags);
    }

    /// Withdraws that declaration, if the context may become another communicator's.
    pub fn forget(&mut self, context: Context) {
        self.world.hold().forget(self.me, context);
    }

    /// The rank's clock.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.world.hold().clock(self.me)
    }

    /// Computes for what takes `span` on this host.
    pub fn compute(&mut self, span: SimDuration) {
        let mut world = self.world.hold();
        let span = world.machine().compute(self.me, span);
        let state = world.state(self.me);
        state.clock += span;
        state.counts.computing = state.counts.computing + span;
    }

    /// Moves the clock on by `span`, whatever the machine.
    pub fn sleep(&mut self, span: SimDuration) {
        self.world.hold().state(self.me).clock += span;
    }

    /// Begins to send. The caller's core is busy for the overhead; when the handle completes depends on `mode`.
    pub fn send(&mut self, to: RankIdx, context: Context, tag: i32, mode: Mode, bytes: Box<[u8]>) -> Handle {
        let envelope = Envelope { source: self.me, context, tag, n_bytes: bytes.len() as u64 };
        self.send_envelope(to, envelope, mode, bytes)
    }

    /// Begins to send, as [`send`](Self::send), a message that costs as much as `n_bytes` and brings no bytes.
    pub fn send_sized(&mut self, to: RankIdx, context: Context, tag: i32, mode: Mode, n_bytes: u64) -> Handle {
        let envelope = Envelope { source: self.me, context, tag, n_bytes };
        self.send_envelope(to, envelope, mode, Box::default())
    }

    fn send_envelope(&mut self, to: RankIdx, envelope: Envelope, mode: Mode, bytes: Box<[u8]>) -> Handle {
        let Envelope { source: from, n_bytes, .. } = envelope;
        let mut world = self.world.hold();
        let cost = world.machine().cost(from, to, n_bytes);
        let has_to_ask = !cost.is_eager && mode != Mode::Buffered;
        let request = if has_to_ask { world.machine().cost(from, to, 0) } else { cost };
        let id = world.state(to).n_incoming;
        world.state(to).n_incoming += 1;
        let state = world.state(from);
        state.clock += cost.send_overhead;
        state.counts.sending = state.counts.sending + cost.send_overhead;
        state.counts.n_sent += 1;
        state.counts.n_bytes_sent += n_bytes;
        let departs = state.clock.max(state.wire_free);
        state.wire_free = departs + request.gap;
        let waits = has_to_ask || mode == Mode::Synchronous;
        let handle = state.begin(if waits { Operation::Sends(to) } else { Operation::Sent(state.clock, to) });
        let answer_to = waits.then_some(handle);
        let message = Message { id, envelope, bytes, at: departs, cost, answer_to, has_to_ask };
        world.send(to, departs, request.wire, message);
        self.let_go(world);
        handle
    }

    /// Begins to receive.
    pub fn receive(&mut self, wanted: Wanted) -> Handle {
        let mut world = self.world.hold();
        let state = world.state(self.me);
        let handle = state.begin(Operation::Receives);
        let at = state.clock;
        let is_wild = world.is_wild(self.me, &wanted);
        world.post(self.me, Post { handle, wanted, at, is_wild });
        self.let_go(world);
        handle
    }

    /// Begins to receive a message that a probe found and took out.
    ///
    /// # Panics
    /// Where there is no such message any more.
    pub fn receive_probed(&mut self, message: Probed) -> Handle {
        let mut world = self.world.hold();
        let state = world.state(self.me);
        let handle = state.begin(Operation::Receives);
        let envelope = message.0.envelope;
        let wanted = Wanted { source: Some(envelope.source), context: envelope.context, tag: Some(envelope.tag) };
        let post = Post { handle, wanted, at: state.clock, is_wild: false };
        world.pair(self.me, &post, message.0);
        self.let_go(world);
        handle
    }

    /// Waits until all of `handles` are complete.
    ///
    /// # Errors
    /// Where the simulation has stopped, as in all that follow.
    pub fn wait_all(&mut self, handles: &[Handle]) -> Result<(), Stopped> {
        let mut world = self.ask(Question::All, handles)?;
        let state = world.state(self.me);
        let mut clock = state.clock;
        for &handle in handles {
            let at = state.operation(handle).completes().unwrap_or(clock);
            if at > clock {
                state.wait_for(handle, at.saturating_since(clock));
                clock = at;
            }
        }
        state.clock = clock;
        for &handle in handles {
            state.receive_overhead(handle);
        }
        Ok(())
    }

    /// Waits until one of `handles` is complete: the first of those, by their order, that are then.
    pub fn wait_any(&mut self, handles: &[Handle]) -> Result<usize, Stopped> {
        let mut world = self.ask(Question::Any, handles)?;
        let state = world.state(self.me);
        let completes = |handle: &Handle| state.operation(*handle).completes().unwrap_or(SimTime::NEVER);
        let (first, at) = handles
            .iter()
            .map(completes)
            .enumerate()
            .min_by_key(|(_, at)| (*at).max(state.clock))
            .unwrap_or((0, state.clock));
        if at > state.clock && at < SimTime::NEVER {
            state.wait_for(handles[first], at.saturating_since(state.clock));
            state.clock = at;
        }
        if let Some(handle) = handles.get(first) {
            state.receive_overhead(*handle);
        }
        Ok(first)
    }

    /// Returns which of `handles` are complete by now. A poll takes the machine's time for one.
    pub fn test(&mut self, handles: &[Handle]) -> Result<Vec<bool>, Stopped> {
        self.poll();
        let mut world = self.ask(Question::Now, handles)?;
        let state = world.state(self.me);
        let now = state.clock;
        let complete = |handle: &Handle| state.operation(*handle).completes().is_some_and(|at| at <= now);
        let complete: Vec<bool> = handles.iter().map(complete).collect();
        for (handle, _) in handles.iter().zip(&complete).filter(|(_, is_complete)| **is_complete) {
            state.receive_overhead(*handle);
        }
        Ok(complete)
    }

    /// Polls, and looks at nothing: what others do until now has happened when this returns.
    pub fn test_nothing(&mut self) -> Result<(), Stopped> {
        self.test(&[]).map(drop)
    }

    /// Waits for a message that fits.
    pub fn probe(&mut self, wanted: Wanted) -> Result<Envelope, Stopped> {
        let mut world = self.ask(Question::Probe(wanted), &[])?;
        let state = world.state(self.me);
        let (at, envelope, _) = state.probe(&wanted).expect("a probe goes on when there is a message");
        state.waited_until(at, envelope.source);
        Ok(envelope)
    }

    /// Whether there is a message that fits by now. A poll takes the machine's time for one.
    pub fn probe_now(&mut self, wanted: Wanted) -> Result<Option<Envelope>, Stopped> {
        self.poll();
        let mut world = self.ask(Question::ProbeNow(wanted), &[])?;
        let state = world.state(self.me);
        Ok(state.probe(&wanted).filter(|(at, ..)| *at <= state.clock).map(|(_, envelope, _)| envelope))
    }

    /// Waits for a message, as [`probe`](Self::probe), and takes the message out, so that only
    /// [`receive_probed`](Self::receive_probed) gets it.
    pub fn take_probed(&mut self, wanted: Wanted) -> Result<Probed, Stopped> {
        self.probe(wanted)?;
        Ok(self.take_found(&wanted))
    }

    /// Looks for a message, as [`probe_now`](Self::probe_now), and takes the message out.
    pub fn take_probed_now(&mut self, wanted: Wanted) -> Result<Option<Probed>, Stopped> {
        let found = self.probe_now(wanted)?;
        Ok(found.map(|_| self.take_found(&wanted)))
    }

    /// Takes a receive back, unless its message has come by now; whether it was taken back. Either way it is complete
    /// soon and has to be [taken](Self::take). A send is never taken back.
    pub fn cancel(&mut self, handle: Handle) -> Result<bool, Stopped> {
        let mut world = self.ask(Question::Now, &[handle])?;
        let is_taken_back = world.cancel(self.me, handle);
        self.let_go(world);
        Ok(is_taken_back)
    }

    /// Ends an operation that is complete.
    ///
    /// # Panics
    /// Where it is not.
    pub fn take(&mut self, handle: Handle) -> Taken {
        let mut world = self.world.hold();
        let state = world.state(self.me);
        match state.finish(handle) {
            Operation::Sent(..) => Taken::Sent,
            Operation::Received { envelope, bytes, .. } => {
                state.counts.n_received += 1;
                state.counts.n_bytes_received += envelope.n_bytes;
                Taken::Received(envelope, bytes)
            }
            Operation::Cancelled => Taken::Cancelled,
            Operation::Free(_) | Operation::Sends(_) | Operation::Receives => {
                unreachable!("rank {} takes operation {handle}, which is not complete", self.me)
            }
        }
    }

    /// Ends the simulation for everybody.
    pub fn stop(&mut self, stopped: Stopped) {
        let mut world = self.world.hold();
        world.stop(stopped);
        self.let_go(world);
    }

    /// Ends.
    pub fn end(mut self) {
        self.leave();
    }

    pub(crate) fn switch(&self) -> &'a S {
        self.switch
    }

    pub(crate) fn leave(&mut self) {
        let mut world = self.world.hold();
        world.end(self.me);
        let next = world.next();
        self.let_go(world);
        self.switch.leave(self.me, next);
    }

    fn poll(&mut self) {
        let mut world = self.world.hold();
        let poll = world.machine().poll().max(INSTANT);
        let state = world.state(self.me);
        state.clock += poll;
        state.counts.receiving = state.counts.receiving + poll;
        state.counts.n_polls += 1;
    }

    fn take_found(&mut self, wanted: &Wanted) -> Probed {
        let mut world = self.world.hold();
        let state = world.state(self.me);
        let (_, _, id) = state.probe(wanted).expect("what a probe found stays until it is taken");
        Probed(state.take_message(id).expect("what a probe found stays until it is taken"))
    }

    /// Waits until `question` can be answered.
    fn ask(&mut self, question: Question, handles: &[Handle]) -> Result<Held<'a, World>, Stopped> {
        let mut world = self.world.hold();
        let state = world.state(self.me);
        state.ask(question, handles);
        loop {
            if world.goes_on(self.me) {
                break;
            }
            let next = world.next();
            if next == Some(self.me) {
                continue;
            }
            self.let_go(world);
            self.switch.give_way(self.me, next);
            world = self.world.hold();
        }
        match world.stopped() {
            Some(stopped) => Err(stopped.clone()),
            None => Ok(world),
        }
    }

    /// Lets go of the world, and has those run that got a worker.
    fn let_go(&self, mut world: Held<'_, World>) {
        let woken = if world.has_woken() { world.take_woken() } else { Vec::new() };
        drop(world);
        for rank in woken {
            self.switch.wake(rank);
        }
    }
}

/// A message that a probe took out.
pub struct Probed(Message);

impl Probed {
    /// Returns the properties of the message.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.0.envelope
    }

    /// Returns the id of the message.
    #[must_use]
    pub fn id(&self) -> MessageId {
        self.0.id
    }
}
