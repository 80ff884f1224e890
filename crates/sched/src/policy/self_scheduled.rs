//! Self-scheduling: idle workers ask for more, in chunks of one size, guided, or by factoring.

use super::state::Dealer;
use super::upfront::serve;
use super::{Action, Event, Policy, State};

pub struct SelfScheduled {
    chunks: Chunks,
}

enum Chunks {
    Of(usize),
    Guided(usize),
    Factoring { factor: f64, is_weighted: bool, cost: f64, n_left: usize },
}

impl SelfScheduled {
    pub fn chunks(n_units: usize) -> Self {
        Self { chunks: Chunks::Of(n_units) }
    }

    pub fn guided(n_units_min: usize) -> Self {
        Self { chunks: Chunks::Guided(n_units_min) }
    }

    pub fn factoring(factor: f64, is_weighted: bool) -> Self {
        Self { chunks: Chunks::Factoring { factor, is_weighted, cost: 0.0, n_left: 0 } }
    }
}

/// Returns the number of chunks that a worker gets of its `each` units, if each chunk is a `factor`-th of what is left,
/// until chunks are units.
pub fn n_halving_chunks(each: f64, factor: f64) -> f64 {
    1.0 + (each / factor).max(1.0).ln() / (factor / (factor - 1.0)).ln()
}

impl Policy for SelfScheduled {
    fn adapts(&self) -> bool {
        true
    }

    fn n_chunks(&self, n_units: f64, n_workers: f64) -> f64 {
        let each = n_units / n_workers;
        match self.chunks {
            Chunks::Of(n_units) => each / n_units as f64,
            // What is left shrinks by one part in so many with each chunk.
            Chunks::Guided(least) => 1.0 + (each / least as f64).max(1.0).ln(),
            // And here with each round.
            Chunks::Factoring { factor, .. } => n_halving_chunks(each, factor),
        }
    }

    fn n_units_last(&self) -> usize {
        match self.chunks {
            Chunks::Of(n_units) | Chunks::Guided(n_units) => n_units,
            Chunks::Factoring { .. } => 1,
        }
    }

    fn decide(&mut self, state: &State, event: Event) -> Vec<Action> {
        let n_alive = state.alive().count().max(1);
        let mean_speed = state.alive().map(|worker| state.workers[worker].speed).sum::<f64>() / n_alive as f64;
        let (mut n_pooled, mut pooled_cost) = (state.n_pooled(), state.pooled_cost());
        serve(state, event, |worker, dealer: &mut Dealer<'_>| {
            let units = match &mut self.chunks {
                Chunks::Of(n_units) => dealer.next_of_count(*n_units),
                Chunks::Guided(least) => dealer.next_of_count(n_pooled.div_ceil(n_alive).max(*least)),
                Chunks::Factoring { factor, is_weighted, cost, n_left } => {
                    if *n_left == 0 {
                        (*cost, *n_left) = (pooled_cost / (*factor * n_alive as f64), n_alive);
                    }
                    *n_left -= 1;
                    let weight = if *is_weighted { state.workers[worker].speed / mean_speed } else { 1.0 };
                    dealer.next_of_cost(*cost * weight)
                }
            }?;
            n_pooled -= units.len();
            pooled_cost -= state.work.cost(&units);
            Some(units)
        })
    }
}
