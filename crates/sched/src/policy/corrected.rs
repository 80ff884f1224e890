//! A predicted split that is corrected by work stealing: a worker that ends early takes over the units that stragglers
//! are forecast not to finish in time, or runs the slowest of those units a second time (speculative execution).

use std::collections::BTreeSet;

use super::upfront::{deal, serve};
use super::{Action, Event, Policy, State, balance, predicted};

/// A unit runs twice if the second run is forecast to end in less than this part of the time that the first still
/// needs.
const TWIN_GAIN: f64 = 0.8;

pub struct Corrected {
    q: f64,
    twins: BTreeSet<usize>,
}

impl Corrected {
    pub fn new(q: f64) -> Self {
        Self { q, twins: BTreeSet::new() }
    }
}

impl Policy for Corrected {
    fn adapts(&self) -> bool {
        true
    }

    /// Its own, and about every second one takes something over.
    fn n_chunks(&self, _: f64, _: f64) -> f64 {
        1.5
    }

    fn takes_back(&self) -> bool {
        true
    }

    fn decide(&mut self, state: &State, event: Event) -> Vec<Action> {
        match event {
            Event::Begin => deal(state, &predicted::shares(state, state.work.total(), self.q)),
            Event::Idle(worker) => self.relieve(state, worker),
            Event::Tick if state.chunks.iter().all(Option::is_none) && !state.pool.is_empty() => {
                let shares = self.shares(state);
                serve(state, event, |worker, dealer| dealer.next_of_cost(shares[worker]))
            }
            // One at a time: the next sees what the first has taken.
            Event::Tick => {
                let mut idle = state.idle();
                idle.find_map(|worker| Some(self.relieve(state, worker)).filter(|actions| !actions.is_empty()))
                    .unwrap_or_default()
            }
        }
    }
}

impl Corrected {
    /// Decides what an idle worker does now.
    fn relieve(&mut self, state: &State, worker: usize) -> Vec<Action> {
        if let Some(units) = self.pooled(state, worker) {
            return vec![Action::Run { worker, units }];
        }
        self.take_over(state, worker).or_else(|| self.twin(state, worker)).unwrap_or_default()
    }

    fn pooled(&self, state: &State, worker: usize) -> Option<std::ops::Range<usize>> {
        let part = state.pool.first()?;
        let share = self.shares(state)[worker];
        Some(part.start..state.work.end_of(part.start, part.end, share).max(part.start + 1))
    }

    /// Balances anew what is left; the worker that has most too much gives up its excess, or this one's share.
    fn take_over(&self, state: &State, worker: usize) -> Option<Vec<Action>> {
        let shares = self.shares(state);
        let waiting = |donor: usize| state.chunks[donor].as_ref().map(|chunk| chunk.waiting.clone());
        let surplus = |donor: usize| waiting(donor).map_or(0.0, |units| state.work.cost(&units) - shares[donor]);
        let donor = state.alive().max_by(|one, other| surplus(*one).total_cmp(&surplus(*other)))?;
        let units = waiting(donor)?;
        let moved = surplus(donor).min(shares[worker]);
        let from = state.work.end_of(units.start, units.end, state.work.cost(&units) - moved);
        let is_worth_it = || {
            let part = from..units.end;
            let there = state.workers[worker].time_for(state.cost_ratio * state.work.cost(&part), part.len(), self.q);
            let here = state.workers[donor]
                .curve
                .time_for(state.cost_ratio * state.work.cost(&units) / state.workers[donor].speed, self.q);
            there < self.rest(state, donor) + here
        };
        (from < units.end && is_worth_it())
            .then(|| vec![Action::GiveUp { worker: donor, from }, Action::Run { worker, units: from..units.end }])
    }

    /// The unit that takes longest is run once more, where that is forecast to end sooner.
    fn twin(&mut self, state: &State, worker: usize) -> Option<Vec<Action>> {
        let running =
            state.alive().filter_map(|busy| Some((self.rest(state, busy), state.chunks[busy].as_ref()?.unit)));
        let candidates = running.filter(|(_, unit)| !self.twins.contains(unit));
        let (rest, unit) = candidates.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let cost = state.cost_ratio * state.work.cost(&(unit..unit + 1));
        let here = state.workers[worker].time_for(cost, 1, self.q);
        (here < TWIN_GAIN * rest).then(|| {
            self.twins.insert(unit);
            vec![Action::Twin { worker, unit }]
        })
    }

    /// Returns the share of each worker in all units that nobody has begun, were they given out now.
    fn shares(&self, state: &State) -> Vec<f64> {
        let waiting = state.chunks.iter().flatten().map(|chunk| state.work.cost(&chunk.waiting)).sum::<f64>();
        let cost = state.cost_ratio * (waiting + state.pooled_cost());
        let free_at: Vec<f64> = (0..state.workers.len())
            .map(|worker| if state.lost[worker] { f64::INFINITY } else { self.rest(state, worker) })
            .collect();
        let mut shares =
            balance(&state.workers, &free_at, cost.max(f64::MIN_POSITIVE), state.mean_cost(), self.q).shares;
        for share in &mut shares {
            *share /= state.cost_ratio;
        }
        shares
    }

    /// Returns the time for which a worker is still busy with its unit, in seconds. A worker that takes longer than
    /// forecast is taken to be half through.
    fn rest(&self, state: &State, worker: usize) -> f64 {
        let Some(chunk) = &state.chunks[worker] else { return 0.0 };
        let cost = state.cost_ratio * state.work.cost(&(chunk.unit..chunk.unit + 1));
        let expected = state.workers[worker].curve.time_for(cost / state.workers[worker].speed, self.q);
        let past = state.now - chunk.unit_began;
        if past < expected { expected - past } else { past }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use units::Confidence;

    use super::*;
    use crate::{Curve, Plan, Work, Worker};

    #[test]
    fn a_run_that_is_taken_up_is_split_anew() {
        let worker = |name: &str, speed| Worker {
            name: name.to_owned(),
            speed,
            start_seconds: 0.0,
            unit_seconds: 0.0,
            curve: Arc::new(Curve::constant(1.0)),
        };
        let work = Work::new([1.0; 40]).unwrap();
        let mut state = State::new(work, vec![worker("slow", 1.0), worker("fast", 2.0)]);
        state.take(&(0..10));
        let mut policy = Corrected::new(0.5);
        let actions = policy.decide(&state, Event::Tick);
        let given = [Action::Run { worker: 0, units: 10..20 }, Action::Run { worker: 1, units: 20..40 }];
        assert_eq!(actions, given);
        let plan = Plan::of(&state, &actions, &policy, Confidence::new(0.8).unwrap());
        assert_eq!(plan.shares.iter().map(|share| share.n_units).collect::<Vec<_>>(), [10, 20]);
        // One of them is in its last unit when the other is done.
        assert!((10.0..10.5).contains(&plan.makespan), "{}", plan.makespan);
    }
}
