//! The number of bytes that had arrived at each moment, and the rates that follow from it.

use std::time::Duration;

/// The bytes, or segments, that had arrived at moments of one transfer, counted from its beginning, where none had.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Those at which more had arrived than ever before.
    moments: Vec<Moment>,
    /// The last one that was noted.
    passed: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    at: Duration,
    n_bytes: u64,
}

impl Progress {
    /// Notes that `n_bytes` had arrived `at` this time, which is no earlier than the one before.
    pub(super) fn note(&mut self, at: Duration, n_bytes: u64) {
        if n_bytes > self.n_bytes() {
            self.moments.push(Moment { at, n_bytes });
        }
        self.passed = at;
    }

    /// Returns the number of bytes that arrived.
    pub(super) fn n_bytes(&self) -> u64 {
        self.moments.last().map_or(0, |moment| moment.n_bytes)
    }

    /// The same in another unit, of which there are `n_bytes`.
    pub(super) fn rescaled(mut self, n_bytes: u64) -> Progress {
        let n_counted = self.n_bytes() as f64;
        for moment in &mut self.moments {
            moment.n_bytes = (moment.n_bytes as f64 / n_counted * n_bytes as f64).round() as u64;
        }
        self
    }

    /// Bytes per second from the beginning to the end. None if nothing arrived.
    pub(super) fn whole_rate(&self) -> Option<f64> {
        self.rate_since(Moment::default())
    }

    /// Bytes per second of the later half of the bytes, or of a little more than that half. None if nothing arrived.
    ///
    /// It begins at the last moment at which bytes arrived and no more than half of them were there. Where a segment
    /// was lost, what came after it counts only when it has been sent again; the wait for it is of the half that these
    /// bytes are in.
    pub(super) fn later_rate(&self) -> Option<f64> {
        let half = self.n_bytes() / 2;
        let n_early = self.moments.partition_point(|moment| moment.n_bytes <= half);
        let middle = n_early.checked_sub(1).map_or_else(Moment::default, |idx| self.moments[idx]);
        self.rate_since(middle)
    }

    fn rate_since(&self, start: Moment) -> Option<f64> {
        let n_bytes = self.n_bytes() - start.n_bytes;
        let passed = self.passed.checked_sub(start.at).filter(|passed| !passed.is_zero())?;
        (n_bytes > 0).then(|| n_bytes as f64 / passed.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rates(moments: &[(u64, u64)], whole: Option<f64>, later: Option<f64>) {
        let mut progress = Progress::default();
        for &(at_ms, n_bytes) in moments {
            progress.note(Duration::from_millis(at_ms), n_bytes);
        }
        assert_eq!((progress.whole_rate(), progress.later_rate()), (whole, later));
    }

    #[test]
    fn the_later_rate_leaves_the_slow_start_out() {
        // Round trips of 100 ms, twice the bytes in each, then a bottleneck of 4000 bytes in each.
        let moments = [(100, 1000), (200, 3000), (300, 7000), (400, 11_000), (500, 15_000), (600, 19_000)];
        check_rates(&moments, Some(19_000.0 / 0.6), Some(40_000.0));
    }

    #[test]
    fn a_burst_at_the_beginning_is_no_rate_of_the_path() {
        check_rates(&[(1, 5000), (501, 10_000), (1001, 15_000)], Some(15_000.0 / 1.001), Some(10_000.0));
    }

    #[test]
    fn bytes_that_were_held_up_by_a_lost_segment_arrived_while_they_were() {
        // 1000 bytes in each 100 ms, and none of them counted between 300 and 700 ms.
        let moments = [(100, 1000), (200, 2000), (300, 3000), (500, 3000), (699, 3000), (700, 7000), (800, 8000)];
        check_rates(&moments, Some(10_000.0), Some(10_000.0));
    }

    #[test]
    fn segments_are_as_many_bytes_each_as_all_of_them_on_average() {
        let mut progress = Progress::default();
        for n_segments in 1..=4 {
            progress.note(Duration::from_millis(n_segments * 100), n_segments);
        }
        let progress = progress.rescaled(5000);
        assert_eq!(
            (progress.n_bytes(), progress.whole_rate(), progress.later_rate()),
            (5000, Some(12_500.0), Some(12_500.0))
        );
        assert_eq!(Progress::default().rescaled(5000).whole_rate(), None);
    }

    #[test]
    fn time_in_which_nothing_came_at_the_end_counts() {
        check_rates(&[(100, 1000), (200, 2000), (400, 2000)], Some(5000.0), Some(1000.0 / 0.3));
    }

    #[test]
    fn a_transfer_that_arrived_at_once_has_one_rate() {
        check_rates(&[(400, 0), (500, 1000)], Some(2000.0), Some(2000.0));
    }

    #[test]
    fn nothing_that_arrived_is_no_rate() {
        check_rates(&[], None, None);
        check_rates(&[(300, 0)], None, None);
        check_rates(&[(0, 10)], None, None);
    }
}
