//! One rank's part in a replay.

use std::collections::{BTreeSet, VecDeque};

use mpi_trace::{Event, Operation};
use units::SimTime;

use super::script::{Call, Script};
use super::{Played, collective};
use crate::collective::Group;
use crate::message::{Handle, Mode, Wanted};
use crate::rank::Rank;
use crate::switch::Switch;
use crate::world::Stopped;

/// Calls and algorithms of a rank.
#[derive(Default)]
pub(super) struct Part {
    pub(super) calls: Vec<Played>,
    /// Algorithms by which its collective calls ran.
    pub(super) algorithms: BTreeSet<(&'static str, &'static str)>,
}

/// Repeats what was recorded of the rank, and returns what it did up to the point where the simulation stopped, if it
/// did.
pub(super) fn play<S: Switch>(rank: &mut Rank<'_, S>, script: &Script) -> (Part, Result<(), Stopped>) {
    let me = rank.me();
    let calls = script.calls(me);
    let mut player = Player { script, rank, pending: VecDeque::new(), ran: BTreeSet::new() };
    let mut played = Vec::with_capacity(calls.len());
    let mut at = 0;
    while at < calls.len() {
        // A call and its parts have one time.
        let n_parts = calls[at + 1..].iter().take_while(|call| call.event.is_part()).count();
        let whole = &calls[at..=at + n_parts];
        player.rank.compute(whole[0].compute);
        let start = player.rank.now();
        let done = player.call(whole, calls.get(at + n_parts + 1));
        let end = player.rank.now();
        played.extend(whole.iter().map(|call| Played { start, end, event: call.event }));
        if done.is_err() {
            return (Part { calls: played, algorithms: player.ran }, done);
        }
        at += n_parts + 1;
    }
    (Part { calls: played, algorithms: player.ran }, Ok(()))
}

struct Player<'a, 'w, S> {
    script: &'a Script,
    rank: &'a mut Rank<'w, S>,
    /// Requests that nobody waited for yet, the oldest first; none where one is complete as soon as it is made.
    pending: VecDeque<Option<Handle>>,
    ran: BTreeSet<(&'static str, &'static str)>,
}

const AT_ONCE: [Operation; 6] =
    [Operation::ISEND, Operation::IBSEND, Operation::IRSEND, Operation::ISSEND, Operation::IRECV, Operation::IMRECV];

impl<S: Switch> Player<'_, '_, S> {
    /// `next` is the call after this one.
    fn call(&mut self, whole: &[Call], next: Option<&Call>) -> Result<(), Stopped> {
        use mpi_trace::Family::{Barrier, Collective, Communicator, Exchange, Receive, Request, Send, Wait};
        let call = &whole[0];
        match call.event.operation.family() {
            Send | Receive | Exchange => {
                let begun: Vec<Handle> = whole.iter().filter_map(|part| self.begin(part)).collect();
                if call.is(&AT_ONCE) || call.is(&[Operation::ISENDRECV, Operation::ISENDRECV_REPLACE]) {
                    self.pending.extend(begun.into_iter().map(Some));
                    Ok(())
                } else {
                    self.complete(&begun)
                }
            }
            Request => {
                for part in &whole[1..] {
                    match part.event.operation.family() {
                        Barrier | Collective => self.collective(part)?,
                        _ => {
                            let begun = self.begin(part);
                            self.pending.push_back(begun);
                        }
                    }
                }
                Ok(())
            }
            Wait => self.wait(call, next),
            Barrier | Collective => {
                self.collective(call)?;
                if call.event.operation.name().starts_with("MPI_I") {
                    self.pending.push_back(None);
                }
                Ok(())
            }
            // All members take part in making one.
            Communicator if call.event.operation != Operation::COMM_FREE => self.collective(call),
            _ => Ok(()),
        }
    }

    /// Begins to send or receive; nothing where nobody is at the other end.
    fn begin(&mut self, part: &Call) -> Option<Handle> {
        use mpi_trace::Family::{Exchange, Send};
        if part.is_with_nobody() {
            return None;
        }
        if !matches!(part.event.operation.family(), Send | Exchange) {
            return Some(self.rank.receive(wanted(part)));
        }
        let mode = match part.event.operation {
            Operation::SSEND | Operation::ISSEND => Mode::Synchronous,
            Operation::BSEND | Operation::IBSEND => Mode::Buffered,
            Operation::RSEND | Operation::IRSEND => Mode::Ready,
            _ => Mode::Standard,
        };
        Some(self.rank.send_sized(part.peer?, part.context(), part.tag().unwrap_or(0), mode, part.event.bytes))
    }

    fn wait(&mut self, call: &Call, next: Option<&Call>) -> Result<(), Stopped> {
        let is_last_poll = next.is_none_or(|next| next.event.operation != call.event.operation);
        match call.event.operation {
            Operation::TEST | Operation::TESTANY | Operation::TESTALL | Operation::TESTSOME | Operation::PARRIVED
                if !is_last_poll =>
            {
                self.rank.test_nothing()
            }
            Operation::IPROBE | Operation::IMPROBE if !is_last_poll => self.rank.test_nothing(),
            Operation::PROBE | Operation::MPROBE | Operation::IPROBE | Operation::IMPROBE => {
                if call.is_with_nobody() {
                    Ok(())
                } else {
                    self.rank.probe(wanted(call)).map(drop)
                }
            }
            Operation::WAITALL | Operation::WAITSOME | Operation::TESTALL | Operation::TESTSOME => {
                let all: Vec<Handle> = self.pending.drain(..).flatten().collect();
                self.complete(&all)
            }
            Operation::WAITANY | Operation::TESTANY => {
                let open: Vec<Handle> = self.pending.iter().flatten().copied().collect();
                if open.len() < self.pending.len() || open.is_empty() {
                    self.pending.retain(Option::is_some);
                    return Ok(());
                }
                let first = open[self.rank.wait_any(&open)?];
                self.rank.take(first);
                self.pending.retain(|handle| *handle != Some(first));
                Ok(())
            }
            _ => match self.pending.pop_front().flatten() {
                Some(oldest) => self.complete(&[oldest]),
                None => Ok(()),
            },
        }
    }

    fn collective(&mut self, call: &Call) -> Result<(), Stopped> {
        let (members, operation) = (self.script.members(call), call.event.operation);
        let root = call.peer.and_then(|root| members.iter().position(|member| *member == root)).unwrap_or(0);
        let Some(mut group) = Group::new(self.rank, members, call.context() + 1) else { return Ok(()) };
        let algorithm = collective::call(&mut group, operation, root, call.event.bytes)?;
        self.ran.insert((operation.name(), algorithm.name()));
        Ok(())
    }

    fn complete(&mut self, handles: &[Handle]) -> Result<(), Stopped> {
        self.rank.wait_all(handles)?;
        for handle in handles {
            self.rank.take(*handle);
        }
        Ok(())
    }
}

fn wanted(call: &Call) -> Wanted {
    Wanted { source: call.peer, context: call.context(), tag: call.tag() }
}

impl Played {
    /// The event with the times of the simulation, in nanoseconds.
    #[must_use]
    pub fn placed(&self) -> Event {
        Event { start: SimTime::as_nanos(self.start), end: SimTime::as_nanos(self.end), ..self.event }
    }
}
