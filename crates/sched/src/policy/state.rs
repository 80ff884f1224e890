//! State of a run as a policy sees it, and the actions of a policy.

use std::ops::Range;
use std::sync::Arc;

use crate::curve::Curve;
use crate::work::Work;
use crate::worker::Worker;

/// A run at a moment.
#[derive(Clone, Debug)]
pub struct State {
    /// Seconds since the run began.
    pub now: f64,
    /// The units and what they were expected to cost.
    pub work: Work,
    /// Workers, with forecasts from `now` on, or from shortly before.
    pub workers: Vec<Worker>,
    /// Chunk of each worker; nothing if the worker is idle.
    pub chunks: Vec<Option<Chunk>>,
    /// Whether a worker cannot be had any more.
    pub lost: Vec<bool>,
    /// Units that nobody has, in order.
    pub pool: Vec<Range<usize>>,
    /// Ratio of the cost of finished units to their expected cost.
    pub cost_ratio: f64,
    /// Spread of single units around that ratio.
    pub cost_spread: Spread,
}

/// The spread of what units cost beside what was expected of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    n: f64,
    mean: f64,
    squares: f64,
}

/// Units that have to be done before anything is said of the others.
const N_UNITS_KNOWN: f64 = 8.0;

impl Spread {
    /// Counts a unit.
    pub fn add(&mut self, cost: f64, expected: f64) {
        let ratio = (cost / expected).ln();
        if ratio.is_finite() {
            self.n += 1.0;
            let off = ratio - self.mean;
            self.mean += off / self.n;
            self.squares += off * (ratio - self.mean);
        }
    }

    /// The standard deviation of the ratios' logarithms; nothing before some units are known.
    #[must_use]
    pub fn standard_deviation(&self) -> Option<f64> {
        (self.n >= N_UNITS_KNOWN).then(|| (self.squares / (self.n - 1.0)).sqrt())
    }
}

/// Units that a worker has.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Units that the worker has not begun.
    pub waiting: Range<usize>,
    /// The unit that the worker works on.
    pub unit: usize,
    /// Time at which the worker began that unit, in seconds since the run began.
    pub unit_began: f64,
}

/// Event of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The run begins.
    Begin,
    /// A worker has nothing to do.
    Idle(usize),
    /// Some time has passed; forecasts are new.
    Tick,
}

/// Action of a policy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// An idle worker takes units out of the pool.
    Run {
        /// Position of the worker.
        worker: usize,
        /// The units: not empty, and in the pool.
        units: Range<usize>,
    },
    /// A worker gives up the units from this one on that it has not begun. They go into the pool.
    GiveUp {
        /// Position of the worker.
        worker: usize,
        /// The first.
        from: usize,
    },
    /// An idle worker runs a unit that another works on as well. The first result counts.
    Twin {
        /// Position of the worker.
        worker: usize,
        /// One that is being worked on.
        unit: usize,
    },
}

impl State {
    /// A run that has not begun.
    #[must_use]
    pub fn new(work: Work, workers: Vec<Worker>) -> Self {
        let n_workers = workers.len();
        let all = 0..work.n_units();
        Self {
            now: 0.0,
            work,
            workers,
            chunks: vec![None; n_workers],
            lost: vec![false; n_workers],
            pool: Vec::from([all]),
            cost_ratio: 1.0,
            cost_spread: Spread::default(),
        }
    }

    /// Workers that can be had.
    pub fn alive(&self) -> impl Iterator<Item = usize> {
        (0..self.workers.len()).filter(|worker| !self.lost[*worker])
    }

    /// Workers that can be had and have nothing to do.
    pub fn idle(&self) -> impl Iterator<Item = usize> {
        self.alive().filter(|worker| self.chunks[*worker].is_none())
    }

    /// Returns the number of units that nobody has.
    #[must_use]
    pub fn n_pooled(&self) -> usize {
        self.pool.iter().map(Range::len).sum()
    }

    /// Returns the expected cost of the units that nobody has, in seconds.
    #[must_use]
    pub fn pooled_cost(&self) -> f64 {
        self.pool.iter().map(|units| self.work.cost(units)).sum()
    }

    /// The mean cost of a unit, in seconds.
    #[must_use]
    pub fn mean_cost(&self) -> f64 {
        self.work.total() / self.work.n_units() as f64
    }

    /// Returns the time until a worker has done what it has, in seconds from now, with probability `p`; nothing if it
    /// has nothing.
    #[must_use]
    pub fn left(&self, worker: usize, p: f64) -> Option<f64> {
        let chunk = self.chunks[worker].as_ref()?;
        let units = chunk.unit..chunk.unit + 1;
        let cost = self.cost_ratio * (self.work.cost(&units) + self.work.cost(&chunk.waiting));
        let of = &self.workers[worker];
        let seconds = of.unit_seconds * chunk.waiting.len() as f64 + of.curve.time_for(cost / of.speed, p);
        Some((seconds - (self.now - chunk.unit_began)).max(0.0))
    }

    /// The probability with which a unit was forecast to take no longer than that on a worker with such a curve;
    /// nothing before costs are known.
    #[must_use]
    pub fn unit_within(&self, worker: usize, curve: &Arc<Curve>, unit: usize, seconds: f64) -> Option<f64> {
        let spread = self.cost_spread.standard_deviation()?;
        let of = Worker { curve: Arc::clone(curve), ..self.workers[worker].clone() };
        Some(of.unit_within(self.cost_ratio * self.work.cost(&(unit..unit + 1)), spread, seconds))
    }

    /// Takes units out of the pool.
    ///
    /// # Panics
    /// When they are not in it: a policy is wrong.
    pub fn take(&mut self, units: &Range<usize>) {
        let at = self.pool.iter().position(|have| have.start <= units.start && units.end <= have.end);
        let at = at.unwrap_or_else(|| panic!("units {units:?} are not in the pool"));
        let have = self.pool[at].clone();
        let left = [have.start..units.start, units.end..have.end].into_iter().filter(|part| !part.is_empty());
        self.pool.splice(at..=at, left);
    }

    /// Puts units into the pool.
    pub fn put(&mut self, units: Range<usize>) {
        if units.is_empty() {
            return;
        }
        let at = self.pool.partition_point(|have| have.start < units.start);
        self.pool.insert(at, units);
        // Neighbours become one.
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(self.pool.len());
        for part in self.pool.drain(..) {
            match joined.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => joined.push(part),
            }
        }
        self.pool = joined;
    }
}

/// Hands out a pool part by part, without changing the state.
pub struct Dealer<'a> {
    work: &'a Work,
    pool: std::iter::Peekable<std::iter::Cloned<std::slice::Iter<'a, Range<usize>>>>,
    start: Option<usize>,
}

impl<'a> Dealer<'a> {
    pub fn new(state: &'a State) -> Self {
        Self { work: &state.work, pool: state.pool.iter().cloned().peekable(), start: None }
    }

    /// Units that cost about so much, one after the other; at most up to the end of a part of the pool. None are left
    /// where it gives nothing.
    pub fn next_of_cost(&mut self, cost: f64) -> Option<Range<usize>> {
        self.next_by(|work, start, end| work.end_of(start, end, cost).max(start + 1))
    }

    /// Takes so many units, at most up to the end of a part of the pool.
    pub fn next_of_count(&mut self, n_units: usize) -> Option<Range<usize>> {
        self.next_by(|_, start, end| end.min(start + n_units))
    }

    fn next_by(&mut self, end: impl Fn(&Work, usize, usize) -> usize) -> Option<Range<usize>> {
        let part = self.pool.peek()?.clone();
        let start = self.start.unwrap_or(part.start);
        let end = end(self.work, start, part.end);
        self.start = (end < part.end).then_some(end);
        if self.start.is_none() {
            self.pool.next();
        }
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_shrinks_as_time_goes_by() {
        let curve = Arc::new(Curve::constant(0.5));
        let worker = Worker { name: String::new(), speed: 1.0, start_seconds: 1.0, unit_seconds: 0.0, curve };
        let mut state = State::new(Work::new([1.0; 10]).unwrap(), vec![worker]);
        assert_eq!(state.left(0, 0.5), None);
        state.chunks[0] = Some(Chunk { unit: 3, waiting: 4..6, unit_began: 10.0 });
        state.now = 11.0;
        assert_eq!(state.left(0, 0.5), Some(5.0));
        state.now = 99.0;
        assert_eq!(state.left(0, 0.5), Some(0.0));
    }

    #[test]
    fn a_spread_is_known_after_some_units() {
        let mut spread = Spread::default();
        for nth in 0..8 {
            assert_eq!(spread.standard_deviation(), None);
            spread.add(if nth % 2 == 0 { 2.0 } else { 0.5 }, 1.0);
        }
        let wanted = 2_f64.ln() * (8.0_f64 / 7.0).sqrt();
        assert!((spread.standard_deviation().unwrap() - wanted).abs() < 1e-12);
        // One that took no time says nothing.
        spread.add(0.0, 1.0);
        assert!((spread.standard_deviation().unwrap() - wanted).abs() < 1e-12);
    }

    #[test]
    fn the_pool_gives_and_takes() {
        let mut state = State::new(Work::new([1.0; 10]).unwrap(), Vec::new());
        state.take(&(3..5));
        assert_eq!(state.pool, [0..3, 5..10]);
        let mut dealer = Dealer::new(&state);
        assert_eq!(std::iter::from_fn(|| dealer.next_of_count(4)).collect::<Vec<_>>(), [0..3, 5..9, 9..10]);
        state.put(4..5);
        state.put(3..4);
        assert_eq!((state.pool[0].clone(), state.n_pooled()), (0..10, 10));
    }
}
