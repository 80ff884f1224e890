//! Digest of the many times that a rank measures: a structure of fixed size, whatever the number of cycles.
//!
//! Quantiles are those of a histogram with 1/1,000 between its bounds (HdrHistogram), mean and deviation are of all
//! values (Welford 1962). Recording a value touches a few words, so that keeping count does not disturb what is
//! counted.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The longest time that is kept apart from longer ones: 18 minutes, in nanoseconds.
const HIGHEST_NS: u64 = 1 << 40;
/// The histogram's significant decimal digits.
const DIGITS: u8 = 3;
/// Those of a rough one: finer than the bars of a summary, in 2.4 KB rather than 130.
const DIGITS_ROUGH: u8 = 1;
/// Bars of a summary's histogram: wide enough to see modes, few enough to read.
pub const BARS_PER_OCTAVE: f64 = 4.0;

/// Times in nanoseconds, as many as come.
#[derive(Clone, Debug)]
pub struct Digest {
    histogram: Histogram<u32>,
    count: u64,
    mean: f64,
    squares: f64,
    min_ns: u64,
    max_ns: u64,
}

/// The summary of a [`Digest`]. Nanoseconds, all of them zero if nothing was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Times recorded.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Their standard deviation (with n - 1).
    pub deviation_ns: f64,
    /// The shortest.
    pub min_ns: f64,
    /// A twentieth is shorter.
    pub p05_ns: f64,
    /// A quarter is shorter.
    pub p25_ns: f64,
    /// Half are shorter.
    pub median_ns: f64,
    /// A quarter is longer.
    pub p75_ns: f64,
    /// A twentieth is longer.
    pub p95_ns: f64,
    /// One in a hundred is longer.
    pub p99_ns: f64,
    /// The longest.
    pub max_ns: f64,
    /// Lower bound and count of each bar that has any, four bars to a doubling.
    pub bars: Vec<(f64, u64)>,
}

impl Default for Digest {
    fn default() -> Self {
        Self::with_digits(DIGITS)
    }
}

impl Digest {
    /// One of many: its quantiles are right to a tenth of themselves; all else is as exact.
    #[must_use]
    pub fn rough() -> Self {
        Self::with_digits(DIGITS_ROUGH)
    }

    fn with_digits(digits: u8) -> Self {
        // The bounds are constants that the histogram takes.
        let histogram = Histogram::new_with_bounds(1, HIGHEST_NS, digits).expect("bounds of a histogram of times");
        Self { histogram, count: 0, mean: 0.0, squares: 0.0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Takes note of one time. Longer ones than 18 minutes count as that long in quantiles; minimum, maximum and mean
    /// are exact.
    pub fn record(&mut self, span_ns: u64) {
        self.histogram.saturating_record(span_ns);
        self.count += 1;
        let away = span_ns as f64 - self.mean;
        self.mean += away / self.count as f64;
        self.squares += away * (span_ns as f64 - self.mean);
        self.min_ns = self.min_ns.min(span_ns);
        self.max_ns = self.max_ns.max(span_ns);
    }

    /// Times recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time below which the share `at` of those recorded lies, to within a thousandth of itself (a tenth in a rough
    /// one); 0 where there are none.
    #[must_use]
    pub fn quantile_ns(&self, at: f64) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.histogram.value_at_quantile(at).clamp(self.min_ns, self.max_ns) as f64
    }

    /// Returns the number of recorded times that are longer, to within a thousandth of that time.
    #[must_use]
    pub fn count_above(&self, span_ns: u64) -> u64 {
        self.histogram.count_between(span_ns.saturating_add(1), HIGHEST_NS)
    }

    /// All that is told.
    #[must_use]
    pub fn summary(&self) -> Summary {
        if self.count == 0 {
            return Summary::default();
        }
        let freedom = self.count.saturating_sub(1).max(1) as f64;
        Summary {
            count: self.count,
            mean_ns: self.mean,
            deviation_ns: (self.squares / freedom).sqrt(),
            min_ns: self.min_ns as f64,
            p05_ns: self.quantile_ns(0.05),
            p25_ns: self.quantile_ns(0.25),
            median_ns: self.quantile_ns(0.5),
            p75_ns: self.quantile_ns(0.75),
            p95_ns: self.quantile_ns(0.95),
            p99_ns: self.quantile_ns(0.99),
            max_ns: self.max_ns as f64,
            bars: self.bars(),
        }
    }

    fn bars(&self) -> Vec<(f64, u64)> {
        let mut bars: Vec<(f64, u64)> = Vec::new();
        for step in self.histogram.iter_recorded() {
            let octave = ((step.value_iterated_to() as f64).log2() * BARS_PER_OCTAVE).floor() / BARS_PER_OCTAVE;
            let low = octave.exp2();
            match bars.last_mut() {
                Some(bar) if bar.0 == low => bar.1 += step.count_since_last_iteration(),
                _ => bars.push((low, step.count_since_last_iteration())),
            }
        }
        bars
    }
}

impl Summary {
    /// Standard deviation by mean, the dispersion that ACE tells anomalies by (section 2); 0 where the mean is.
    #[must_use]
    pub fn dispersion_ratio(&self) -> f64 {
        if self.mean_ns > 0.0 { self.deviation_ns / self.mean_ns } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spans: impl IntoIterator<Item = u64>) -> Summary {
        let mut digest = Digest::default();
        spans.into_iter().for_each(|span| digest.record(span));
        digest.summary()
    }

    #[test]
    fn nothing_is_all_zero() {
        assert_eq!(of([]), Summary::default());
    }

    #[test]
    fn quantiles_are_right_to_a_thousandth() {
        let summary = of(1..=100_000);
        assert_eq!((summary.count, summary.min_ns, summary.max_ns), (100_000, 1.0, 100_000.0));
        for (told, exact) in [(summary.median_ns, 50_000.0), (summary.p05_ns, 5_000.0), (summary.p99_ns, 99_000.0)] {
            assert!((told / exact - 1.0_f64).abs() < 1.5e-3, "{told} for {exact}");
        }
        // Of 1 to n: (n + 1) / 2, and the root of n (n + 1) / 12.
        assert!((summary.mean_ns - 50_000.5).abs() < 1e-6);
        assert!((summary.deviation_ns - (100_000.0_f64 * 100_001.0 / 12.0).sqrt()).abs() < 1e-3);
    }

    #[test]
    fn a_rough_one_has_quantiles_to_a_tenth_and_the_same_mean() {
        let mut rough = Digest::rough();
        (1..=100_000).for_each(|span| rough.record(span));
        let told = rough.summary();
        assert_eq!((told.mean_ns, told.max_ns), (of(1..=100_000).mean_ns, 100_000.0));
        assert!((told.median_ns / 50_000.0 - 1.0).abs() < 0.1, "{}", told.median_ns);
    }

    #[test]
    fn longer_ones_are_counted() {
        let mut digest = Digest::default();
        [10, 20, 30, 1 << 50].into_iter().for_each(|span| digest.record(span));
        assert_eq!([0, 10, 29, 30].map(|limit| digest.count_above(limit)), [4, 3, 2, 1]);
    }

    #[test]
    fn bars_count_every_value_once() {
        let summary = of([1, 1, 3, 1_000, 1_001, u64::MAX]);
        assert_eq!(summary.bars.iter().map(|bar| bar.1).sum::<u64>(), 6);
        assert!(summary.bars.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(summary.max_ns, u64::MAX as f64);
    }

    #[test]
    fn a_single_value_has_no_deviation() {
        assert_eq!(of([5]).deviation_ns, 0.0);
        assert_eq!(of([5]).median_ns, 5.0);
    }
}
