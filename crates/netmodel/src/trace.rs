//! Latency and bandwidth of a link over time, and the delay that follows them.
//!
//! A message meets the link as it is when it begins to be sent; a change while it is on the wire does not reach it.

mod drawn;
mod opportunities;
mod read;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::{Bandwidth, ByteCount};

pub use drawn::{Expected, Spread};
pub use opportunities::Opportunities;
pub use read::TraceError;

use crate::link::{Delay, Passage};

/// Latency and bandwidth over time, each with its own moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// One-way latencies in nanoseconds.
    latency: Track,
    /// Bits per second; empty where the wire costs no time.
    bandwidth: Track,
}

/// State of the link between two points of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// The state at the point before.
    #[default]
    Hold,
    /// The state on the line from one to the other, rounded up.
    Linear,
}

/// State of the link when its trace is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// The trace begins again.
    #[default]
    Loop,
    /// It stays as at the last point.
    Hold,
    /// Nothing is delivered any more.
    Stop,
}

/// A delay that follows a trace.
#[derive(Clone, Debug)]
pub struct Traced {
    trace: Trace,
    between: Between,
    at_end: AtEnd,
}

/// Values by moments in nanoseconds, which ascend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Track(Vec<(u64, u64)>);

impl Trace {
    /// Builds a trace of one-way latencies and bandwidths, each with the moment from which on it holds; without
    /// bandwidths, the wire costs no time.
    ///
    /// # Errors
    /// [`TraceError`] when there is no latency, or moments do not ascend.
    pub fn new(
        latency: impl IntoIterator<Item = (Duration, Duration)>,
        bandwidth: impl IntoIterator<Item = (Duration, Bandwidth)>,
    ) -> Result<Self, TraceError> {
        let latency = latency.into_iter().map(|(at, latency)| (at.as_nanos() as u64, latency.as_nanos() as u64));
        let bandwidth = bandwidth.into_iter().map(|(at, rate)| (at.as_nanos() as u64, rate.bits_per_sec()));
        Self::of_tracks(latency.collect(), bandwidth.collect())
    }

    fn of_tracks(latency: Vec<(u64, u64)>, bandwidth: Vec<(u64, u64)>) -> Result<Self, TraceError> {
        if latency.is_empty() {
            return Err(TraceError::Empty);
        }
        for track in [&latency, &bandwidth] {
            if let Some(two) = track.windows(2).find(|two| two[1].0 <= two[0].0) {
                return Err(TraceError::Order { before_ns: two[0].0, at_ns: two[1].0 });
            }
        }
        Ok(Self { latency: Track(latency), bandwidth: Track(bandwidth) })
    }

    /// The trace as lines of its own format, `docs/formats/link-trace.md`.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let rows = self.latency.0.iter().map(|(at, latency)| (*at, format!("{at},{latency},")));
        let rates = self.bandwidth.0.iter().map(|(at, rate)| (*at, format!("{at},,{rate}")));
        let mut rows: Vec<(u64, String)> = rows.chain(rates).collect();
        rows.sort_by_key(|(at, _)| *at);
        rows.iter().fold(format!("{}\n", read::HEADER), |text, (_, row)| text + row + "\n")
    }

    /// Returns the number of latencies and the number of bandwidths.
    #[must_use]
    pub fn n_points(&self) -> (usize, usize) {
        (self.latency.0.len(), self.bandwidth.0.len())
    }

    /// Returns the length of the trace: its last point is taken to last as long as the one before it.
    #[must_use]
    pub fn span(&self) -> Duration {
        Duration::from_nanos(self.latency.end().max(self.bandwidth.end()))
    }

    /// A delay that follows it.
    #[must_use]
    pub fn follow(self, between: Between, at_end: AtEnd) -> Traced {
        Traced { trace: self, between, at_end }
    }
}

impl Delay for Traced {
    fn delay(&mut self, begin: Duration, size: ByteCount) -> Option<Passage> {
        let (begin, end) = (begin.as_nanos() as u64, self.trace.span().as_nanos() as u64);
        let at = match self.at_end {
            AtEnd::Stop if begin >= end => return None,
            AtEnd::Loop if end > 0 => begin % end,
            _ => begin,
        };
        let rate = self.trace.bandwidth.at(at, self.between).and_then(Bandwidth::new);
        let serialization = rate.map_or(Duration::ZERO, |rate| rate.serialization_time(size));
        Some(Passage { serialization, latency: Duration::from_nanos(self.trace.latency.at(at, self.between)?) })
    }
}

impl Track {
    /// The value at a moment, the first one's before it; `None` where there is none.
    fn at(&self, at: u64, between: Between) -> Option<u64> {
        let after = self.0.partition_point(|(moment, _)| *moment <= at);
        let &(from, before) = self.0.get(after.saturating_sub(1))?;
        let Some(&(to, next)) = self.0.get(after).filter(|_| between == Between::Linear && after > 0) else {
            return Some(before);
        };
        let (before, rise) = (i128::from(before), i128::from(next) - i128::from(before));
        let (passed, whole) = (i128::from(at - from), i128::from(to - from));
        // Rounded up, so that no message is early.
        u64::try_from(before - (-rise * passed).div_euclid(whole)).ok()
    }

    /// Returns the time at which it is over; 0 for a single point, which has no length.
    fn end(&self) -> u64 {
        match self.0[..] {
            [.., (before, _), (last, _)] => last + (last - before),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(between: Between, at_end: AtEnd) -> impl FnMut(u64) -> Option<u64> {
        let points = [(0, 100), (10, 200), (20, 101)]
            .map(|(at, latency)| (Duration::from_nanos(at), Duration::from_nanos(latency)));
        let mut traced = Trace::new(points, []).unwrap().follow(between, at_end);
        move |at| {
            let passage = traced.delay(Duration::from_nanos(at), ByteCount::new(1))?;
            Some(passage.latency.as_nanos() as u64)
        }
    }

    #[test]
    fn between_two_points_a_link_holds_or_goes_in_a_line_rounded_up() {
        let mut held = latencies(Between::Hold, AtEnd::Loop);
        assert_eq!([0, 9, 10, 19, 20, 29].map(|at| held(at).unwrap()), [100, 100, 200, 200, 101, 101]);
        let mut linear = latencies(Between::Linear, AtEnd::Loop);
        assert_eq!([0, 1, 5, 10, 11, 20, 29].map(|at| linear(at).unwrap()), [100, 110, 150, 200, 191, 101, 101]);
    }

    #[test]
    fn at_its_end_a_trace_loops_holds_or_stops() {
        let mut looped = latencies(Between::Hold, AtEnd::Loop);
        assert_eq!([30, 40, 59, 60].map(|at| looped(at).unwrap()), [100, 200, 101, 100]);
        assert_eq!(latencies(Between::Linear, AtEnd::Hold)(1_000), Some(101));
        let mut stopped = latencies(Between::Hold, AtEnd::Stop);
        assert_eq!([stopped(29), stopped(30)], [Some(101), None]);
    }

    #[test]
    fn a_single_point_holds_for_ever() {
        let point = (Duration::from_secs(5), Duration::from_millis(7));
        let mut traced = Trace::new([point], []).unwrap().follow(Between::Linear, AtEnd::Loop);
        for at in [0, 5, 500] {
            assert_eq!(traced.delay(Duration::from_secs(at), ByteCount::new(1)).unwrap().latency, point.1);
        }
    }
}
