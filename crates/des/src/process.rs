//! Parts of a simulation: processes that take messages and send others.

use units::{SimDuration, SimTime};

/// Position of a process among all of a simulation.
pub type ProcessIdx = u32;

/// A logical process: a state of its own that only messages change.
pub trait Process: Send {
    /// Message between processes.
    type Message: Send;

    /// Begins, at time zero, before any message arrives.
    fn start(&mut self, turn: &mut Turn<'_, Self::Message>);

    /// Takes a message. The process's clock is at the arrival, or later where the process was busy until then.
    fn take(&mut self, arrival: Arrival<Self::Message>, turn: &mut Turn<'_, Self::Message>);

    /// Returns what the process takes next. Called after each turn.
    fn wants(&self) -> Wants {
        Wants::Any
    }

    /// Returns the processes that may send to this one from now on. The fewer there are, the sooner it is certain that
    /// nothing earlier can arrive. Where the set grows in a turn, [`Turn::sources_grew`] has to say so.
    fn sources(&self) -> Sources<'_> {
        Sources::All
    }

    /// Returns the least time between its clock and the arrival of what it sends to others, from now on until it takes
    /// the next message.
    fn lookahead(&self) -> SimDuration;

    /// Returns the least time that a message from `source` takes to it. At least that source's
    /// [`lookahead`](Self::lookahead), if it is known to be longer.
    fn lookahead_from(&self, source: ProcessIdx) -> SimDuration {
        let _ = source;
        SimDuration::ZERO
    }
}

/// The message that a process takes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Whatever arrives first.
    Any,
    /// The next that this process sent, in the order of sending; what others sent is kept for later.
    Next(ProcessIdx),
    /// Nothing more.
    Nothing,
}

/// The processes that may send to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources<'a> {
    /// All other processes.
    All,
    /// These processes, beside itself.
    These(&'a [ProcessIdx]),
}

/// A message as it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<M> {
    /// Time of the arrival.
    pub at: SimTime,
    /// The process that sent the message.
    pub source: ProcessIdx,
    /// Content of the message.
    pub message: M,
}

/// A message on its way.
pub(crate) struct Sent<M> {
    pub to: ProcessIdx,
    pub at: SimTime,
    pub source: ProcessIdx,
    pub sequence: u64,
    pub message: M,
}

/// A process's turn: its clock, and where its messages go.
pub struct Turn<'a, M> {
    pub(crate) me: ProcessIdx,
    pub(crate) now: SimTime,
    /// Nothing that others get may arrive before this: what the process promised.
    pub(crate) promised: SimTime,
    /// Whether more processes may send to it than before.
    pub(crate) grew: bool,
    pub(crate) n_sent: &'a mut u64,
    pub(crate) out: &'a mut Vec<Sent<M>>,
}

impl<M> Turn<'_, M> {
    /// The process's clock.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Lets the process compute for `span`.
    pub fn compute(&mut self, span: SimDuration) {
        self.now += span;
    }

    /// Declares that the process names [sources](Process::sources) from this turn on that it did not name before.
    pub fn sources_grew(&mut self) {
        self.grew = true;
    }

    /// Sends `message`, which arrives `after` from the clock's present.
    ///
    /// # Panics
    /// Where it would arrive at another process before the [lookahead](Process::lookahead) that was promised.
    pub fn send(&mut self, to: ProcessIdx, after: SimDuration, message: M) {
        let at = self.now + after;
        let (me, promised) = (self.me, self.promised);
        assert!(
            to == me || at >= promised,
            "process {me} sent a message that arrives at {at} in a turn that promised nothing before {promised}"
        );
        self.out.push(Sent { to, at, source: me, sequence: *self.n_sent, message });
        *self.n_sent += 1;
    }
}
