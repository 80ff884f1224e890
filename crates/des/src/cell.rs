//! A process with all that the kernel keeps for it.

use units::SimTime;

use crate::inbox::Inbox;
use crate::process::{Process, ProcessIdx, Sent, Turn, Wants};

pub(crate) struct Cell<P: Process> {
    pub process: P,
    pub idx: ProcessIdx,
    pub clock: SimTime,
    pub wants: Wants,
    /// Nothing that is still to be sent to it arrives before this (EIT, earliest input time).
    pub bound: SimTime,
    /// Lower bound for the source whose next message it waits for; of no use for the message after that.
    pub bound_of_next: SimTime,
    inbox: Inbox<P::Message>,
    n_sent: u64,
}

impl<P: Process> Cell<P> {
    /// Starts a process, and returns its cell; what the process sends at once is in `out`.
    pub fn start(mut process: P, idx: ProcessIdx, out: &mut Vec<Sent<P::Message>>) -> Self {
        let mut n_sent = 0;
        let promised = SimTime::ZERO + process.lookahead();
        let mut turn = Turn { me: idx, now: SimTime::ZERO, promised, grew: false, n_sent: &mut n_sent, out };
        process.start(&mut turn);
        let clock = turn.now;
        let wants = process.wants();
        Self {
            process,
            idx,
            clock,
            wants,
            bound: SimTime::ZERO,
            bound_of_next: SimTime::ZERO,
            inbox: Inbox::default(),
            n_sent,
        }
    }

    pub fn put(&mut self, sent: Sent<P::Message>) {
        self.inbox.put(sent);
    }

    /// Returns the arrival time of the message that the process takes next; later messages may have been sent before
    /// it.
    pub fn arrives(&mut self) -> Option<SimTime> {
        self.inbox.next(self.wants)
    }

    /// Returns the time from which on the process can go on with what is there: when that has arrived, and the process
    /// is done with what was before.
    pub fn goes_on(&mut self) -> Option<SimTime> {
        self.arrives().map(|at| at.max(self.clock))
    }

    /// Takes the next message, which is there.
    pub fn take(&mut self, out: &mut Vec<Sent<P::Message>>) {
        let Some(arrival) = self.inbox.take(self.wants) else { return };
        let now = self.clock.max(arrival.at);
        let promised = now + self.process.lookahead();
        let mut turn = Turn { me: self.idx, now, promised, grew: false, n_sent: &mut self.n_sent, out };
        self.process.take(arrival, &mut turn);
        self.clock = turn.now;
        self.bound_of_next = SimTime::ZERO;
        if turn.grew {
            self.bound = SimTime::ZERO;
        }
        self.wants = self.process.wants();
    }
}
