//! Laws of compute time, fitted for each call site over ranks and sizes.
//!
//! A law is a power of both: `span = coefficient * ranks^p * bytes^q`, a line in logarithms. A kernel that shares N
//! points among its ranks has p = -1; one whose work follows its messages has q = 1. Where all recordings have one
//! number of ranks, or one size, its power is 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use statistics::median;
use units::SimDuration;

use super::Times;

/// The laws of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Laws {
    /// Laws, sorted by the name of their site.
    pub law: Vec<Law>,
}

/// Law of the duration of the computation before the calls of one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// The place of the call.
    pub site: String,
    /// Time for one rank and one byte.
    pub coefficient_ns: f64,
    /// Power of the number of ranks.
    pub ranks_power: f64,
    /// Power of the message's bytes; messages of none count as one byte.
    pub bytes_power: f64,
    /// Median deviation of the medians from the law, relative to the law.
    pub scatter_ratio: f64,
    /// Numbers of ranks and sizes that it is fitted to.
    pub n_points: usize,
}

/// The reason why a file holds no laws.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {message}")]
pub struct LawsError {
    place: String,
    message: String,
}

/// All spans of a site at one number of ranks and one size are one point, their median.
type Points = BTreeMap<(u32, u64), Vec<f64>>;

impl Laws {
    /// Fits a law to each site of recordings, which may be of several numbers of ranks.
    #[must_use]
    pub fn fit(recordings: &[Times]) -> Self {
        let mut sites: BTreeMap<&str, Points> = BTreeMap::new();
        for times in recordings {
            for rank in 0..times.n_ranks() {
                for stretch in times.of_rank(rank) {
                    let points = sites.entry(&times.sites()[stretch.site as usize]).or_default();
                    let spans = points.entry((times.n_ranks(), stretch.size_bytes.max(1))).or_default();
                    // A logarithm needs something.
                    spans.push((stretch.span.as_nanos() as f64).max(1.0));
                }
            }
        }
        Self { law: sites.into_iter().map(|(site, points)| Law::fit(site, &points)).collect() }
    }

    /// Returns the duration of the computation before a call; none for a site without a law.
    #[must_use]
    pub fn span(&self, site: &str, n_ranks: u32, size_bytes: u64) -> Option<SimDuration> {
        let at = self.law.binary_search_by(|law| law.site.as_str().cmp(site)).ok()?;
        // Beyond 584 years the cast saturates.
        Some(SimDuration::from_nanos(self.law[at].span_ns(n_ranks, size_bytes.max(1)).round() as u64))
    }

    /// Reads a file of laws.
    ///
    /// # Errors
    /// [`LawsError`] with the place.
    pub fn read(text: &str) -> Result<Self, LawsError> {
        let read: Result<Self, toml::de::Error> = toml::from_str(text);
        let mut laws = read.map_err(|error| LawsError {
            place: error.to_string().lines().next().unwrap_or_default().replace("TOML parse error at ", ""),
            message: error.message().to_owned(),
        })?;
        laws.law.sort_by(|a, b| a.site.cmp(&b.site));
        Ok(laws)
    }

    /// Returns the laws as text that [`read`](Self::read) reads.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("text and numbers can be written as TOML")
    }
}

impl Law {
    fn span_ns(&self, n_ranks: u32, size_bytes: u64) -> f64 {
        self.coefficient_ns * f64::from(n_ranks).powf(self.ranks_power) * (size_bytes as f64).powf(self.bytes_power)
    }

    /// The plane of least squares through logarithms, each point as heavy as any other.
    fn fit(site: &str, points: &Points) -> Self {
        let rows: Vec<[f64; 3]> = points
            .iter()
            .filter_map(|((n_ranks, size_bytes), spans)| {
                Some([f64::from(*n_ranks).ln(), (*size_bytes as f64).ln(), median(spans)?.ln()])
            })
            .collect();
        let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
        let [x, y, z] = [mean(0), mean(1), mean(2)];
        let moment = |a: usize, b: usize| {
            let centre = [x, y, z];
            rows.iter().map(|row| (row[a] - centre[a]) * (row[b] - centre[b])).sum::<f64>()
        };
        let [xx, yy, xy, xz, yz] = [moment(0, 0), moment(1, 1), moment(0, 1), moment(0, 2), moment(1, 2)];
        let determinant = xx * yy - xy * xy;
        let (p, q) = if determinant > SINGULAR * xx * yy {
            ((xz * yy - yz * xy) / determinant, (yz * xx - xz * xy) / determinant)
        } else if xx > 0.0 {
            // Ranks and sizes go together, so that one of them has to stand for both.
            (xz / xx, 0.0)
        } else if yy > 0.0 {
            (0.0, yz / yy)
        } else {
            (0.0, 0.0)
        };
        let coefficient = (z - p * x - q * y).exp();
        let off: Vec<f64> =
            rows.iter().map(|row| (row[2] - coefficient.ln() - p * row[0] - q * row[1]).abs()).collect();
        Self {
            site: site.to_owned(),
            coefficient_ns: coefficient,
            ranks_power: p,
            bytes_power: q,
            scatter_ratio: median(&off).unwrap_or(0.0),
            n_points: rows.len(),
        }
    }
}

/// Threshold below which the rest of a determinant is rounding error.
const SINGULAR: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    fn times(n_ranks: u32, sizes: &[u64], span_ns: impl Fn(f64, f64) -> f64) -> Times {
        let mut times = Times::new(n_ranks);
        for rank in 0..n_ranks {
            for &size_bytes in sizes {
                let span = SimDuration::from_nanos(span_ns(f64::from(n_ranks), size_bytes as f64) as u64);
                times.record(rank, "a", size_bytes, span);
            }
        }
        times
    }

    #[test]
    fn a_law_of_ranks_and_sizes_is_found_again() {
        let law = |n: f64, bytes: f64| 4e9 / n * bytes.sqrt();
        let laws = Laws::fit(&[2, 4, 16].map(|n_ranks| times(n_ranks, &[100, 900, 10_000], law)));
        let [found] = &laws.law[..] else { panic!("{laws:?}") };
        assert!((found.ranks_power + 1.0).abs() < 1e-6 && (found.bytes_power - 0.5).abs() < 1e-6, "{found:?}");
        // One nanosecond of rounding.
        let span = laws.span("a", 4_096, 40_000).unwrap().as_nanos() as f64;
        assert!((span / law(4_096.0, 40_000.0) - 1.0).abs() < 1e-5, "{span}");
        assert_eq!(laws.span("b", 4, 4), None);
        assert_eq!(Laws::read(&laws.to_toml()).unwrap(), laws);
    }

    #[test]
    fn what_never_changed_has_no_power() {
        let alone = Laws::fit(&[times(4, &[64], |_, _| 500.0)]);
        assert_eq!((alone.law[0].ranks_power, alone.law[0].bytes_power), (0.0, 0.0));
        assert_eq!(alone.span("a", 1_000, 1 << 20), Some(SimDuration::from_nanos(500)));
        let sizes = Laws::fit(&[times(4, &[64, 128], |_, bytes| 10.0 * bytes)]);
        assert!(sizes.law[0].ranks_power == 0.0 && (sizes.law[0].bytes_power - 1.0).abs() < 1e-9, "{sizes:?}");
        // Weak scaling: the size is that of the ranks, and only one of them can be told.
        let weak = Laws::fit(&[times(2, &[200], |n, _| 100.0 / n), times(4, &[400], |n, _| 100.0 / n)]);
        assert!((weak.law[0].ranks_power + 1.0).abs() < 1e-6, "{weak:?}");
    }

    #[test]
    fn a_typo_is_told_with_its_place() {
        let told = Laws::read("[[law]]\nsite = \"a\"\ncoeficient_ns = 1.0\n").unwrap_err().to_string();
        assert!(told.starts_with("line 3, column 1") && told.contains("coeficient_ns"), "{told}");
    }
}
