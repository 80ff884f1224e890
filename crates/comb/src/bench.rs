//! One rank's side of all measurements: its part in a pair, its clock, its calibrated work.

use std::time::Duration;

use clock::Stopwatch;
use mpi::topology::SimpleCommunicator;
use mpi_run::{Calibration, ClockQuality, Presence, turn};
use units::{Confidence, Rank};

use super::availability::Estimator;
use super::pairing::Pair;
use super::record::Spread;

/// Context of the measurements on this rank.
pub(crate) struct Bench<'a> {
    /// All ranks, each in one pair.
    pub ranks: &'a SimpleCommunicator,
    /// Clock of this rank.
    pub clock: &'a Stopwatch,
    /// Quality of that clock.
    pub quality: ClockQuality,
    /// Calibrated speed of this rank.
    pub calibration: Calibration,
    /// The pair that it is in.
    pub pair: Pair,
    /// This rank.
    pub rank: Rank,
    /// Confidence of all intervals.
    pub confidence: Confidence,
    /// Seed of all draws.
    pub seed: u64,
}

impl Bench<'_> {
    /// Whether this rank works, rather than support one that does.
    #[must_use]
    pub(crate) fn is_worker(&self) -> bool {
        self.rank == self.pair.worker
    }

    /// The other one.
    #[must_use]
    pub(crate) fn partner(&self) -> Rank {
        if self.is_worker() { self.pair.support } else { self.pair.worker }
    }

    /// Nanoseconds that `work` takes.
    #[inline]
    pub(crate) fn time(&self, work: impl FnOnce()) -> f64 {
        let start = self.clock.elapsed_ns();
        work();
        (self.clock.elapsed_ns() - start) as f64
    }

    /// Turns of work that this rank does in `interval`; at least one where it is to work at all.
    #[must_use]
    pub(crate) fn turns(&self, interval: Duration) -> u64 {
        if interval.is_zero() { 0 } else { self.calibration.turns(interval).max(1) }
    }

    /// Nanoseconds that so many turns take here, `n_times` over.
    #[must_use]
    pub(crate) fn time_turns(&self, n_turns: u64, n_times: u64) -> f64 {
        self.time(|| {
            for _ in 0..n_times {
                turn(n_turns);
            }
        })
    }

    /// Builds the presence for the windows of a measurement.
    #[must_use]
    pub(crate) fn presence(&self) -> Presence<'_> {
        Presence::new(self.clock)
    }

    /// Builds the estimator of availabilities.
    #[must_use]
    pub(crate) fn estimator(&self) -> Estimator {
        Estimator { confidence: self.confidence, seed: self.seed, clock: self.quality }
    }

    /// Summarizes `spans_ns`, of which a plan has at least five.
    #[must_use]
    pub(crate) fn spread(&self, spans_ns: &[f64]) -> Spread {
        Spread::of(spans_ns, self.confidence, self.seed).expect("a plan repeats everything at least five times")
    }
}
