//! Quantiles of what a histogram counted between two scrapes.

use super::growth::When;

/// The greatest number of buckets: nobody has use for more, which would be an attack on memory.
const N_BUCKETS_MAX: usize = 512;

/// A histogram's buckets at one scrape: how many values were `upper` or less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bucket {
    pub upper: f64,
    pub count: f64,
}

/// All buckets of one scrape.
#[derive(Clone, Debug, Default)]
pub(super) struct Buckets {
    rows: Vec<Bucket>,
    is_cut: bool,
}

impl Buckets {
    /// Adds one, in any order. What is beyond the limit is left out, and then there are no quantiles.
    pub(super) fn push(&mut self, bucket: Bucket) {
        if self.rows.len() < N_BUCKETS_MAX {
            self.rows.push(bucket);
        } else {
            self.is_cut = true;
        }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.is_cut = false;
    }

    /// Puts them in order.
    ///
    /// # Errors
    /// When they make no histogram: says what would.
    pub(super) fn sort(&mut self) -> Result<(), &'static str> {
        if self.is_cut {
            return Err("512 buckets at most");
        }
        self.rows.sort_unstable_by(|left, right| left.upper.total_cmp(&right.upper));
        if !self.rows.iter().all(|row| row.count >= 0.0 && row.count.is_finite()) {
            return Err("finite counts of 0 or more");
        }
        if self.rows.windows(2).any(|pair| pair[0].upper == pair[1].upper) {
            return Err("each upper bound once");
        }
        match self.rows.last() {
            Some(last) if last.upper == f64::INFINITY => Ok(()),
            _ => Err("a bucket `+Inf`"),
        }
    }

    /// Returns the counts between `last`, read at `then`, and these, read at `now`. None if the two cannot be compared.
    pub(super) fn since(&self, last: &Buckets, now: When, then: When) -> Option<Buckets> {
        let span = now.since(then)?;
        let is_same = self.rows.len() == last.rows.len();
        let mut pairs = self.rows.iter().zip(&last.rows);
        if !is_same || !pairs.clone().all(|(row, last)| row.upper == last.upper) {
            return None;
        }
        // One that went back tells of all that they were set to zero.
        let is_reset = span.is_reset || pairs.any(|(row, last)| row.count < last.count);
        let grown = self.rows.iter().zip(&last.rows).map(|(row, last)| Bucket {
            upper: row.upper,
            count: if is_reset { row.count } else { row.count - last.count },
        });
        Some(Buckets { rows: grown.collect(), is_cut: false })
    }

    /// The value that the share `quantile` of what was counted does not exceed, of buckets in order.
    ///
    /// As `histogram_quantile` of Prometheus: values are spread evenly within a bucket; the lowest begins at 0 if its
    /// bound is above that and is all at its bound if not; of the one without a bound only its lower end is known. None
    /// if nothing was counted.
    pub(super) fn quantile(&self, quantile: f64) -> Option<f64> {
        let (last, bounded) = self.rows.split_last()?;
        let n_values = last.count;
        if n_values <= 0.0 {
            return None;
        }
        let rank = quantile * n_values;
        let mut below = Bucket { upper: 0.0, count: 0.0 };
        for (idx, bucket) in bounded.iter().enumerate() {
            // Counts that are read while others are written can be a little less than the one before.
            let count = bucket.count.max(below.count);
            if count >= rank && count > 0.0 {
                let is_lowest = idx == 0;
                if is_lowest && bucket.upper <= 0.0 {
                    return Some(bucket.upper);
                }
                let share = if count > below.count { (rank - below.count) / (count - below.count) } else { 0.0 };
                return Some(below.upper + (bucket.upper - below.upper) * share);
            }
            below = Bucket { upper: bucket.upper, count };
        }
        bounded.last().map(|bucket| bucket.upper)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn buckets(rows: &[(f64, f64)]) -> Buckets {
        let mut buckets = Buckets::default();
        rows.iter().for_each(|&(upper, count)| buckets.push(Bucket { upper, count }));
        buckets
    }

    #[track_caller]
    fn check_quantile(rows: &[(f64, f64)], quantile: f64, expected: Option<f64>) {
        let mut buckets = buckets(rows);
        buckets.sort().unwrap();
        assert_eq!(buckets.quantile(quantile), expected);
    }

    const INF: f64 = f64::INFINITY;

    #[test]
    fn values_are_spread_evenly_within_a_bucket() {
        let rows = [(2.0, 30.0), (1.0, 10.0), (4.0, 40.0), (INF, 40.0)];
        check_quantile(&rows, 0.5, Some(1.5));
        check_quantile(&rows, 0.75, Some(2.0));
        check_quantile(&rows, 0.875, Some(3.0));
        check_quantile(&rows, 1.0, Some(4.0));
        check_quantile(&rows, 0.125, Some(0.5));
        check_quantile(&rows, 0.0, Some(0.0));
    }

    #[test]
    fn the_bucket_without_a_bound_gives_its_lower_end() {
        check_quantile(&[(1.0, 1.0), (INF, 10.0)], 0.9, Some(1.0));
        check_quantile(&[(INF, 10.0)], 0.9, None);
    }

    #[test]
    fn the_lowest_bucket_below_zero_is_all_at_its_bound() {
        check_quantile(&[(-1.0, 5.0), (1.0, 10.0), (INF, 10.0)], 0.25, Some(-1.0));
        check_quantile(&[(-1.0, 5.0), (1.0, 10.0), (INF, 10.0)], 0.75, Some(0.0));
    }

    #[test]
    fn empty_buckets_are_passed_over() {
        check_quantile(&[(1.0, 0.0), (2.0, 4.0), (3.0, 4.0), (INF, 4.0)], 0.0, Some(1.0));
        check_quantile(&[(1.0, 0.0), (2.0, 4.0), (3.0, 4.0), (INF, 4.0)], 1.0, Some(2.0));
        check_quantile(&[(1.0, 0.0), (INF, 0.0)], 0.5, None);
    }

    #[test]
    fn counts_that_do_not_quite_rise_are_taken_to() {
        check_quantile(&[(1.0, 5.0), (2.0, 4.0), (4.0, 10.0), (INF, 10.0)], 0.5, Some(1.0));
        check_quantile(&[(1.0, 5.0), (2.0, 4.0), (4.0, 10.0), (INF, 10.0)], 1.0, Some(4.0));
    }

    #[test]
    fn what_is_no_histogram_says_why() {
        assert_eq!(buckets(&[]).sort(), Err("a bucket `+Inf`"));
        assert_eq!(buckets(&[(1.0, 1.0)]).sort(), Err("a bucket `+Inf`"));
        assert_eq!(buckets(&[(INF, 1.0), (INF, 1.0)]).sort(), Err("each upper bound once"));
        assert_eq!(buckets(&[(INF, f64::NAN)]).sort(), Err("finite counts of 0 or more"));
        assert_eq!(buckets(&[(INF, -1.0)]).sort(), Err("finite counts of 0 or more"));
        assert_eq!(buckets(&[(1.0, 1.0); N_BUCKETS_MAX + 1]).sort(), Err("512 buckets at most"));
    }

    #[track_caller]
    fn check_since(last: &[(f64, f64)], now: &[(f64, f64)], expected: Option<&[(f64, f64)]>) {
        let when = |at_s| When { at: Duration::from_secs(at_s), at_s: None, created_s: None };
        let grown = buckets(now).since(&buckets(last), when(2), when(1));
        assert_eq!(grown.map(|grown| grown.rows), expected.map(|rows| buckets(rows).rows));
    }

    #[test]
    fn growth_is_bucket_by_bucket() {
        check_since(&[(1.0, 1.0), (INF, 2.0)], &[(1.0, 4.0), (INF, 9.0)], Some(&[(1.0, 3.0), (INF, 7.0)]));
    }

    #[test]
    fn a_histogram_of_which_one_bucket_went_back_has_counted_from_zero() {
        check_since(&[(1.0, 1.0), (INF, 5.0)], &[(1.0, 2.0), (INF, 4.0)], Some(&[(1.0, 2.0), (INF, 4.0)]));
    }

    #[test]
    fn other_buckets_cannot_be_compared() {
        check_since(&[(1.0, 1.0), (INF, 5.0)], &[(2.0, 2.0), (INF, 6.0)], None);
        check_since(&[(1.0, 1.0), (INF, 5.0)], &[(INF, 6.0)], None);
    }
}
