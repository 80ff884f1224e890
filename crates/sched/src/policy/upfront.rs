//! Splits that give everything away at once: equal parts, parts by benchmarked speed, or the shares of a forecast.

use super::state::Dealer;
use super::{Action, Event, Policy, State};

/// Divisor of what lost workers left: a worker that becomes idle early gets that part of it, by the number of workers.
const LEFT_OVER_PART: f64 = 2.0;

pub enum Upfront {
    /// An equal number of units for each: an equal split knows no costs.
    Equal,
    /// Work by benchmarked speed.
    BySpeed,
    /// Work in proportion to these shares.
    Given(Vec<f64>),
}

impl Policy for Upfront {
    fn adapts(&self) -> bool {
        false
    }

    fn decide(&mut self, state: &State, event: Event) -> Vec<Action> {
        if event != Event::Begin {
            return leftover(state, event);
        }
        match self {
            Self::Equal => equal(state),
            Self::BySpeed => deal(state, &state.workers.iter().map(|worker| worker.speed).collect::<Vec<_>>()),
            Self::Given(shares) => deal(state, shares),
        }
    }
}

fn equal(state: &State) -> Vec<Action> {
    let n_alive = state.alive().count();
    let part = |nth: usize| nth * state.work.n_units() / n_alive;
    let parts = state.alive().enumerate().map(|(nth, worker)| (worker, part(nth)..part(nth + 1)));
    parts.filter(|(_, units)| !units.is_empty()).map(|(worker, units)| Action::Run { worker, units }).collect()
}

/// Gives all units away, in one part for each worker, in proportion to its share.
pub fn deal(state: &State, shares: &[f64]) -> Vec<Action> {
    deal_until(state, shares, state.work.n_units())
}

/// The same with the units before `end`.
pub fn deal_until(state: &State, shares: &[f64], end: usize) -> Vec<Action> {
    let sum: f64 = state.alive().map(|worker| shares[worker]).sum();
    let cost = state.work.cost(&(0..end));
    let (mut given, mut start) = (0.0, 0);
    let mut actions = Vec::new();
    let last = state.alive().filter(|worker| shares[*worker] > 0.0).last();
    for worker in state.alive() {
        given += shares[worker];
        let until = state.work.end_of(0, end, cost * given / sum);
        let until = if Some(worker) == last { end } else { until };
        if until > start {
            actions.push(Action::Run { worker, units: start..until });
            start = until;
        }
    }
    actions
}

/// Gives what is in the pool to idle workers in ever smaller parts.
pub fn leftover(state: &State, event: Event) -> Vec<Action> {
    let part = state.pooled_cost() / (LEFT_OVER_PART * state.alive().count().max(1) as f64);
    serve(state, event, |_, dealer| dealer.next_of_cost(part))
}

/// Asks for each worker that is idle, or for the one that has just become so, which units it gets.
pub fn serve(
    state: &State,
    event: Event,
    mut next: impl FnMut(usize, &mut Dealer<'_>) -> Option<std::ops::Range<usize>>,
) -> Vec<Action> {
    let mut dealer = Dealer::new(state);
    let asks = |worker: &usize| match event {
        Event::Idle(idle) => *worker == idle,
        Event::Begin | Event::Tick => true,
    };
    let served = state.idle().filter(asks).map_while(|worker| Some((worker, next(worker, &mut dealer)?)));
    served.map(|(worker, units)| Action::Run { worker, units }).collect()
}
