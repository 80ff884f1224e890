//! Simulated time: whole nanoseconds, so that sums are exact and equal on every machine.

use std::fmt;
use std::ops::{Add, AddAssign};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment of simulated time, in nanoseconds since the simulation began. Sums saturate at [`SimTime::NEVER`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SimTime(u64);

/// A span of simulated time in nanoseconds. Sums saturate, after 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SimDuration(u64);

impl SimTime {
    /// The begin of a simulation.
    pub const ZERO: Self = Self(0);
    /// Later than every moment that a simulation reaches.
    pub const NEVER: Self = Self(u64::MAX);

    /// Builds a moment from nanoseconds since the simulation began.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the simulation began.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the span by which this is later than `earlier`; zero if it is not later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> SimDuration {
        SimDuration(self.0.saturating_sub(earlier.0))
    }
}

impl SimDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Builds a span from nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
}

impl From<Duration> for SimDuration {
    /// Exact up to 584 years, which stand for all that is longer.
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<SimDuration> for Duration {
    fn from(span: SimDuration) -> Self {
        Self::from_nanos(span.0)
    }
}

impl Add<SimDuration> for SimTime {
    type Output = Self;

    fn add(self, span: SimDuration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<SimDuration> for SimTime {
    fn add_assign(&mut self, span: SimDuration) {
        *self = *self + span;
    }
}

impl Add for SimDuration {
    type Output = Self;

    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl fmt::Display for SimTime {
    /// Writes the moment in seconds with nine decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_end_at_never() {
        assert_eq!(SimTime::NEVER + SimDuration::from_nanos(1), SimTime::NEVER);
        assert_eq!(SimTime::from_nanos(2).saturating_since(SimTime::from_nanos(5)), SimDuration::ZERO);
    }

    #[test]
    fn a_moment_shows_its_nanoseconds() {
        assert_eq!(SimTime::from_nanos(1_000_000_050).to_string(), "1.000000050 s");
    }
}
