//! Iterations that came late, as in Table 14 of Bongo's thesis (2007): a rank is late when its time exceeds its own
//! median by more than a threshold, an iteration when any of its ranks is.

use statistics::digest::{Digest, Summary};

use super::detour::{Detection, Detour};
use super::quanta::{Stretch, saturated};
use super::record::Row;

/// One rank's times of all iterations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Times {
    /// Times of the fixed work, in nanoseconds; those beyond 4.29 s count as that long.
    pub computation_ns: Vec<u32>,
    /// Times of the allreduce, likewise.
    pub communication_ns: Vec<u32>,
    /// Iterations that do not begin when the one before them ended.
    pub stretches: Vec<Stretch>,
}

/// Counts over iterations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tally {
    thresholds_ns: Vec<f64>,
    late: Vec<Vec<u64>>,
    lost_ns: Vec<f64>,
}

/// Mean and deviation of several ranks' times together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pooled {
    /// Mean, in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation with n - 1, in nanoseconds.
    pub deviation_ns: f64,
}

impl Times {
    /// Iterations made.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.communication_ns.len()
    }

    /// One time, in nanoseconds.
    #[must_use]
    pub(crate) fn of(&self, row: Row, idx: usize) -> u32 {
        match row {
            Row::Computation => self.computation_ns[idx],
            Row::Communication => self.communication_ns[idx],
            Row::Iteration => self.computation_ns[idx].saturating_add(self.communication_ns[idx]),
        }
    }

    /// The middle time of all iterations; the lower one of two. 0 without any.
    #[must_use]
    pub(crate) fn median_ns(&self, row: Row) -> u32 {
        let mut times: Vec<u32> = (0..self.len()).map(|idx| self.of(row, idx)).collect();
        let Some(middle) = times.len().checked_sub(1) else { return 0 };
        *times.select_nth_unstable(middle / 2).1
    }

    /// Returns the excess of each of some iterations over `median_ns`, in nanoseconds; 0 for those below.
    pub(crate) fn excesses_ns(
        &self,
        row: Row,
        median_ns: u32,
        iterations: std::ops::Range<usize>,
    ) -> impl Iterator<Item = u32> {
        iterations.map(move |idx| self.of(row, idx).saturating_sub(median_ns))
    }

    /// All that is told of a row.
    #[must_use]
    pub(crate) fn summary(&self, row: Row) -> Summary {
        let mut digest = Digest::default();
        (0..self.len()).for_each(|idx| digest.record(u64::from(self.of(row, idx))));
        digest.summary()
    }

    /// Times that were too long to be kept.
    #[must_use]
    pub(crate) fn n_saturated(&self) -> u64 {
        let all = self.computation_ns.iter().chain(&self.communication_ns);
        all.filter(|&&time| time == saturated(u64::MAX)).count() as u64
    }

    /// Detours in the fixed work.
    #[must_use]
    pub(crate) fn detours(&self, clock_limit_ns: f64) -> Vec<Detour> {
        let detection = Detection::of(&self.computation_ns, clock_limit_ns, None);
        let starts = self.starts_ns();
        let within = |idx: usize| detection.baseline(idx).map_or(0.0, |baseline| baseline.centre_ns);
        let detour =
            |&(idx, length_ns): &(usize, f64)| Detour { idx, at_ns: starts[idx], within_ns: within(idx), length_ns };
        detection.detours.iter().map(detour).collect()
    }

    /// Returns the start of each iteration, in nanoseconds of the run's clock.
    #[must_use]
    pub(crate) fn starts_ns(&self) -> Vec<u64> {
        let mut stretches = self.stretches.iter().peekable();
        let mut next_ns = 0;
        let start = |idx: usize| {
            if let Some(stretch) = stretches.next_if(|stretch| stretch.first == idx) {
                next_ns = stretch.start_ns;
            }
            let start_ns = next_ns;
            next_ns += u64::from(self.computation_ns[idx]) + u64::from(self.communication_ns[idx]);
            start_ns
        };
        (0..self.len()).map(start).collect()
    }
}

impl Tally {
    /// Builds a tally of nothing yet, with these thresholds.
    #[must_use]
    pub(crate) fn new(thresholds_ns: &[f64]) -> Self {
        let n = thresholds_ns.len();
        let late = vec![vec![0; n]; Row::ALL.len()];
        Self { thresholds_ns: thresholds_ns.to_vec(), late, lost_ns: vec![0.0; n] }
    }

    /// Counts iterations by how far the latest of their ranks was above its median, in nanoseconds.
    pub(crate) fn add(&mut self, row: Row, worst_ns: &[u32]) {
        for worst in worst_ns.iter().copied().map(f64::from) {
            let late = self.late[row as usize].iter_mut().zip(&self.thresholds_ns);
            late.filter(|(_, threshold)| worst > **threshold).for_each(|(count, _)| *count += 1);
        }
    }

    /// Adds up what one rank loses in late iterations: how far it was itself above its median, or below it, in each.
    pub(crate) fn lose(&mut self, worst_ns: &[u32], own_ns: impl Iterator<Item = f64>) {
        for (worst, own) in worst_ns.iter().copied().map(f64::from).zip(own_ns) {
            let lost = self.lost_ns.iter_mut().zip(&self.thresholds_ns);
            lost.filter(|(_, threshold)| worst > **threshold).for_each(|(sum, _)| *sum += own);
        }
    }

    /// Late iterations under each threshold.
    #[must_use]
    pub(crate) fn late(&self, row: Row) -> &[u64] {
        &self.late[row as usize]
    }

    /// Returns the time that the rank lost in late iterations under each threshold, in nanoseconds.
    #[must_use]
    pub(crate) fn lost_ns(&self) -> &[f64] {
        &self.lost_ns
    }
}

impl Pooled {
    /// Pools the times of all ranks (Chan, Golub and LeVeque 1979).
    #[must_use]
    pub(crate) fn of(summaries: &[&Summary]) -> Self {
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for summary in summaries.iter().filter(|summary| summary.count > 0) {
            let n = summary.count as f64;
            let away = summary.mean_ns - mean;
            squares += summary.deviation_ns.powi(2) * (n - 1.0) + away * away * count * n / (count + n);
            count += n;
            mean += away * n / count;
        }
        Self { mean_ns: mean, deviation_ns: (squares / (count - 1.0).max(1.0)).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> Times {
        Times {
            computation_ns: vec![100, 101, 100, 900, 102],
            communication_ns: vec![10, 11, 500, 10, 12],
            stretches: vec![Stretch { first: 0, start_ns: 1_000 }, Stretch { first: 3, start_ns: 5_000 }],
        }
    }

    #[test]
    fn a_rank_is_late_by_its_own_median() {
        let times = times();
        assert_eq!(Row::ALL.map(|row| times.median_ns(row)), [101, 11, 114]);
        let excesses: Vec<u32> = times.excesses_ns(Row::Iteration, 114, 0..5).collect();
        assert_eq!(excesses, [0, 0, 486, 796, 0]);
        assert_eq!(Times::default().median_ns(Row::Iteration), 0);
    }

    #[test]
    fn an_iteration_counts_under_each_threshold_that_it_exceeds() {
        let mut tally = Tally::new(&[100.0, 486.0, 700.0]);
        tally.add(Row::Iteration, &[0, 486, 796]);
        tally.add(Row::Iteration, &[100]);
        assert_eq!((tally.late(Row::Iteration), tally.late(Row::Computation)), (&[2, 1, 1][..], &[0, 0, 0][..]));
    }

    #[test]
    fn a_delay_that_two_ranks_see_one_after_the_other_is_lost_once() {
        // One rank was held up after it left the allreduce, the other then waited for it in the next iteration.
        let worst = [30_000, 30_000, 5];
        let mut tally = Tally::new(&[1_000.0]);
        tally.lose(&worst, [30_000.0, -3.0, 5.0].into_iter());
        assert_eq!(tally.lost_ns(), [29_997.0]);
    }

    #[test]
    fn iterations_begin_where_the_last_one_ended_or_a_stretch_begins() {
        assert_eq!(times().starts_ns(), [1_000, 1_110, 1_222, 5_000, 5_910]);
    }

    #[test]
    fn ranks_together_have_the_mean_and_deviation_of_all_times() {
        let of = |times: &[u64]| {
            let mut digest = Digest::default();
            times.iter().for_each(|time| digest.record(*time));
            digest.summary()
        };
        let (one, other, all) = (of(&[1, 5, 9]), of(&[100, 104]), of(&[1, 5, 9, 100, 104]));
        let pooled = Pooled::of(&[&one, &other, &Summary::default()]);
        assert!((pooled.mean_ns - all.mean_ns).abs() < 1e-9 && (pooled.deviation_ns - all.deviation_ns).abs() < 1e-9);
        assert_eq!(Pooled::of(&[]), Pooled::default());
    }
}
