//! Lengths of work to try where none are given: around the time that a transfer takes, so that each curve has its knee.

use std::time::Duration;

/// Factor by which lengths go below and above the transfer: the flat ends of the curves are seen, and the longest takes
/// long enough beside the transfer for a verdict on it, yet not so long that a sweep takes minutes.
const REACH: f64 = 12.0;

/// `n_points` lengths of work, each as many times the one before, from a twelfth of `transfer` to twelve times as long;
/// none is shorter than `shortest`, and the longest is at least sixteen times as long.
#[must_use]
pub(crate) fn around(transfer: Duration, shortest: Duration, n_points: usize) -> Vec<Duration> {
    let (transfer, shortest) = (transfer.as_nanos() as f64, (shortest.as_nanos() as f64).max(1.0));
    let low = (transfer / REACH).max(shortest);
    let high = (transfer * REACH).max(16.0 * low);
    let steps = n_points.saturating_sub(1).max(1) as f64;
    let at = |idx| low * (high / low).powf(idx as f64 / steps);
    (0..n_points).map(|idx| Duration::from_nanos(at(idx).round() as u64)).collect()
}

/// Sizes of round trips: 0, then 8 bytes and its doublings below `largest`, then that.
#[must_use]
pub(crate) fn doublings(largest: u64) -> Vec<u64> {
    let below = std::iter::successors(Some(8_u64), |size| size.checked_mul(2)).take_while(|size| *size < largest);
    let mut sizes: Vec<u64> = [0].into_iter().chain(below).chain([largest]).collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_lies_in_the_middle_of_its_lengths() {
        let lengths = around(Duration::from_micros(300), Duration::from_micros(2), 9);
        assert_eq!(lengths.len(), 9);
        assert_eq!(
            (lengths[0], lengths[4], lengths[8]),
            (Duration::from_micros(25), Duration::from_micros(300), Duration::from_micros(3_600))
        );
    }

    #[test]
    fn no_length_is_below_what_the_clock_tells() {
        let lengths = around(Duration::from_nanos(600), Duration::from_micros(2), 5);
        assert_eq!((lengths[0], lengths[4]), (Duration::from_micros(2), Duration::from_micros(32)));
        assert_eq!(around(Duration::ZERO, Duration::ZERO, 1), [Duration::from_nanos(1)]);
    }

    #[test]
    fn doublings_end_at_the_largest() {
        assert_eq!(doublings(100), [0, 8, 16, 32, 64, 100]);
        assert_eq!(doublings(16), [0, 8, 16]);
        assert_eq!(doublings(0), [0]);
    }
}
