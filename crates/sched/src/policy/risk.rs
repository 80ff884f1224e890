//! The split that is best if things go badly: its makespan has the least quantile of some height.

use super::predicted::shares;
use super::upfront::{deal, leftover};
use super::{Action, Event, Policy, State};
use crate::plan::makespan_quantile;

/// Splits are tried in which each worker ends in time with one of these probabilities: the surer, the less an erratic worker gets.
const TRIED: [f64; 7] = [0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

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
        let splits = TRIED.map(|p| deal(state, &shares(state, state.work.total(), p)));
        let judged = splits.into_iter().map(|split| (makespan_quantile(state, &split, self.q), split));
        judged.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, split)| split).unwrap_or_default()
    }
}
