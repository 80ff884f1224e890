//! Links that were measured and published: `testdata/netmodel/published/README.md` says by whom, and what is wrong
//! with them.

use std::time::Duration;

use units::Bandwidth;

use crate::link::Constant;
use crate::trace::{Expected, Spread};

const PUBLISHED: &str = include_str!("../../../testdata/netmodel/published/links.csv");

/// One direction of a published link.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// `TABLE/FROM-TO`, as in `nws/benedict-clustis`.
    pub name: String,
    /// Means, one way; half of the two-way latency, rounded up.
    pub means: Constant,
    /// Means and standard deviations of one way, where deviations were published.
    pub expected: Option<Expected>,
}

/// There is none of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no profile `{given}`; those of `{table}` are {known}")]
pub struct UnknownProfile {
    /// The name as given.
    pub given: String,
    /// The text before the slash.
    pub table: String,
    /// The profiles with that text, or the tables.
    pub known: String,
}

impl Profile {
    /// All of them, in the order of their tables.
    #[must_use]
    pub fn all() -> Vec<Self> {
        // The file is part of the program, and a test reads all of it.
        PUBLISHED.lines().skip(1).filter_map(Self::of_line).collect()
    }

    /// The one of this name.
    ///
    /// # Errors
    /// [`UnknownProfile`] with those there are.
    pub fn named(name: &str) -> Result<Self, UnknownProfile> {
        let mut all = Self::all();
        if let Some(at) = all.iter().position(|profile| profile.name == name) {
            return Ok(all.swap_remove(at));
        }
        let table = name.split('/').next().unwrap_or_default();
        let of_table: Vec<&str> = all
            .iter()
            .map(|profile| profile.name.as_str())
            .filter(|known| known.split('/').next() == Some(table))
            .collect();
        let mut tables: Vec<&str> = all.iter().filter_map(|profile| profile.name.split('/').next()).collect();
        tables.dedup();
        let (table, known) = if of_table.is_empty() { ("TABLE/FROM-TO", tables) } else { (table, of_table) };
        Err(UnknownProfile { given: name.to_owned(), table: table.to_owned(), known: known.join(", ") })
    }

    fn of_line(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        let [table, from, to, two_way_ms, two_way_deviation_ms, rate_mbit, rate_deviation_mbit] = cells[..] else {
            return None;
        };
        let number = |cell: &str| cell.parse::<f64>().ok();
        let spread = |mean: &str, deviation: &str, unit: f64| {
            Some(Spread { mean: number(mean)? * unit, deviation: number(deviation)? * unit })
        };
        let two_way_ns = (number(two_way_ms)? * 1e6).round() as u64;
        let bandwidth = number(rate_mbit).and_then(|mbit| Bandwidth::new((mbit * 1e6).round() as u64));
        let expected = spread(two_way_ms, two_way_deviation_ms, 0.5e6)
            .map(|latency_ns| Expected { latency_ns, rate_bits_per_sec: spread(rate_mbit, rate_deviation_mbit, 1e6) });
        Some(Self {
            name: format!("{table}/{from}-{to}"),
            means: Constant { latency: Duration::from_nanos(two_way_ns.div_ceil(2)), bandwidth },
            expected,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_file_is_a_profile() {
        let all = Profile::all();
        assert_eq!(all.len(), PUBLISHED.lines().count() - 1);
        let count = |table: &str| all.iter().filter(|profile| profile.name.starts_with(table)).count();
        assert_eq!(
            ["nws/", "allreduce/", "eventspace/", "multi-cluster/", "thesis/", "varg/"].map(count),
            [20, 4, 20, 6, 6, 10]
        );
    }

    #[test]
    fn a_profile_has_half_of_the_published_latency() {
        let profile = Profile::named("eventspace/vvgw-roadrunner").unwrap();
        assert_eq!(
            profile.means,
            Constant { latency: Duration::from_micros(18_245), bandwidth: Bandwidth::new(4_750_000) }
        );
        assert_eq!(profile.expected.unwrap().latency_ns, Spread { mean: 18.245e6, deviation: 13.42e6 });
        assert_eq!(Profile::named("allreduce/benedict-psgw").unwrap().means.bandwidth, None);
    }

    #[test]
    fn whoever_names_a_profile_wrongly_is_told_what_there_is() {
        let told = Profile::named("thesis/tromso-oslo").unwrap_err().to_string();
        assert!(told.contains("`thesis`") && told.contains("thesis/tromso-odense"), "{told}");
        let told = Profile::named("x").unwrap_err().to_string();
        assert!(told.contains("TABLE/FROM-TO") && told.contains("nws, allreduce"), "{told}");
    }
}
