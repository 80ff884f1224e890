//! Conversions from ticks to nanoseconds, and from a host's clock to that of rank 0's host, in whole numbers.

use crate::Reading;
use crate::file::Offset;

/// The line through two moments that are known on two clocks.
///
/// It never goes back, and rounds down. Before the first moment and after the second it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    from: Reading,
    ticks: u64,
    ns: u64,
}

impl Line {
    /// Returns the line through two moments. If no tick or no time lies between them, a tick counts as a nanosecond.
    #[must_use]
    pub fn through(a: Reading, b: Reading) -> Self {
        let (from, to) = if a.ticks <= b.ticks { (a, b) } else { (b, a) };
        let ticks = to.ticks - from.ticks;
        match to.monotonic_ns.checked_sub(from.monotonic_ns) {
            Some(ns) if ns > 0 && ticks > 0 => Self { from, ticks, ns },
            _ => Self { from, ticks: 1, ns: 1 },
        }
    }

    /// Returns the line on which ticks are nanoseconds.
    #[must_use]
    pub fn identity() -> Self {
        Self { from: Reading::default(), ticks: 1, ns: 1 }
    }

    /// Returns the moment by the monotonic clock.
    #[must_use]
    pub fn ns(&self, ticks: u64) -> u64 {
        let since = i128::from(ticks) - i128::from(self.from.ticks);
        let ns = since.saturating_mul(i128::from(self.ns)).div_euclid(i128::from(self.ticks));
        ns.saturating_add(i128::from(self.from.monotonic_ns)).clamp(0, i128::from(u64::MAX)) as u64
    }

    /// Returns the length of so many ticks in nanoseconds.
    #[must_use]
    pub fn span_ns(&self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * u128::from(self.ns) / u128::from(self.ticks);
        ns.min(u128::from(u64::MAX)) as u64
    }
}

/// Offset of a host's monotonic clock from that of rank 0's host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// Measured offsets, in the order of their time.
    offsets: Vec<Offset>,
}

impl Alignment {
    /// Builds the alignment from measured offsets; without measurements, both clocks are the same.
    #[must_use]
    pub fn of(mut offsets: Vec<Offset>) -> Self {
        offsets.sort_by_key(|offset| offset.monotonic_ns);
        Self { offsets }
    }

    /// Returns the error bound of a moment: the larger of the errors.
    #[must_use]
    pub fn error_ns(&self) -> u64 {
        self.offsets.iter().map(|offset| offset.error_ns).max().unwrap_or(0)
    }

    /// Returns a moment of this host by the clock of rank 0's. Offsets change evenly between measurements, and stay
    /// before the first and after the last.
    #[must_use]
    pub fn ns(&self, host_ns: u64) -> u64 {
        let offset = match (self.offsets.first(), self.offsets.last()) {
            (Some(first), Some(last)) if first.monotonic_ns < last.monotonic_ns => {
                let at = host_ns.clamp(first.monotonic_ns, last.monotonic_ns) - first.monotonic_ns;
                let change = i128::from(last.offset_ns) - i128::from(first.offset_ns);
                let span = i128::from(last.monotonic_ns - first.monotonic_ns);
                i128::from(first.offset_ns) + (change * i128::from(at)).div_euclid(span)
            }
            (_, last) => last.map_or(0, |offset| i128::from(offset.offset_ns)),
        };
        (i128::from(host_ns) - offset).clamp(0, i128::from(u64::MAX)) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::Phase;

    fn reading(ticks: u64, monotonic_ns: u64) -> Reading {
        Reading { ticks, monotonic_ns }
    }

    #[test]
    fn ticks_become_nanoseconds_to_the_last_digit() {
        // A counter of 3 GHz that began long ago, over a day.
        let line = Line::through(
            reading(1 << 60, 5_000),
            reading((1 << 60) + 3_000_000_000 * 86_400, 5_000 + 1_000_000_000 * 86_400),
        );
        assert_eq!(line.ns((1 << 60) + 3_000_000_000 * 3_600 + 2), 5_000 + 1_000_000_000 * 3_600);
        assert_eq!((line.ns((1 << 60) - 3), line.span_ns(7)), (4_999, 2));
        assert_eq!(Line::through(reading(9, 9), reading(9, 8)).ns(12), 12);
        assert_eq!(Line::identity().ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn offsets_change_evenly_between_their_measurements() {
        let offset = |offset_ns, error_ns, monotonic_ns, at| Offset { offset_ns, error_ns, monotonic_ns, at };
        let both = vec![offset(100, 7, 3_000, Phase::Finalize), offset(-100, 5, 1_000, Phase::Init)];
        let alignment = Alignment::of(both);
        let at = [0, 1_000, 2_000, 3_000, 9_000].map(|ns| alignment.ns(ns));
        assert_eq!((at, alignment.error_ns()), ([100, 1_100, 2_000, 2_900, 8_900], 7));
        assert_eq!(Alignment::default().ns(5), 5);
    }

    proptest! {
        #[test]
        fn time_never_goes_back(a: (u64, u64), b: (u64, u64), at: [u64; 2]) {
            let line = Line::through(reading(a.0, a.1), reading(b.0, b.1));
            prop_assert!(line.ns(at[0].min(at[1])) <= line.ns(at[0].max(at[1])));
        }
    }
}
