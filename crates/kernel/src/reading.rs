//! Readings: all counters of a subsystem at a moment, which only grow.

use std::collections::BTreeMap;

/// Ranges of lengths of time: the first is below 2 ns, each of the others twice as long as the one before.
pub const N_RANGES: usize = 32;

/// Counters of one point and size group since the beginning. What an arm does not know is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events, each looked at counting for as many as were passed by.
    pub count: Option<u64>,
    /// Events that were looked at, of these.
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
    /// Histogram of lengths of time; counters of 32 bits that begin again.
    pub ranges: Option<[u32; N_RANGES]>,
}

/// Operations of a point on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// Number of operations that have begun.
    pub begun: u64,
    /// The sum of the moments at which they began.
    pub begun_ns: u64,
    /// Number of operations that have ended.
    pub ended: u64,
    /// The sum of the moments at which those had begun.
    pub ended_ns: u64,
    /// Time for which at least one operation was on its way, up to the reading.
    pub busy_ns: u64,
}

impl Flight {
    /// Returns the number of operations that are on their way.
    #[must_use]
    pub fn n_now(&self) -> u64 {
        self.begun.saturating_sub(self.ended)
    }

    /// Returns the time for which the operations on their way have been on their way together.
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
    /// Time of the reading, on the monotonic clock.
    pub at_ns: u64,
    /// Counters by point and size group, or processor.
    pub cells: BTreeMap<(usize, usize), Counters>,
    /// Operations on their way, by point.
    pub flights: BTreeMap<usize, Flight>,
    /// Number of runs of each program.
    pub hits: Vec<u64>,
    /// Records of traced points that were made.
    pub records_made: u64,
    /// Records of these that found no room in the ring.
    pub records_dropped: u64,
    /// Number of things that were not seen, by name.
    pub lost: BTreeMap<&'static str, u64>,
}

impl Reading {
    /// Returns the number of events looked at so far.
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
