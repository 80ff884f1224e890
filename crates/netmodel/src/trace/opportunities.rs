//! mahimahi's traces: each line is a millisecond at which a packet of 1,504 bytes may leave.

use std::time::Duration;

use units::ByteCount;

use super::TraceError;
use crate::link::{Delay, Passage};

/// Bytes that leave at an opportunity, as in mahimahi.
const OPPORTUNITY_BYTES: u64 = 1_504;

/// A wire that sends only at given moments, which repeat; what a message leaves of an opportunity, the next one that
/// is waiting takes.
#[derive(Clone, Debug)]
pub struct Opportunities {
    latency: Duration,
    /// Moments in milliseconds, in order; the last one is where they repeat.
    at_ms: Vec<u64>,
    /// The opportunity that was used last, counted from the first round on.
    current: u64,
    /// Bytes that are left of that opportunity.
    left_bytes: u64,
}

impl Opportunities {
    /// Reads the text of a trace, with the latency that mahimahi takes from elsewhere.
    ///
    /// # Errors
    /// [`TraceError`] with the line that is no millisecond or goes back, or when all are at 0 or there is none.
    pub fn read(text: &str, latency: Duration) -> Result<Self, TraceError> {
        let mut at_ms: Vec<u64> = Vec::new();
        for (line, row) in (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty()) {
            let needed = "a whole number of milliseconds";
            let at = row.trim().parse().map_err(|_| TraceError::Row { line, given: row.to_owned(), needed })?;
            if at_ms.last().is_some_and(|before| *before > at) {
                return Err(TraceError::Row { line, given: row.to_owned(), needed: "a moment not before the last" });
            }
            at_ms.push(at);
        }
        if at_ms.last().is_none_or(|last| *last == 0) {
            return Err(TraceError::Empty);
        }
        Ok(Self { latency, at_ms, current: 0, left_bytes: OPPORTUNITY_BYTES })
    }

    fn at(&self, number: u64) -> Duration {
        let n = self.at_ms.len() as u64;
        Duration::from_millis(number / n * self.round_ms() + self.at_ms[(number % n) as usize])
    }

    fn round_ms(&self) -> u64 {
        self.at_ms[self.at_ms.len() - 1]
    }

    /// The first opportunity that is not before `begin`.
    fn first_from(&self, begin: Duration) -> u64 {
        let n = self.at_ms.len() as u64;
        let begin_ms = begin.as_nanos().div_ceil(1_000_000) as u64;
        // One at the very end of a round comes before those at 0 of the next.
        let round = begin_ms.saturating_sub(1) / self.round_ms();
        let within = begin_ms - round * self.round_ms();
        round * n + self.at_ms.partition_point(|at| *at < within) as u64
    }
}

impl Delay for Opportunities {
    fn delay(&mut self, begin: Duration, size: ByteCount) -> Option<Passage> {
        let first = self.first_from(begin);
        if self.at(self.current) < begin {
            (self.current, self.left_bytes) = (first, OPPORTUNITY_BYTES);
        }
        let missing = size.bytes().saturating_sub(self.left_bytes);
        let n_further = missing.div_ceil(OPPORTUNITY_BYTES);
        self.current += n_further;
        self.left_bytes = self.left_bytes + n_further * OPPORTUNITY_BYTES - size.bytes();
        Some(Passage { serialization: self.at(self.current).saturating_sub(begin), latency: self.latency })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When messages have left that are sent one after the other.
    fn leave(trace: &str, messages: &[(u64, u64)]) -> Vec<u128> {
        let mut wire = Opportunities::read(trace, Duration::ZERO).unwrap();
        let mut free = Duration::ZERO;
        let mut leave = |&(at_us, bytes): &(u64, u64)| {
            let begin = free.max(Duration::from_micros(at_us));
            free = begin + wire.delay(begin, ByteCount::new(bytes)).unwrap().serialization;
            free.as_micros()
        };
        messages.iter().map(&mut leave).collect()
    }

    #[test]
    fn a_message_leaves_at_the_next_opportunity_with_room() {
        assert_eq!(
            leave("2\n5\n5\n9\n", &[(0, 1_504), (0, 1_000), (0, 1_000), (6_000, 10)]),
            [2_000, 5_000, 5_000, 9_000]
        );
        assert_eq!(leave("2\n5\n9\n", &[(0, 1_000), (0, 504), (0, 1)]), [2_000, 2_000, 5_000]);
        assert_eq!(leave("2\n5\n9\n", &[(0, 4_000)]), [9_000]);
        assert_eq!(leave("0\n3\n", &[(0, 1), (100, 1)]), [0, 3_000]);
    }

    #[test]
    fn the_last_line_is_where_the_trace_begins_again() {
        assert_eq!(
            leave("2\n10\n", &[(10_000, 1), (10_001, 1), (12_500, 1_504), (20_500, 1)]),
            [10_000, 12_000, 20_000, 22_000]
        );
    }

    #[test]
    fn a_trace_that_never_sends_or_goes_back_is_refused() {
        for text in ["", "\n", "0\n", "5\n3\n", "1.5\n", "-1\n", "1 2\n"] {
            assert!(Opportunities::read(text, Duration::ZERO).is_err(), "{text:?} was taken");
        }
    }
}
