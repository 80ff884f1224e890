//! Sampling variation of a figure of many times, from the summary of these times.
//!
//! The share of a distribution that lies below the k-th smallest of n independent times has a beta distribution, with k
//! and n + 1 - k, whatever the distribution is (David and Nagaraja 2003, section 2.3). Drawn from there and looked up
//! among the summary's quantiles, it is a bootstrap that needs none of the times themselves, and costs the same for a
//! million of them.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution};
use statistics::digest::Summary;
use statistics::{Interval, quantile_of_sorted, sorted};
use units::Confidence;

use super::Figure;

/// Tails are thin where many intervals share a confidence, so that there are more draws than elsewhere.
const N_DRAWS: usize = 20_000;
/// Quantiles are kept to a thousandth of themselves.
const RESOLUTION: f64 = 1e-3;

/// Returns the confidence interval of the ratio of the figure of `after` to that of `before`.
pub(super) fn ratio(before: &Summary, after: &Summary, figure: Figure, confidence: Confidence, seed: u64) -> Interval {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let (before, after) = (draws(before, figure, &mut chance), draws(after, figure, &mut chance));
    let ratios: Vec<f64> = before.iter().zip(&after).map(|(before, after)| after / before).collect();
    let ratios = sorted(&ratios);
    let tail = 0.5 - 0.5 * confidence.probability();
    let at = |share| quantile_of_sorted(&ratios, share).unwrap_or(f64::NAN);
    Interval { lower: at(tail) * (1.0 - RESOLUTION), upper: at(1.0 - tail) * (1.0 + RESOLUTION) }
}

fn draws(summary: &Summary, figure: Figure, chance: &mut ChaCha8Rng) -> Vec<f64> {
    let n = summary.count as f64;
    let k = (figure.share() * n).ceil().clamp(1.0, n);
    match Beta::new(k, n + 1.0 - k) {
        Ok(below) => (0..N_DRAWS).map(|_| quantile(summary, below.sample(chance))).collect(),
        // No times, of which there is no figure.
        Err(_) => vec![f64::NAN; N_DRAWS],
    }
}

/// The time below which the share `at` lies, by straight lines between the quantiles that there are.
fn quantile(summary: &Summary, at: f64) -> f64 {
    let known = [
        (0.0, summary.min_ns),
        (0.05, summary.p05_ns),
        (0.25, summary.p25_ns),
        (0.5, summary.median_ns),
        (0.75, summary.p75_ns),
        (0.95, summary.p95_ns),
        (0.99, summary.p99_ns),
        (1.0, summary.max_ns),
    ];
    let after = known.partition_point(|(share, _)| *share <= at).clamp(1, known.len() - 1);
    let ((low, from), (high, to)) = (known[after - 1], known[after]);
    from + (at - low) / (high - low) * (to - from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statistics::digest::Digest;

    fn summary(spans: impl IntoIterator<Item = u64>) -> Summary {
        let mut digest = Digest::default();
        spans.into_iter().for_each(|span| digest.record(span));
        digest.summary()
    }

    #[test]
    fn quantiles_lie_between_those_that_are_known() {
        let known = summary(1..=100_000);
        for at in [0.0, 0.01, 0.3, 0.5, 0.97, 1.0] {
            assert!((quantile(&known, at) - 1e5 * at).abs() < 200.0, "{at}: {}", quantile(&known, at));
        }
    }

    #[test]
    fn a_median_of_many_lies_more_closely_than_one_of_few() {
        let width = |n: u64| {
            let even = summary((0..n).map(|idx| 1_000_000 + idx * 1_000_000 / n));
            let interval = ratio(&even, &even, Figure::Median, Confidence::P95, 1);
            assert!(interval.contains(1.0), "{interval:?}");
            interval.upper - interval.lower
        };
        let (few, many) = (width(100), width(10_000));
        // Uniform from 1 to 2: the median of 100 is off by 0.05, that of 10,000 by 0.005, both by 1.5 and in both
        // results.
        assert!((0.15..0.22).contains(&few) && (0.015..0.025).contains(&many), "{few} and {many}");
    }
}
