//! Sizes of an application's messages: always the same, or drawn from a distribution.
//!
//! All ranks of an application draw the same table of sizes from the same seed, and cycle through it.

use std::fmt;
use std::str::FromStr;

use rand::distr::weighted::WeightedIndex;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};
use serde::{Deserialize, Serialize};
use units::ByteCount;

/// Sizes in a table: enough for the shape of a distribution, few enough to be at hand.
pub(crate) const N_DRAWN: usize = 1_024;
/// The widest logarithm of sizes: at 3, one in a hundred messages is a thousand times the median.
const SIGMA_MAX: f64 = 3.0;
/// MPI counts the elements of a message with 32 bits, one of them the sign.
pub(crate) const SIZE_BYTES_LIMIT: u64 = 1 << 31;

/// Sizes of messages. As text: `1MiB`, `uniform(1KiB..64KiB)`, `lognormal(64KiB, 1.0)` (median, and standard deviation
/// of the logarithm), `mix(1KiB: 3, 1MiB: 1)` (sizes with weights).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Sizes {
    /// Always this one.
    Fixed(ByteCount),
    /// Any whole number of bytes between these, ends included.
    Uniform(ByteCount, ByteCount),
    /// Logarithms are normal.
    LogNormal {
        /// Half are smaller.
        median: ByteCount,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// One of these, each as often as its weight says.
    Mix(Vec<(ByteCount, f64)>),
}

/// Reasons why a text gives no sizes that messages can have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SizesError {
    /// None of the forms.
    #[error(
        "`{given}` is not a size of messages: write 1MiB, uniform(1KiB..64KiB), lognormal(64KiB, 1.0) or mix(1KiB: 3, 1MiB: 1)"
    )]
    Form {
        /// The text as given.
        given: String,
    },
    /// A part out of its range.
    #[error("`{given}`: {wrong}")]
    Range {
        /// The text as given.
        given: String,
        /// The part that is out of its range, and the range.
        wrong: &'static str,
    },
    /// A message that MPI cannot count.
    #[error(
        "messages of {size} are too large: MPI counts the bytes of a message with 32 bits, so they must be below 2GiB; send several smaller ones"
    )]
    TooLarge {
        /// The largest.
        size: ByteCount,
    },
}

impl Sizes {
    /// The table of sizes, in bytes, that all ranks go through: one where it is always the same, else [`N_DRAWN`].
    ///
    /// # Errors
    /// [`SizesError::TooLarge`] when one of them is of [`SIZE_BYTES_LIMIT`] or more.
    pub fn draw(&self, seed: u64) -> Result<Vec<u64>, SizesError> {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let drawn: Vec<u64> = match self {
            Self::Fixed(size) => vec![size.bytes()],
            Self::Uniform(min, max) => (0..N_DRAWN).map(|_| chance.random_range(min.bytes()..=max.bytes())).collect(),
            Self::LogNormal { median, sigma } => {
                let distribution = LogNormal::new((median.bytes() as f64).ln(), *sigma).expect("sigma was checked");
                (0..N_DRAWN).map(|_| distribution.sample(&mut chance).round() as u64).collect()
            }
            Self::Mix(parts) => {
                let index = WeightedIndex::new(parts.iter().map(|part| part.1)).expect("weights were checked");
                (0..N_DRAWN).map(|_| parts[index.sample(&mut chance)].0.bytes()).collect()
            }
        };
        let largest = drawn.iter().copied().max().unwrap_or(0);
        if largest < SIZE_BYTES_LIMIT { Ok(drawn) } else { Err(SizesError::TooLarge { size: ByteCount::new(largest) }) }
    }

    fn checked(self, given: &str) -> Result<Self, SizesError> {
        let wrong = match &self {
            Self::Uniform(min, max) if min > max => Some("the first size is to be the smaller"),
            Self::LogNormal { median, .. } if median.bytes() == 0 => Some("the median is to be above 0B"),
            Self::LogNormal { sigma, .. } if !(0.0..=SIGMA_MAX).contains(sigma) => {
                Some("the standard deviation of the logarithm is to be from 0 to 3")
            }
            Self::Mix(parts)
                if parts.iter().any(|part| !(0.0..=1e9).contains(&part.1))
                    || parts.iter().all(|part| part.1 == 0.0) =>
            {
                Some("weights are to be from 0 to 1e9, and one of them above 0")
            }
            _ => None,
        };
        match wrong {
            Some(wrong) => Err(SizesError::Range { given: given.to_owned(), wrong }),
            None => Ok(self),
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => size.fmt(f),
            Self::Uniform(min, max) => write!(f, "uniform({min}..{max})"),
            Self::LogNormal { median, sigma } => write!(f, "lognormal({median}, {sigma:?})"),
            Self::Mix(parts) => {
                let parts: Vec<String> = parts.iter().map(|(size, weight)| format!("{size}: {weight}")).collect();
                write!(f, "mix({})", parts.join(", "))
            }
        }
    }
}

impl FromStr for Sizes {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sizes = form(text.trim()).ok_or_else(|| SizesError::Form { given: text.to_owned() })?;
        sizes.checked(text)
    }
}

fn form(text: &str) -> Option<Sizes> {
    if let Some((name, rest)) = text.split_once('(') {
        let inner = rest.strip_suffix(')')?;
        return match name.trim() {
            "uniform" => {
                let (min, max) = inner.split_once("..")?;
                Some(Sizes::Uniform(min.parse().ok()?, max.parse().ok()?))
            }
            "lognormal" => {
                let (median, sigma) = inner.split_once(',')?;
                Some(Sizes::LogNormal { median: median.parse().ok()?, sigma: sigma.trim().parse().ok()? })
            }
            "mix" => inner.split(',').map(weighted).collect::<Option<Vec<_>>>().map(Sizes::Mix),
            _ => None,
        };
    }
    text.parse().ok().map(Sizes::Fixed)
}

fn weighted(part: &str) -> Option<(ByteCount, f64)> {
    let (size, weight) = part.split_once(':')?;
    Some((size.parse().ok()?, weight.trim().parse().ok()?))
}

impl TryFrom<String> for Sizes {
    type Error = SizesError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> Self {
        sizes.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        for text in ["1MiB", "uniform(1KiB..64KiB)", "lognormal(64KiB, 1.0)", "mix(1KiB: 3, 1MiB: 0.5)", "0B"] {
            assert_eq!(text.parse::<Sizes>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_cannot_be_drawn_from_is_refused() {
        for refused in [
            "1048576",
            "uniform(64KiB..1KiB)",
            "uniform(1KiB, 64KiB)",
            "lognormal(0B, 1)",
            "lognormal(1KiB, -1)",
            "lognormal(1KiB, nan)",
            "lognormal(1KiB)",
            "mix()",
            "mix(1KiB)",
            "mix(1KiB: 0)",
            "mix(1KiB: -1, 2KiB: 3)",
            "normal(1KiB, 3)",
            "uniform(1KiB..2KiB",
            "",
        ] {
            assert!(refused.parse::<Sizes>().is_err(), "{refused} was taken");
        }
    }

    #[test]
    fn every_rank_draws_the_same_and_seeds_differ() {
        let sizes: Sizes = "lognormal(64KiB, 1.0)".parse().unwrap();
        assert_eq!(sizes.draw(5), sizes.draw(5));
        assert_ne!(sizes.draw(5), sizes.draw(6));
    }

    #[test]
    fn drawn_sizes_are_of_the_distribution() {
        let drawn = |text: &str| text.parse::<Sizes>().unwrap().draw(1).unwrap();
        assert_eq!(drawn("3B"), [3]);
        assert!(drawn("uniform(10B..12B)").iter().all(|size| (10..=12).contains(size)));
        let mut sorted = drawn("lognormal(64KiB, 1.0)");
        sorted.sort_unstable();
        // The median of 1,024 logarithms of deviation 1 is off by 1.25 / 32 = 0.04 on average; five times that is
        // allowed.
        assert!((sorted[N_DRAWN / 2] as f64 / 65_536.0).ln().abs() < 0.2);
        let n_small = drawn("mix(1B: 3, 5B: 1)").iter().filter(|&&size| size == 1).count();
        // 768 are expected, with a deviation of 14.
        assert!((698..838).contains(&n_small), "{n_small}");
    }

    #[test]
    fn two_gibibytes_are_more_than_mpi_counts() {
        let error = "2GiB".parse::<Sizes>().unwrap().draw(1).unwrap_err();
        assert!(error.to_string().starts_with("messages of 2GiB are too large"), "{error}");
        assert!("2147483647B".parse::<Sizes>().unwrap().draw(1).is_ok());
    }
}
