//! A worker as a policy sees it.

use std::sync::Arc;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::curve::Curve;

/// Parts of equal probability that a normal distribution is cut into: the outermost lie beyond an interval of 95 %.
const N_PARTS: u32 = 80;

/// A worker's capacity, and the time that it takes to have the worker do something.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// Name that people use.
    pub name: String,
    /// Seconds of the work's processor time that a second of all of its cores does: a benchmark of this very work, with
    /// no other load.
    pub speed: f64,
    /// Time that each chunk takes before its first unit begins: process, connection, input's latency. Does not depend
    /// on availability.
    pub start_seconds: f64,
    /// Time that each unit's input takes on the way, in addition.
    pub unit_seconds: f64,
    /// Time that processor time takes from now on.
    pub curve: Arc<Curve>,
}

impl Worker {
    /// The work in seconds that it does with probability `p` within so much time, as one chunk of units of that mean
    /// cost.
    #[must_use]
    pub fn work_by(&self, seconds: f64, p: f64, mean_cost: f64) -> f64 {
        let left = seconds - self.start_seconds;
        if left <= 0.0 {
            return 0.0;
        }
        // Inputs take their part of the time, in proportion to the work.
        let plain = self.speed * self.curve.cpu_by(left, p);
        if self.unit_seconds == 0.0 { plain } else { plain * left / (left + self.unit_seconds * plain / mean_cost) }
    }

    /// The time in seconds that units of so much work take no longer than with probability `p`, as one chunk; none for
    /// no units.
    #[must_use]
    pub fn time_for(&self, work: f64, n_units: usize, p: f64) -> f64 {
        if n_units == 0 {
            return 0.0;
        }
        self.start_seconds + self.unit_seconds * n_units as f64 + self.curve.time_for(work / self.speed, p)
    }

    /// The probability that a unit of about so much work takes no longer than so many seconds, from its own beginning
    /// on. `cost_spread` is the standard deviation of the logarithm of what it really costs.
    #[must_use]
    pub fn unit_within(&self, cost: f64, cost_spread: f64, seconds: f64) -> f64 {
        let cpu = cost / self.speed;
        if cost_spread == 0.0 {
            return self.curve.probability_within(cpu, seconds);
        }
        let normal = Normal::standard();
        let at = |part: u32| {
            let score = normal.inverse_cdf((f64::from(part) + 0.5) / f64::from(N_PARTS));
            self.curve.probability_within(cpu * (cost_spread * score).exp(), seconds)
        };
        (0..N_PARTS).map(at).sum::<f64>() / f64::from(N_PARTS)
    }

    /// The probability that these units take no longer than so many seconds.
    #[must_use]
    pub fn probability_within(&self, work: f64, n_units: usize, seconds: f64) -> f64 {
        if n_units == 0 {
            return 1.0;
        }
        let left = seconds - self.start_seconds - self.unit_seconds * n_units as f64;
        self.curve.probability_within(work / self.speed, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_of_uncertain_cost_takes_uncertain_time() {
        let curve = Curve::constant(0.5).into();
        let worker = Worker { name: String::new(), speed: 2.0, start_seconds: 9.0, unit_seconds: 9.0, curve };
        // 10 s of work are 5 s of processor time there, and 10 s.
        assert_eq!((worker.unit_within(10.0, 0.0, 9.9), worker.unit_within(10.0, 0.0, 10.1)), (0.0, 1.0));
        let within = [5.0, 8.0, 10.0, 12.0, 20.0].map(|seconds| worker.unit_within(10.0, 0.3, seconds));
        assert_eq!(within, [0.0125, 0.225, 0.5, 0.725, 0.9875]);
    }
}
