//! One line through some sizes, which neither a wild size moves nor noise bends below zero.

use std::time::Duration;

use statistics::median;
use units::ByteCount;

use crate::cost::{NORMAL_MAD, Size};

/// Residuals beyond so many standard deviations count less and less: 95 % as good as least squares where all is normal
/// (Huber 1964).
const HUBER: f64 = 1.345;
/// Rounds of weighing; few fits need half of them.
const N_ROUNDS: usize = 25;
/// A change of times below this share ends the rounds.
const CONVERGED: f64 = 1e-6;
/// A line is taken to lie within this factor of a measured time where its own time would be a divisor: it may be 0 at
/// size 0.
const FACTOR_MAX: f64 = 8.0;
/// Distance below the line at which a time counts as lying at most, in logarithms: nearer than 1, where what the fit
/// aims at would reach 0.
const BELOW_MAX: f64 = 0.9;

/// The time of a message by its size: alpha + beta n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Cost of a message whatever its size; not negative.
    pub alpha_ns: f64,
    /// Cost of each byte; not negative.
    pub beta_ns_per_byte: f64,
}

/// A size as the sums take it.
struct Weighted {
    n: f64,
    span: f64,
    weight: f64,
}

impl Line {
    /// Returns the time of a message of this size, in nanoseconds, for sums and means.
    #[must_use]
    pub fn span_ns(self, size_bytes: u64) -> f64 {
        self.at(size_bytes as f64)
    }

    /// The same for a clock: rounded up to the next nanosecond, so that a message is never there before it was sent.
    #[must_use]
    pub fn span(self, size: ByteCount) -> Duration {
        // Beyond 584 years the cast saturates.
        Duration::from_nanos(self.span_ns(size.bytes()).ceil() as u64)
    }

    /// The line with the least relative errors, by Gauss and Newton's steps: each size counts by its scatter, and less
    /// where it is far off.
    pub(crate) fn fit(sizes: &[Size]) -> Self {
        let first: Vec<Weighted> = sizes
            .iter()
            .zip(smoothed(sizes))
            .map(|(size, divisor)| Weighted { n: size.n(), span: size.span, weight: (size.scatter * divisor).powi(-2) })
            .collect();
        let mut line = Self::least_squares(&first);
        for _ in 0..N_ROUNDS {
            let next = Self::least_squares(&line.aims(sizes));
            let is_same =
                sizes.iter().all(|size| (next.at(size.n()) - line.at(size.n())).abs() <= CONVERGED * size.span);
            line = next;
            if is_same {
                break;
            }
        }
        line
    }

    /// Returns the times that the next step fits: times at which a straight error is what the relative one is at the
    /// measured time. All are above 0, and with them the next line somewhere.
    fn aims(self, sizes: &[Size]) -> Vec<Weighted> {
        let off: Vec<f64> = sizes.iter().map(|size| (self.off(size) / size.scatter).abs()).collect();
        let unit = (NORMAL_MAD * median(&off).unwrap_or(0.0)).max(1.0);
        let share = |off: f64| if off > HUBER * unit { HUBER * unit / off } else { 1.0 };
        let aim = |(size, off): (&Size, &f64)| {
            let near = self.near(size);
            let span = near * (1.0 + self.off(size).max(-BELOW_MAX));
            Weighted { n: size.n(), span, weight: share(*off) * (size.scatter * near).powi(-2) }
        };
        sizes.iter().zip(&off).map(aim).collect()
    }

    /// Time of a message of `n` bytes.
    pub(crate) fn at(self, n: f64) -> f64 {
        self.alpha_ns + self.beta_ns_per_byte * n
    }

    /// Logarithm of the measured time by the line's: the relative error, alike upward and downward.
    pub(crate) fn off(self, size: &Size) -> f64 {
        (size.span / self.near(size)).ln()
    }

    /// The line's time, or, where that is a wild one, the nearest that is not.
    pub(crate) fn near(self, size: &Size) -> f64 {
        self.at(size.n()).clamp(size.span / FACTOR_MAX, size.span * FACTOR_MAX)
    }

    /// Standard deviation of the relative errors, as the median tells it.
    pub(crate) fn scatter(self, sizes: &[Size]) -> f64 {
        let off: Vec<f64> = sizes.iter().map(|size| self.off(size).abs()).collect();
        NORMAL_MAD * median(&off).unwrap_or(0.0)
    }

    /// Returns the number of the two parameters that are free, that is, not held at 0.
    pub(crate) fn n_free(self) -> usize {
        usize::from(self.alpha_ns > 0.0) + usize::from(self.beta_ns_per_byte > 0.0)
    }

    /// The least squares among lines with neither parameter below 0: of two parameters, either both are free, or one is
    /// 0.
    fn least_squares(sizes: &[Weighted]) -> Self {
        let sum = |term: fn(&Weighted) -> f64| sizes.iter().map(|size| size.weight * term(size)).sum::<f64>();
        let weight = sum(|_| 1.0);
        let (n, span) = (sum(|size| size.n) / weight, sum(|size| size.span) / weight);
        let about_means =
            |size: &Weighted| (size.weight * (size.n - n) * (size.span - span), size.weight * (size.n - n).powi(2));
        let (with, own) = sizes.iter().map(about_means).fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
        let beta = if own > 0.0 { with / own } else { 0.0 };
        let alpha = span - beta * n;
        if alpha >= 0.0 && beta >= 0.0 {
            return Self { alpha_ns: alpha, beta_ns_per_byte: beta };
        }
        let level = Self { alpha_ns: span, beta_ns_per_byte: 0.0 };
        let squares = sum(|size| size.n * size.n);
        if squares <= 0.0 {
            return level;
        }
        let through_origin = Self { alpha_ns: 0.0, beta_ns_per_byte: sum(|size| size.n * size.span) / squares };
        let error =
            |line: Self| sizes.iter().map(|size| size.weight * (size.span - line.at(size.n)).powi(2)).sum::<f64>();
        if error(through_origin) < error(level) { through_origin } else { level }
    }
}

/// Each size's time, or its neighbour's where it sticks out: a divisor to begin with that one wild size does not spoil.
fn smoothed(sizes: &[Size]) -> Vec<f64> {
    let spans: Vec<f64> = sizes.iter().map(|size| size.span).collect();
    let last = spans.len().saturating_sub(1);
    let around = |idx: usize| {
        let (before, own, after) = (spans[idx.saturating_sub(1)], spans[idx], spans[(idx + 1).min(last)]);
        before.max(own).min(after.max(before.min(own)))
    };
    (0..spans.len()).map(around).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(spans: &[(u64, f64)]) -> Vec<Size> {
        spans.iter().map(|&(bytes, span)| Size { bytes, span, scatter: 0.01 }).collect()
    }

    #[track_caller]
    fn check(spans: &[(u64, f64)], alpha: f64, beta: f64) {
        let line = Line::fit(&sizes(spans));
        let is_near = |found: f64, right: f64| (found - right).abs() <= 1e-6 * right.abs();
        assert!(is_near(line.alpha_ns, alpha) && is_near(line.beta_ns_per_byte, beta), "{line:?}");
    }

    #[test]
    fn a_line_is_found_over_all_orders_of_magnitude() {
        // Times that lie on a line are on it after the first step.
        check(
            &[(0, 500.0), (1, 500.25), (1 << 10, 756.0), (1 << 20, 262_644.0), (1 << 30, 268_435_956.0)],
            500.0,
            0.25,
        );
    }

    #[test]
    fn times_that_fall_have_no_negative_beta() {
        // Of relative errors upward and downward alike: the geometric mean.
        check(&[(0, 103.0), (1, 102.0), (2, 101.0), (3, 100.0)], (103.0_f64 * 102.0 * 101.0 * 100.0).powf(0.25), 0.0);
    }

    #[test]
    fn a_line_below_zero_at_size_zero_goes_through_it() {
        let line = Line::fit(&sizes(&[(100, 90.0), (200, 195.0), (300, 300.0), (400, 405.0)]));
        assert_eq!(line.alpha_ns, 0.0, "{line:?}");
        assert!((0.95..0.99).contains(&line.beta_ns_per_byte), "{line:?}");
    }

    #[test]
    fn one_wild_size_hardly_moves_the_line() {
        let mut spans: Vec<(u64, f64)> = (1..=12).map(|n| (n * 100, 1_000.0 + 2.0 * (n * 100) as f64)).collect();
        for wild in [20.0, 0.05] {
            spans[5].1 *= wild;
            let line = Line::fit(&sizes(&spans));
            assert!(
                (line.alpha_ns / 1_000.0 - 1.0).abs() < 0.02 && (line.beta_ns_per_byte / 2.0 - 1.0).abs() < 0.02,
                "{wild}: {line:?}"
            );
            spans[5].1 /= wild;
        }
    }

    #[test]
    fn a_message_is_never_there_before_it_was_sent() {
        let line = Line { alpha_ns: 500.0, beta_ns_per_byte: 0.25 };
        let spans = [0, 1, 4, 5].map(|bytes| line.span(ByteCount::new(bytes)).as_nanos());
        assert_eq!(spans, [500, 501, 501, 502]);
        assert_eq!(line.span_ns(1), 500.25);
    }

    #[test]
    fn the_only_size_has_a_level() {
        check(&[(0, 7.0)], 7.0, 0.0);
        check(&[(5, 7.0), (5, 7.0)], 7.0, 0.0);
    }
}
