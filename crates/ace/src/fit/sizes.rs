//! Fit of a distribution to the sizes of messages.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, LogNormal};
use units::ByteCount;

use crate::sizes::Sizes;

/// Largest number of distinct sizes that are listed one by one.
const N_LISTED_MAX: usize = 8;
/// The farthest that a distribution may be off the sizes' own, as the largest difference of their shares (Kolmogorov).
const DISTANCE_MAX: f64 = 0.1;

/// A distribution, and how far it is off.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FittedSizes {
    pub(super) sizes: Sizes,
    /// Largest difference between the share of messages up to a size and the distribution's; 0 where all sizes are
    /// listed.
    pub(super) distance_ratio: f64,
    /// Distinct sizes among the messages.
    pub(super) n_distinct: usize,
}

/// Fits a distribution to messages counted by size; there is at least one.
pub(super) fn fit(counts: &BTreeMap<u64, u64>) -> FittedSizes {
    let n_distinct = counts.len();
    let exact = |sizes| FittedSizes { sizes, distance_ratio: 0.0, n_distinct };
    if n_distinct <= N_LISTED_MAX {
        let listed: Vec<_> = counts.iter().map(|(size, n)| (ByteCount::new(*size), *n as f64)).collect();
        return exact(match listed.as_slice() {
            [(size, _)] => Sizes::Fixed(*size),
            _ => Sizes::Mix(in_percent(listed)),
        });
    }
    let candidates = [uniform(counts), log_normal(counts)].into_iter().flatten();
    // The text is what the emulation reads, with limits of its own.
    let readable = candidates.filter(|(sizes, _)| sizes.to_string().parse::<Sizes>().is_ok());
    let best = readable.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, distance)| *distance <= DISTANCE_MAX);
    let (sizes, distance_ratio) = best.unwrap_or_else(|| octiles(counts));
    FittedSizes { sizes, distance_ratio, n_distinct }
}

/// Weights as people write them: percent, to a tenth; small ones as they are, since 0 would leave a size out.
fn in_percent(listed: Vec<(ByteCount, f64)>) -> Vec<(ByteCount, f64)> {
    let total: f64 = listed.iter().map(|(_, n)| n).sum();
    let percent = |n: f64| (1_000.0 * n / total).round().max(1.0) / 10.0;
    listed.into_iter().map(|(size, n)| (size, percent(n))).collect()
}

fn uniform(counts: &BTreeMap<u64, u64>) -> Option<(Sizes, f64)> {
    let (min, max) = (*counts.first_key_value()?.0, *counts.last_key_value()?.0);
    let width = (max - min) as f64 + 1.0;
    let distance = distance(counts, |size| ((size - min) as f64 + 1.0) / width);
    Some((Sizes::Uniform(ByteCount::new(min), ByteCount::new(max)), distance))
}

fn log_normal(counts: &BTreeMap<u64, u64>) -> Option<(Sizes, f64)> {
    if counts.contains_key(&0) {
        return None;
    }
    let n: f64 = counts.values().map(|n| *n as f64).sum();
    let mean = counts.iter().map(|(size, count)| *count as f64 * (*size as f64).ln()).sum::<f64>() / n;
    let squares: f64 = counts.iter().map(|(size, count)| *count as f64 * ((*size as f64).ln() - mean).powi(2)).sum();
    let sigma = (1_000.0 * (squares / n).sqrt()).round() / 1_000.0;
    let distribution = LogNormal::new(mean, sigma).ok()?;
    // Sizes are rounded to whole bytes when they are drawn.
    let distance = distance(counts, |size| distribution.cdf(size as f64 + 0.5));
    Some((Sizes::LogNormal { median: ByteCount::new(mean.exp().round() as u64), sigma }, distance))
}

/// The middles of the eight eighths of all messages, each as often.
fn octiles(counts: &BTreeMap<u64, u64>) -> (Sizes, f64) {
    let n: u64 = counts.values().sum();
    let at = |share: f64| {
        let mut below = 0;
        let mut reached = counts.iter().find(|(_, count)| {
            below += **count;
            below as f64 >= share * n as f64
        });
        reached.take().or(counts.last_key_value()).map_or(0, |(size, _)| *size)
    };
    let middles: Vec<u64> = (0..8).map(|eighth| at((f64::from(eighth) + 0.5) / 8.0)).collect();
    let distance = distance(counts, |size| middles.iter().filter(|middle| **middle <= size).count() as f64 / 8.0);
    let mut parts: Vec<(ByteCount, f64)> = Vec::new();
    for middle in middles.into_iter().map(ByteCount::new) {
        match parts.last_mut() {
            Some((size, weight)) if *size == middle => *weight += 1.0,
            _ => parts.push((middle, 1.0)),
        }
    }
    (Sizes::Mix(parts), distance)
}

/// The largest difference between the messages' shares up to a size and those of `cdf`, at the sizes that there are.
fn distance(counts: &BTreeMap<u64, u64>, cdf: impl Fn(u64) -> f64) -> f64 {
    let n = counts.values().sum::<u64>() as f64;
    let mut below = 0.0;
    let mut largest: f64 = 0.0;
    for (size, count) in counts {
        below += *count as f64 / n;
        largest = largest.max((below - cdf(*size)).abs());
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(sizes: impl IntoIterator<Item = u64>) -> FittedSizes {
        let mut counts = BTreeMap::new();
        for size in sizes {
            *counts.entry(size).or_insert(0) += 1;
        }
        fit(&counts)
    }

    #[test]
    fn one_size_is_fixed_and_a_few_are_a_mix() {
        assert_eq!(fitted([4_096; 7]).sizes.to_string(), "4KiB");
        assert_eq!(fitted([8, 8, 8, 1 << 20]).sizes.to_string(), "mix(8B: 75, 1MiB: 25)");
    }

    #[test]
    fn drawn_sizes_come_back_as_what_they_were_drawn_from() {
        for text in ["uniform(1KiB..64KiB)", "lognormal(64KiB, 1.0)"] {
            let drawn = text.parse::<Sizes>().unwrap().draw(3).unwrap();
            let found = fitted(drawn);
            match (&found.sizes, text.split('(').next()) {
                (Sizes::Uniform(min, max), Some("uniform")) => {
                    assert!(
                        (1_024..1_400).contains(&min.bytes()) && (65_000..=65_536).contains(&max.bytes()),
                        "{found:?}"
                    );
                }
                (Sizes::LogNormal { median, sigma }, Some("lognormal")) => {
                    // 1,024 draws: the logarithms' mean is off by 0.03, their deviation by 0.02.
                    assert!(
                        (median.bytes() as f64 / 65_536.0).ln().abs() < 0.1 && (sigma - 1.0).abs() < 0.08,
                        "{found:?}"
                    );
                }
                _ => panic!("{text} came back as {found:?}"),
            }
            assert!(found.distance_ratio < 0.06, "{found:?}");
        }
    }

    #[test]
    fn sizes_of_no_known_distribution_are_a_mix_of_eight() {
        let found = fitted((0..500).map(|n| n + 1).chain((0..500).map(|n| 1_000_000 + n)));
        assert!(matches!(&found.sizes, Sizes::Mix(parts) if parts.len() == 8), "{found:?}");
        assert!(found.distance_ratio <= 0.07, "{found:?}");
    }

    #[test]
    fn every_fit_can_be_read_by_the_emulation() {
        for sizes in [
            vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            (0..64).map(|power| 1 << power).collect(),
            vec![u64::MAX, 0],
            vec![u64::MAX; 3],
        ] {
            let found = fitted(sizes);
            assert!(found.sizes.to_string().parse::<Sizes>().is_ok(), "{found:?}");
        }
    }
}
