//! All workers are forecast to end at one time, as AppLeS agents plan; a last part may be left to whoever is idle.

use super::self_scheduled::n_halving_chunks;
use super::upfront::{deal_until, leftover, serve};
use super::{Action, Event, Policy, State, balance};

/// Share of what is left of which an idle worker takes the part that it would have.
const TAIL_PART: f64 = 0.5;

pub struct Predicted {
    q: f64,
    tail: f64,
}

impl Predicted {
    pub fn new(q: f64, tail: f64) -> Self {
        Self { q, tail }
    }
}

impl Policy for Predicted {
    fn adapts(&self) -> bool {
        self.tail > 0.0
    }

    fn n_chunks(&self, n_units: f64, n_workers: f64) -> f64 {
        1.0 + n_halving_chunks(self.tail * n_units / n_workers, 1.0 / TAIL_PART)
    }

    fn decide(&mut self, state: &State, event: Event) -> Vec<Action> {
        match event {
            Event::Begin => {
                let end = state.work.end_of(0, state.work.n_units(), (1.0 - self.tail) * state.work.total());
                deal_until(state, &shares(state, state.work.cost(&(0..end)), self.q), end)
            }
            _ if self.tail > 0.0 => self.serve_tail(state, event),
            _ => leftover(state, event),
        }
    }
}

impl Predicted {
    fn serve_tail(&self, state: &State, event: Event) -> Vec<Action> {
        let shares = shares(state, state.pooled_cost().max(state.mean_cost()), self.q);
        serve(state, event, |worker, dealer| dealer.next_of_cost(TAIL_PART * shares[worker]))
    }
}

/// Returns the share of each worker in `cost` seconds of work, in seconds of work.
pub fn shares(state: &State, cost: f64, q: f64) -> Vec<f64> {
    let free_at: Vec<f64> = state.lost.iter().map(|is_lost| if *is_lost { f64::INFINITY } else { 0.0 }).collect();
    balance(&state.workers, &free_at, cost, state.mean_cost(), q).shares
}
