//! Regions of record sizes, in each of which one law holds, and the elbows between them.
//!
//! On logarithmic axes the speed against the size is taken as straight pieces. Their number is the one with the least
//! Bayesian information criterion, so that noise does not make an elbow.

use statistics::{Line, pieces};

/// The relation of speed to size in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Each operation takes about the same time, whatever its size.
    PerOperation,
    /// Speed rises, less than the size.
    Rising,
    /// Speed is about the same.
    Flat,
    /// Speed falls.
    Falling,
}

impl Law {
    /// It in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::PerOperation => "each operation takes about the same time",
            Self::Rising => "speed rises with the size",
            Self::Flat => "speed is about the same",
            Self::Falling => "speed falls",
        }
    }
}

/// Sizes for which one law holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The smallest of them.
    pub from_bytes: u64,
    /// The largest of them.
    pub to_bytes: u64,
    /// The slope of the logarithm of speed against that of the size.
    pub slope: f64,
    /// The relation, by the slope.
    pub law: Law,
}

/// Fewer sizes make no region.
const SIZES_MIN: usize = 3;
const REGIONS_MAX: usize = 6;

/// Speeds of equal sizes differ by some percent anyway, and no fit is taken to be better than that.
const NOISE: f64 = 0.02;

/// The regions of speeds, in bytes a second, by ascending sizes. Nothing where there are fewer than three sizes.
#[must_use]
pub fn regions(speeds: &[(u64, f64)]) -> Vec<Region> {
    let points: Vec<(f64, f64)> =
        speeds.iter().map(|(size, speed)| ((*size as f64).ln(), speed.max(1.0).ln())).collect();
    let found = pieces(&points, REGIONS_MAX, SIZES_MIN, NOISE).into_iter();
    found.map(|piece| region(&speeds[piece.clone()], &points[piece])).collect()
}

fn region(speeds: &[(u64, f64)], points: &[(f64, f64)]) -> Region {
    let slope = Line::through(points.iter().copied()).map_or(0.0, |line| line.slope);
    let law = match slope {
        slope if slope > 0.85 => Law::PerOperation,
        slope if slope > 0.15 => Law::Rising,
        slope if slope > -0.15 => Law::Flat,
        _ => Law::Falling,
    };
    Region { from_bytes: speeds[0].0, to_bytes: speeds[speeds.len() - 1].0, slope, law }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Speeds of powers of two from 64 bytes, with a little of what looks like noise.
    fn speeds(speed: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
        let noise = |power: u32| 1.0 + 0.01 * f64::from(power * 7919 % 5) - 0.02;
        (6..=26).map(|power| (1 << power, speed(f64::from(1 << power)) * noise(power))).collect()
    }

    #[test]
    fn an_abrupt_elbow_is_found_where_it_is() {
        // As SESAME's disk: 19 ms for each operation below 64 KiB, then 2 MB/s.
        let found = regions(&speeds(|size| if size < 65536.0 { size / 0.019 } else { 2e6 }));
        let laws: Vec<_> = found.iter().map(|region| (region.law, region.from_bytes)).collect();
        assert_eq!(laws, [(Law::PerOperation, 64), (Law::Flat, 65536)]);
    }

    #[test]
    fn five_regions_of_the_report_are_told_apart() {
        let found = regions(&speeds(|size| match size {
            ..=1024.0 => size / 0.019,
            ..=4096.0 => size / 0.011,
            ..=32768.0 => 4096.0 / 0.011 * (size / 4096.0).powf(0.5),
            ..=1_048_576.0 => 2e6,
            _ => 2e6 * (size / 1_048_576.0).powf(-0.4),
        }));
        let laws: Vec<_> = found.iter().map(|region| region.law).collect();
        assert!(laws.ends_with(&[Law::Flat, Law::Falling]) && laws[0] == Law::PerOperation, "{found:?}");
        assert_eq!(found[found.len() - 2].from_bytes, 65536);
    }

    #[test]
    fn noise_makes_no_elbow() {
        assert_eq!(regions(&speeds(|_| 5e8)).len(), 1);
        assert!(regions(&[(1, 1.0), (2, 1.0)]).is_empty());
    }
}
