//! The split that is best if things go badly: over joint draws of what all workers give, its makespan has the least
//! quantile of some height.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statistics::quantile;

use super::predicted::shares;
use super::upfront::{deal, leftover};
use super::{Action, Event, Policy, State};

/// Splits are tried in which each worker ends in time with one of these probabilities: the surer, the less an erratic
/// worker gets.
///
/// A search over all splits finds lower quantiles than these have and does worse in simulated runs, with every model
/// that was tried: it trusts the tails of forecasts, and takes workers to be independent.
const TRIED: [f64; 7] = [0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
/// Joint draws: twenty lie beyond the 0.9 quantile.
const N_DRAWS: usize = 200;
/// The same draws for every plan, so that plans differ by their workers alone.
const SEED: u64 = 1;

pub struct Risk {
    q: f64,
}

impl Risk {
    pub fn new(q: f64) -> Self {
        Self { q }
    }
}

impl Policy for Risk {
    fn adapts(&self) -> bool {
        false
    }

    fn decide(&mut self, state: &State, event: Event) -> Vec<Action> {
        if event != Event::Begin {
            return leftover(state, event);
        }
        let draws = draws(state.workers.len());
        let splits = TRIED.map(|p| shares(state, state.work.total(), p));
        let judged = splits.into_iter().map(|split| (makespan_quantile(state, &split, &draws, self.q), split));
        let best = judged.min_by(|one, other| one.0.total_cmp(&other.0)).expect("some splits are tried").1;
        deal(state, &best)
    }
}

/// Returns for each draw and each worker the probability of what the worker gives.
fn draws(n_workers: usize) -> Vec<Vec<f64>> {
    let mut chance = ChaCha8Rng::seed_from_u64(SEED);
    (0..N_DRAWS).map(|_| (0..n_workers).map(|_| chance.random()).collect()).collect()
}

/// The time in seconds by which all is done in that part of the draws.
fn makespan_quantile(state: &State, shares: &[f64], draws: &[Vec<f64>], q: f64) -> f64 {
    let mean_cost = state.mean_cost();
    let time = |worker: usize, p: f64| {
        let n_units = (shares[worker] / mean_cost).ceil() as usize;
        state.workers[worker].time_for(shares[worker], n_units, p)
    };
    let makespan = |draw: &Vec<f64>| state.alive().map(|worker| time(worker, draw[worker])).fold(0.0, f64::max);
    let makespans: Vec<f64> = draws.iter().map(makespan).collect();
    quantile(&makespans, q).expect("there are draws")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{Curve, LEVELS};
    use crate::work::Work;
    use crate::worker::Worker;

    /// Workers whose median pace is 2 s for a second of work, and which may take that much longer or shorter.
    fn state(spreads: &[f64]) -> State {
        let worker = |spread: &f64| Worker {
            name: String::new(),
            speed: 1.0,
            start_seconds: 0.0,
            unit_seconds: 0.0,
            curve: Curve::new([(1.0, LEVELS.map(|level| 2.0 + spread * (level - 0.5)))]).into(),
        };
        State::new(Work::new([1.0; 1000]).unwrap(), spreads.iter().map(worker).collect())
    }

    fn units_of(state: &State) -> Vec<usize> {
        let actions = Risk::new(0.9).decide(state, Event::Begin);
        actions.iter().map(|action| if let Action::Run { units, .. } = action { units.len() } else { 0 }).collect()
    }

    #[test]
    fn an_erratic_worker_gets_less() {
        let units = units_of(&state(&[0.1, 0.1, 1.8]));
        assert!(10 * units[2] < 9 * units[0] && units.iter().sum::<usize>() == 1000, "{units:?}");
    }

    #[test]
    fn equals_get_the_same() {
        assert_eq!(units_of(&state(&[0.5, 0.5])), [500, 500]);
    }

    #[test]
    fn the_quantile_is_that_of_the_last_worker() {
        // The later of two ends before its square root's quantile with probability q.
        let (state, q) = (state(&[1.0, 1.0]), 0.81);
        let found = makespan_quantile(&state, &[100.0, 100.0], &draws(2), q);
        let wanted = state.workers[0].time_for(100.0, 100, q.sqrt());
        assert!((found / wanted - 1.0).abs() < 0.03, "{found} s beside {wanted} s");
    }
}
