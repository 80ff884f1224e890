//! Unit by unit, to workers that are not busy with something else.

use super::upfront::serve;
use super::{Action, Event, Policy, State};
use crate::worker::Worker;

/// Seconds of processor time by which it is judged what a worker gives at present.
const LOOK_SECONDS: f64 = 1.0;

pub struct Threshold {
    least: f64,
}

impl Threshold {
    pub fn new(least: f64) -> Self {
        Self { least }
    }
}

impl Policy for Threshold {
    fn adapts(&self) -> bool {
        true
    }

    fn n_chunks(&self, n_units: f64, n_workers: f64) -> f64 {
        n_units / n_workers
    }

    fn part_used(&self, worker: &Worker) -> f64 {
        worker.curve.probability_within(LOOK_SECONDS, LOOK_SECONDS / self.least)
    }

    fn decide(&mut self, state: &State, event: Event) -> Vec<Action> {
        let availability = |worker: usize| LOOK_SECONDS / state.workers[worker].curve.time_for(LOOK_SECONDS, 0.5);
        let enough = |worker: &usize| availability(*worker) >= self.least;
        // Where all are busy, the best has to do: the work would never end.
        let is_any = state.alive().any(|worker| state.chunks[worker].is_some() || enough(&worker));
        let best = state.idle().max_by(|one, other| availability(*one).total_cmp(&availability(*other)));
        // An idle worker that does not qualify is asked again at each tick.
        let event = if is_any { event } else { Event::Tick };
        let mut actions = serve(state, event, |_, dealer| dealer.next_of_count(1));
        actions.retain(|action| match action {
            Action::Run { worker, .. } => enough(worker) || !is_any && Some(*worker) == best,
            _ => true,
        });
        actions
    }
}
