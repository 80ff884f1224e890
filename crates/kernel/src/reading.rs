//! Readings: all counters of a subsystem at a moment, which only grow.

use std::collections::BTreeMap;

/// Ranges of lengths of time: the first is below 2 ns, each of the others twice as long as the one before.
pub const N_RANGES: usize = 32;

/// Counters of one point and size group since the beginning. What an arm does not know is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events, each looked at counting for as many as were passed by.
    pub count: Option<u64>,
    /// Of these, those that were looked at.
    pub sampled: u64,
    /// Their lengths of time together.
    pub time_ns: Option<u64>,
    /// Bytes asked for.
    pub asked: Option<u64>,
    /// Bytes returned.
    pub returned: Option<u64>,
    /// The shortest since the previous reading.
    pub min_ns: Option<u64>,
    /// The longest since the previous reading.
    pub max_ns: Option<u64>,
    /// How many were how long; counters of 32 bits that begin again.
    pub ranges: Option<[u32; N_RANGES]>,
}

/// Operations of a point on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// How many have begun.
    pub begun: u64,
    /// The sum of the moments at which they began.
    pub begun_ns: u64,
    /// How many have ended.
    pub ended: u64,
    /// The sum of the moments at which those had begun.
    pub ended_ns: u64,
    /// For how long there was at least one on its way, up to the reading.
    pub busy_ns: u64,
}

impl Flight {
    /// How many are on their way.
    #[must_use]
    pub fn n_now(&self) -> u64 {
        self.begun.saturating_sub(self.ended)
    }

    /// How long those have been on their way together.
    #[must_use]
    pub fn accrued_ns(&self, at_ns: u64) -> u64 {
        let begun = self.begun_ns.wrapping_sub(self.ended_ns);
        let accrued = self.n_now().wrapping_mul(at_ns).wrapping_sub(begun);
        // What began while the counters were read would count below zero.
        accrued.cast_signed().max(0).cast_unsigned()
    }
}

/// All counters of a subsystem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// When it was taken, on the monotonic clock.
    pub at_ns: u64,
    /// By point and size group, or processor.
    pub cells: BTreeMap<(usize, usize), Counters>,
    /// By point.
    pub flights: BTreeMap<usize, Flight>,
    /// How often each program ran.
    pub hits: Vec<u64>,
    /// Records of traced points that were made.
    pub records_made: u64,
    /// Those of them that found no room in the ring.
    pub records_dropped: u64,
    /// What was not seen, by its name.
    pub lost: BTreeMap<&'static str, u64>,
}

impl Reading {
    /// Events counted so far.
    #[must_use]
    pub fn n_sampled(&self) -> u64 {
        self.cells.values().map(|cell| cell.sampled).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_its_way_accrues_time() {
        // One since 100, one since 300, and one from 50 to 80.
        let flight = Flight { begun: 3, begun_ns: 450, ended: 1, ended_ns: 50, busy_ns: 0 };
        assert_eq!(flight.n_now(), 2);
        assert_eq!(flight.accrued_ns(1000), 900 + 700);
    }
}
