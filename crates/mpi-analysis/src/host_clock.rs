//! Conversion of a host's ticks to nanoseconds.

use mpi_trace::{Alignment, Line};

/// A host's clock as it was calibrated: all its processes stamp with it.
///
/// Spans need only the line. Moments of different hosts are joined by the alignment, with an error of microseconds at
/// best, so that nothing rests on them but the split of a call over several hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostClock {
    /// Line from ticks to the host's monotonic clock.
    pub line: Line,
    /// Alignment of that clock with the clock of rank 0's host; none if the hosts were not compared.
    pub alignment: Option<Alignment>,
}

impl HostClock {
    /// Returns a clock whose ticks are nanoseconds, and that was compared with no other.
    #[must_use]
    pub fn alone() -> Self {
        Self { line: Line::identity(), alignment: None }
    }

    /// A length of time, rounded down to the nanosecond.
    #[must_use]
    pub fn span_ns(&self, ticks: u64) -> u64 {
        self.line.span_ns(ticks)
    }

    /// A moment on the clock of rank 0's host, or of this one where they were not compared.
    pub(crate) fn moment_or_own_ns(&self, ticks: u64) -> u64 {
        self.moment_ns(ticks).unwrap_or_else(|| self.line.ns(ticks))
    }

    /// A moment on the clock of rank 0's host.
    #[must_use]
    pub fn moment_ns(&self, ticks: u64) -> Option<u64> {
        Some(self.alignment.as_ref()?.ns(self.line.ns(ticks)))
    }
}
