//! Rounds: who may go on when everybody waits.
//!
//! The bounds are those of `docs/decisions/bounds-of-simulated-time.md`, with the rank in place of the process: what
//! a rank waits for stands for the message that it takes next, and its clock moves on as it computes and sends.

use des::{Protocol, Rounds, Told};
use units::{Rank, SimDuration, SimTime};

use super::World;
use super::state::Doing;
use super::transit::Came;

/// Null messages alone let bounds grow by one lookahead a round: after so many rounds in which nobody could go on,
/// the first of all does.
const SLOW_ROUNDS: u32 = 1_000;

impl World {
    /// Whether a rank may answer its question.
    pub(super) fn is_permitted(&mut self, rank: Rank) -> bool {
        let state = &mut self.ranks[rank as usize];
        let answer = state.answer();
        state.acts = answer.acts;
        if answer.acts == SimTime::NEVER {
            return false;
        }
        let needs = if self.is_deterministic { answer.needs } else { answer.acts };
        (self.is_deterministic && answer.is_certain) || needs < state.granted.max(state.granted_once)
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
                Protocol::Sequential => self.grant_first(rank, acts),
                Protocol::Quantum(length) => self.grant_window(acts, length),
                Protocol::Rounds(_) if n_slow > SLOW_ROUNDS => self.grant_first(rank, acts),
                Protocol::Rounds(rounds) => self.grant_bounds(rounds, acts),
            }
            if self.ready.is_empty() && self.machine.least_lookahead() == SimDuration::ZERO {
                // Without lookahead bounds need not grow.
                self.grant_first(rank, acts);
            }
            if !self.ready.is_empty() {
                return true;
            }
            self.counts.n_idle_rounds += 1;
        }
    }

    /// Moves what is on links as far as nothing new can come before it. Who acts first afterwards, and when; nobody
    /// where all wait for ever.
    fn move_links(&mut self) -> Option<(SimTime, Rank)> {
        loop {
            let waiting = (0..).zip(&self.ranks).filter(|(_, state)| state.doing == Doing::Waiting);
            let first =
                waiting.map(|(rank, state)| (state.acts, rank)).min().filter(|(acts, _)| *acts < SimTime::NEVER);
            let until = first.map_or(SimTime::NEVER, |(acts, _)| acts);
            let mut has_come = false;
            while !has_come && self.transit.next().is_some_and(|at| at <= until && at < SimTime::NEVER) {
                has_come = match self.transit.step(&self.machine) {
                    Some(Came::Message(to, message)) => {
                        self.deliver(to, message);
                        true
                    }
                    Some(Came::Data(to, handle, at)) => {
                        self.complete(to, handle, at);
                        true
                    }
                    None => false,
                };
            }
            if !has_come || !self.ready.is_empty() {
                return first;
            }
        }
    }

    /// The first of all may go on.
    fn grant_first(&mut self, rank: Rank, acts: SimTime) {
        self.grant(rank, acts + SimDuration::from_nanos(1), true);
    }

    /// The next window in which somebody acts.
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
        let lookahead = self.machine.least_lookahead();
        let on_links = self.transit.next().unwrap_or(SimTime::NEVER);
        let conditional = (first + lookahead).min(on_links);
        let waiting = self.waiting();
        if rounds.told == Told::Cep {
            for rank in waiting {
                self.grant(rank, conditional, true);
            }
            return;
        }
        // What each rank does next is no earlier than this, whatever it still gets.
        let acts: Vec<SimTime> = self
            .ranks
            .iter()
            .map(|state| match state.doing {
                Doing::Ended => SimTime::NEVER,
                _ => state.clock.max(state.acts.min(state.granted.max(state.granted_once))),
            })
            .collect();
        let mut least = [(SimTime::NEVER, Rank::MAX); 2];
        for (rank, acts) in (0..).zip(&acts) {
            let own = (*acts, rank);
            if own < least[0] {
                least = [own, least[0]];
            } else if own < least[1] {
                least[1] = own;
            }
        }
        for rank in waiting {
            let floor = if rounds.told == Told::Both { conditional } else { SimTime::ZERO };
            let others = if least[0].1 == rank { least[1].0 } else { least[0].0 };
            let everybody = (others + lookahead).min(on_links);
            self.counts.n_null_messages += self.ranks.len() as u64 - 1;
            self.grant(rank, everybody.max(floor), true);
            if let Some(source) = self.named_source(rank) {
                let named = acts[source as usize] + self.machine.lookahead(source, rank);
                self.grant(rank, named.min(on_links), false);
            }
        }
    }

    /// Where a rank's question depends on one source alone, that one.
    fn named_source(&self, rank: Rank) -> Option<Rank> {
        let state = &self.ranks[rank as usize];
        if state.doing != Doing::Waiting || state.mailbox.has_wild() || state.awaits_receivers() {
            return None;
        }
        let wanted = state.open().map(|post| &post.wanted).chain(state.probed());
        let mut sources = wanted.map(|wanted| wanted.source);
        let first = sources.next()??;
        sources.all(|source| source == Some(first)).then_some(first)
    }

    fn waiting(&self) -> Vec<Rank> {
        let ranks = (0..).zip(&self.ranks);
        ranks.filter(|(_, state)| state.doing == Doing::Waiting).map(|(rank, _)| rank).collect()
    }

    /// Tells a rank that everything that arrives before `bound` has been sent: by everybody, or by those that matter
    /// to its question.
    fn grant(&mut self, rank: Rank, bound: SimTime, by_everybody: bool) {
        let state = &mut self.ranks[rank as usize];
        let granted = if by_everybody { &mut state.granted } else { &mut state.granted_once };
        if bound > *granted {
            *granted = bound;
            self.reconsider(rank);
        }
    }
}
