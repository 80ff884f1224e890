//! A worker as a policy sees it.

use std::sync::Arc;

use crate::curve::Curve;

/// What a worker can do, and what it takes to have it do something.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// How people call it.
    pub name: String,
    /// Seconds of the work's processor time that a second of all of its cores does: a benchmark of this very work, with no other load.
    pub speed: f64,
    /// What each chunk takes before its first unit begins: process, connection, input's latency. Does not depend on availability.
    pub start_seconds: f64,
    /// What each unit's input takes on the way, in addition.
    pub unit_seconds: f64,
    /// How long processor time takes from now on.
    pub curve: Arc<Curve>,
}

impl Worker {
    /// The work in seconds that it does with probability `p` within so much time, as one chunk of units of that mean cost.
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

    /// The time in seconds that units of so much work take no longer than with probability `p`, as one chunk; none for no units.
    #[must_use]
    pub fn time_for(&self, work: f64, n_units: usize, p: f64) -> f64 {
        if n_units == 0 {
            return 0.0;
        }
        self.start_seconds + self.unit_seconds * n_units as f64 + self.curve.time_for(work / self.speed, p)
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
