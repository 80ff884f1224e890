//! How a host's ticks become nanoseconds.

/// A host's clock as it was calibrated: all its processes stamp with it.
///
/// Spans need only the rate. Moments of different hosts are joined through `origin`, with an error of microseconds at best, so that
/// nothing rests on them but the split of a call over several hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostClock {
    /// This many ticks ...
    pub n_ticks: u64,
    /// ... take this many nanoseconds.
    pub n_ns: u64,
    /// One moment by this clock, and in nanoseconds of the clock that hosts share; none where the hosts were not compared.
    pub origin: Option<(u64, i64)>,
}

impl HostClock {
    /// One whose ticks are nanoseconds of the shared clock, as in simulated runs and in merged files.
    pub const NANOSECONDS: Self = Self { n_ticks: 1, n_ns: 1, origin: Some((0, 0)) };

    /// A length of time, rounded down to the nanosecond.
    #[must_use]
    pub fn span_ns(&self, ticks: u64) -> u64 {
        if self.n_ticks == self.n_ns {
            return ticks;
        }
        (u128::from(ticks) * u128::from(self.n_ns) / u128::from(self.n_ticks.max(1))) as u64
    }

    /// A moment on the shared clock.
    #[must_use]
    pub fn moment_ns(&self, ticks: u64) -> Option<i64> {
        let (at, ns) = self.origin?;
        let away = self.span_ns(ticks.abs_diff(at)) as i64;
        Some(if ticks >= at { ns.saturating_add(away) } else { ns.saturating_sub(away) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_before_and_after_the_origin() {
        let clock = HostClock { n_ticks: 3, n_ns: 1, origin: Some((3_000, 50)) };
        assert_eq!((clock.span_ns(3_000_000_000), clock.span_ns(5)), (1_000_000_000, 1));
        assert_eq!((clock.moment_ns(3_300), clock.moment_ns(2_700)), (Some(150), Some(-50)));
        assert_eq!(HostClock { origin: None, ..clock }.moment_ns(3_300), None);
    }
}
