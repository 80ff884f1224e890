//! Rounds that compute the lower bounds on time stamps (LBTS) of all ranks when every rank waits.
//!
//! The bounds are those of `docs/decisions/bounds-of-simulated-time.md`, with the rank in place of the process: what a
//! rank waits for stands for the message that it takes next, and its clock moves on as it computes and sends.

use std::cmp::Reverse;

use des::{Protocol, Rounds, SyncInfo};
use units::{Rank, SimDuration, SimTime};

use super::state::Doing;
use super::transit::Came;
use super::{INSTANT, World};

/// Null messages alone let bounds grow by one lookahead a round: after so many rounds in which nobody could go on, the
/// first of all does.
const SLOW_ROUNDS: u32 = 1_000;

impl World {
    /// Whether a rank may answer its question.
    pub(super) fn is_permitted(&mut self, rank: Rank) -> bool {
        let state = &mut self.ranks[rank as usize];
        let answer = state.answer();
        let settles = state.mailbox.settles().unwrap_or(SimTime::NEVER);
        state.acts = answer.acts.min(settles);
        if answer.acts == SimTime::NEVER {
            return false;
        }
        let granted = state.granted.max(state.granted_once);
        if self.runs_ahead {
            answer.is_certain || answer.needs < granted
        } else {
            (answer.is_certain && !answer.hears) || answer.acts < granted
        }
    }

    /// Finds out who may go on, where all wait. False where nobody ever can.
    pub(super) fn round(&mut self) -> bool {
        let mut n_slow = 0;
        loop {
            let first = self.move_links();
            if !self.ready.is_empty() {
                return true;
            }
            let Some((acts, rank)) = first else { return false };
            self.counts.n_rounds += 1;
            n_slow += 1;
            match self.settings.protocol {
                Protocol::Sequential => self.grant(rank, self.conditional(acts), true),
                Protocol::Quantum(length) => self.grant_window(acts, length),
                Protocol::Rounds(_) if n_slow > SLOW_ROUNDS => {
                    self.counts.n_slow_advances += 1;
                    self.grant(rank, self.conditional(acts), true);
                }
                Protocol::Rounds(rounds) => self.grant_bounds(rounds, acts),
            }
            if !self.ready.is_empty() {
                return true;
            }
            self.counts.n_idle_rounds += 1;
        }
    }

    /// Returns the time and rank of the one that acts first of all that wait; none if all wait for ever.
    fn soonest(&mut self) -> Option<(SimTime, Rank)> {
        loop {
            let &Reverse((acts, rank)) = self.agenda.peek()?;
            let state = &self.ranks[rank as usize];
            if state.doing == Doing::Waiting && state.acts == acts {
                return Some((acts, rank));
            }
            self.agenda.pop();
        }
    }

    /// Moves what is on links as far as nothing new can come before it. Who acts first afterwards, and when.
    fn move_links(&mut self) -> Option<(SimTime, Rank)> {
        loop {
            let first = self.soonest();
            let mut until = first.map_or(SimTime::NEVER, |(acts, _)| acts);
            let mut has_come = false;
            while self.transit.next().is_some_and(|at| at < until) {
                let Some((at, came)) = self.transit.step(&self.machine) else { continue };
                // Whoever gets it does nothing before.
                until = until.min(at);
                has_come = true;
                match came {
                    Came::Message(to, message) => self.deliver(to, message),
                    Came::Data(to, handle) => self.complete(to, handle, at),
                }
            }
            if !has_come || !self.ready.is_empty() {
                return first;
            }
        }
    }

    /// Returns the time before which nothing arrives that is not sent, if nobody acts before `first`.
    fn conditional(&self, first: SimTime) -> SimTime {
        (first + self.machine.least_latency().max(INSTANT)).min(self.on_links())
    }

    /// Returns the time before which nothing arrives that is on links.
    fn on_links(&self) -> SimTime {
        self.transit.next().map_or(SimTime::NEVER, |at| at + INSTANT)
    }

    /// Grants the next window in which somebody acts.
    fn grant_window(&mut self, first: SimTime, length: SimDuration) {
        let behind = first.saturating_since(self.window).as_nanos() / length.as_nanos();
        // Windows in which nobody acts are rounds, too: all workers would have met.
        self.counts.n_rounds += behind;
        self.counts.n_idle_rounds += behind;
        self.window += SimDuration::from_nanos((behind + 1).saturating_mul(length.as_nanos()));
        for rank in self.waiting() {
            self.grant(rank, self.window, true);
        }
    }

    fn grant_bounds(&mut self, rounds: Rounds, first: SimTime) {
        let conditional = self.conditional(first);
        let waiting = self.waiting();
        if rounds.sync_info == SyncInfo::Cep {
            for rank in waiting {
                self.grant(rank, conditional, true);
            }
            return;
        }
        let earliest_outputs = self.earliest_outputs();
        for rank in waiting {
            if rounds.sync_info == SyncInfo::Both {
                self.grant(rank, conditional, true);
            }
            let bound = self.bound(rank, &earliest_outputs);
            self.grant(rank, bound, false);
        }
    }

    /// Returns the lower bounds that ranks send each other: nothing of a rank departs before its bound, whatever the
    /// rank still gets. A bound that was sent holds for ever.
    fn earliest_outputs(&mut self) -> Vec<SimTime> {
        let departs = self.ranks.iter_mut().map(|state| {
            let acts = state.acts.min(state.granted.max(state.granted_once));
            let departs = match state.doing {
                Doing::Ended => SimTime::NEVER,
                // The word that a wild receive has found its message leaves while the rank is at something else.
                _ if state.mailbox.has_wild() => acts,
                _ => acts.max(state.clock),
            };
            state.earliest_output = state.earliest_output.max(departs);
            state.earliest_output
        });
        departs.collect()
    }

    /// Returns the time before which nothing arrives that matters to a rank's question, by the bounds of the ranks
    /// that may send it.
    fn bound(&mut self, rank: Rank, earliest_outputs: &[SimTime]) -> SimTime {
        let mut bound = self.on_links();
        let mut n_asked = 0;
        let mut limit = |from: Rank, after: SimDuration| {
            if from != rank {
                n_asked += 1;
                bound = bound.min(earliest_outputs[from as usize] + after.max(INSTANT));
            }
        };
        let state = &self.ranks[rank as usize];
        for wanted in state.open().map(|post| &post.wanted).chain(state.probed()).chain(state.mailbox.wild()) {
            let known = self.communicators.get(&(rank, wanted.context));
            match (wanted.source, known) {
                (Some(source), _) => limit(source, self.machine.lookahead(source, rank)),
                (None, Some(known)) => {
                    known.members.iter().for_each(|source| limit(*source, self.machine.lookahead(*source, rank)));
                }
                (None, None) => {
                    (0..earliest_outputs.len() as Rank)
                        .for_each(|source| limit(source, self.machine.lookahead(source, rank)));
                }
            }
        }
        // Words of receivers, who need not act for them.
        state.receivers().for_each(|to| limit(to, self.word(to, rank)));
        self.counts.n_null_messages += n_asked;
        bound
    }

    fn waiting(&self) -> Vec<Rank> {
        let ranks = (0..).zip(&self.ranks);
        ranks.filter(|(_, state)| state.doing == Doing::Waiting).map(|(rank, _)| rank).collect()
    }

    /// Grants a rank a bound: everything that arrives before `bound` has been sent, by everybody, or by those that
    /// matter to its question.
    fn grant(&mut self, rank: Rank, bound: SimTime, by_everybody: bool) {
        let state = &mut self.ranks[rank as usize];
        let granted = if by_everybody { &mut state.granted } else { &mut state.granted_once };
        if bound > *granted {
            *granted = bound;
            self.reconsider(rank);
        }
    }
}
