//! Comparison of two hosts' clocks: their offset and drift, by round trips, and error bounds for both.
//!
//! The other clock is read between two looks at the own, whatever the ways there and back took, so each trip bounds the
//! offset then (Cristian 1989). Trips at several times bound the drift.

/// Greatest number of trips that are kept, evenly spread; a comparison for longer forgets every other.
const KEPT: usize = 1024;

/// Round trips between two clocks.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    trips: Vec<Trip>,
    /// Number of trips of which one is kept.
    every: usize,
    n: usize,
}

/// Bounds of a trip: the own clock was ahead of the other by something in this range.
#[derive(Clone, Copy, Debug)]
struct Trip {
    /// Time on the other clock.
    at_ns: f64,
    least_ns: f64,
    most_ns: f64,
}

/// Relation of the clocks: at `at_ns` of the other, the own shows `offset_ns` more, and that grows by `drift` in each
/// second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// A moment of the other clock.
    pub at_ns: u64,
    /// Offset at that moment: to be added to a time of the other clock to get that of the own.
    pub offset_ns: f64,
    /// Error bound of the offset: at no trip was the line off by more.
    pub bound_ns: f64,
    /// Growth of the offset, in parts of a thousand million.
    pub drift_ppb: f64,
    /// Error bound of the drift, if the drift was the same all the time. Infinite after a single trip.
    pub drift_bound_ppb: f64,
}

impl Clocks {
    /// Takes a trip: the own clock before it, the other's time, the own clock after.
    pub fn take(&mut self, before_ns: u64, there_ns: u64, after_ns: u64) {
        let every = self.every.max(1);
        self.n += 1;
        if !(self.n - 1).is_multiple_of(every) {
            return;
        }
        if self.trips.len() == KEPT {
            let mut idx = 0;
            self.trips.retain(|_| {
                idx += 1;
                idx % 2 == 1
            });
            self.every = 2 * every;
        }
        let ahead = |own: u64| own as f64 - there_ns as f64;
        self.trips.push(Trip { at_ns: there_ns as f64, least_ns: ahead(before_ns), most_ns: ahead(after_ns) });
    }

    /// Returns the line through all trips, or as near to them as a line comes.
    #[must_use]
    pub fn relation(&self) -> Option<Relation> {
        let (first, last) = (self.trips.first()?, self.trips.last()?);
        let at_ns = first.at_ns.midpoint(last.at_ns);
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        for (idx, one) in self.trips.iter().enumerate() {
            for other in &self.trips[idx + 1..] {
                let span_ns = other.at_ns - one.at_ns;
                if span_ns > 0.0 {
                    least = least.max((other.least_ns - one.most_ns) / span_ns);
                    most = most.min((other.most_ns - one.least_ns) / span_ns);
                }
            }
        }
        // No line goes through all where the drift changed: the middle is as good as any, and the bound says how good.
        let drift = if least.is_finite() { least.midpoint(most) } else { 0.0 };
        let moved = |trip: &Trip, offset_ns: f64| offset_ns - drift * (trip.at_ns - at_ns);
        let least_ns = self.trips.iter().map(|trip| moved(trip, trip.least_ns)).fold(f64::INFINITY, f64::min);
        let most_ns = self.trips.iter().map(|trip| moved(trip, trip.most_ns)).fold(f64::NEG_INFINITY, f64::max);
        Some(Relation {
            at_ns: at_ns as u64,
            offset_ns: least_ns.midpoint(most_ns),
            bound_ns: (most_ns - least_ns) / 2.0,
            drift_ppb: 1e9 * drift,
            drift_bound_ppb: if least.is_finite() { 1e9 * ((most - least) / 2.0).abs() } else { f64::INFINITY },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The own clock where the other shows `there_ns`: ahead by 5 ms then, and 20 us more each second.
    fn own(there_ns: u64) -> u64 {
        there_ns + 5_000_000 + there_ns / 50_000
    }

    #[test]
    fn offset_and_drift_are_within_their_bounds() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.relation(), None);
        for second in 1..=100u64 {
            let there_ns = second * 1_000_000_000;
            // The way there takes longer than back, and not always the same.
            let (there, back) = (100_000 + 37_000 * (second % 3), 40_000 + 11_000 * (second % 5));
            clocks.take(own(there_ns) - there, there_ns, own(there_ns) + back);
            if second == 1 {
                assert_eq!(clocks.relation().unwrap().drift_bound_ppb, f64::INFINITY);
            }
        }
        let found = clocks.relation().unwrap();
        let offset_ns = own(found.at_ns) as f64 - found.at_ns as f64;
        assert!((found.offset_ns - offset_ns).abs() <= found.bound_ns && found.bound_ns < 150_000.0, "{found:?}");
        assert!((found.drift_ppb - 20_000.0).abs() <= found.drift_bound_ppb, "{found:?}");
        assert!(found.drift_bound_ppb < 2_500.0, "{found:?}");
    }

    #[test]
    fn a_clock_that_is_pushed_widens_the_bound() {
        let mut clocks = Clocks::default();
        for second in 1..=20u64 {
            let there_ns = second * 1_000_000_000;
            let pushed = if second > 10 { 3_000_000 } else { 0 };
            clocks.take(there_ns + pushed, there_ns, there_ns + pushed + 1_000);
        }
        let found = clocks.relation().unwrap();
        // 3 ms are between the halves; a line comes no nearer than a part of it to all of them.
        assert!(found.bound_ns > 500_000.0, "{found:?}");
    }

    #[test]
    fn a_long_comparison_keeps_so_many_trips_from_all_of_it() {
        let mut clocks = Clocks::default();
        for there_ns in 1..=10_000u64 {
            clocks.take(there_ns * 1_000, there_ns * 1_000, there_ns * 1_000 + 10);
        }
        assert!(clocks.trips.len() <= KEPT && clocks.trips[0].at_ns == 1_000.0);
        assert!(clocks.trips.last().unwrap().at_ns > 9_900_000.0);
    }
}
