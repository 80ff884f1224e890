//! The split of work by which all workers end at one time.

use crate::worker::Worker;

/// Precision to which the work done in the time of a balance equals the wanted work, as a part of the latter.
const PRECISION: f64 = 1e-12;
/// Each second step halves the time: to a part in 2^50 of it.
const N_STEPS_MAX: usize = 100;

/// Shares by which all end at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    /// The common time, in seconds.
    pub seconds: f64,
    /// Share of each worker, in seconds of work; nothing for those that would not begin in time.
    pub shares: Vec<f64>,
}

/// Balances `cost` seconds of work: with probability `p` each, workers end no later than the time that comes out.
///
/// `free_at` is when each worker can begin, in seconds from now; infinite for one that is not to be had. What a worker
/// does by some time grows with the time, which is found by that. Workers that do not pay are left out by that: their
/// start alone takes longer.
///
/// # Panics
/// When no worker is to be had.
#[must_use]
pub fn balance(workers: &[Worker], free_at: &[f64], cost: f64, mean_cost: f64, p: f64) -> Balance {
    assert!(free_at.iter().any(|at| at.is_finite()), "work is balanced among at least one worker");
    let done = |worker: usize, seconds: f64| {
        let left = seconds - free_at[worker];
        if left > 0.0 { workers[worker].work_by(left, p, mean_cost) } else { 0.0 }
    };
    let all = |seconds: f64| (0..workers.len()).map(|worker| done(worker, seconds)).sum::<f64>();
    let seconds = time_of(cost, 1.0, PRECISION, all);
    Balance { seconds, shares: (0..workers.len()).map(|worker| done(worker, seconds)).collect() }
}

/// The time in seconds at which so much work is done, or at most `precision` of it more; `done` never falls as time
/// goes by, and exceeds any work in the end. The search begins `near` a time.
///
/// Work comes along straight lines for the most part, so that every other step follows the line between the two times
/// that are left.
pub fn time_of(work: f64, near: f64, precision: f64, done: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut below) = (0.0, -work);
    let (mut high, mut above) = (near, done(near) - work);
    while above < 0.0 {
        (low, below) = (high, above);
        high *= 2.0;
        above = done(high) - work;
    }
    for step in 0..N_STEPS_MAX {
        let share = if step % 2 == 0 { below / (below - above) } else { 0.5 };
        let at = low + share * (high - low);
        let found = done(at) - work;
        if found < 0.0 {
            (low, below) = (at, found)
        } else {
            (high, above) = (at, found)
        }
        if above <= precision * work {
            break;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Curve;

    fn worker(speed: f64, availability: f64, start_seconds: f64) -> Worker {
        Worker {
            name: String::new(),
            speed,
            start_seconds,
            unit_seconds: 0.0,
            curve: Curve::constant(availability).into(),
        }
    }

    #[test]
    fn all_end_at_one_time() {
        let workers = [worker(1.0, 1.0, 0.0), worker(2.0, 0.5, 0.0), worker(4.0, 0.5, 2.0)];
        let found = balance(&workers, &[0.0; 3], 36.0, 1.0, 0.5);
        // t + t + 2 (t - 2) = 36
        assert!((found.seconds - 10.0).abs() < 1e-9);
        for (have, wanted) in found.shares.iter().zip([10.0, 10.0, 16.0]) {
            assert!((have - wanted).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn who_does_not_pay_is_left_out() {
        let found = balance(&[worker(1.0, 1.0, 0.0), worker(100.0, 1.0, 60.0)], &[0.0; 2], 36.0, 1.0, 0.5);
        assert_eq!(found.shares[1], 0.0);
        let found = balance(&[worker(1.0, 1.0, 0.0), worker(100.0, 1.0, 0.0)], &[0.0, f64::INFINITY], 36.0, 1.0, 0.5);
        assert_eq!(found.shares[1], 0.0);
    }
}
