//! A moment as people give it: absolute, or a length of time before now.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::{Timestamp, span};

/// A moment that may depend on what time it is: `2026-11-21T09:00:00Z`, or `-10min` for ten minutes ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The same whenever it is asked for.
    At(Timestamp),
    /// So long before now.
    BeforeNow(Duration),
}

/// A text that is no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is neither a moment (2026-11-21T09:00:00Z) nor a length of time before now (-10min)")]
pub struct MomentError {
    /// The text, as it was given.
    pub given: String,
}

impl Moment {
    /// The moment that is meant when it is `now`. Saturates at the ends of what a timestamp holds.
    #[must_use]
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(moment) => moment,
            Self::BeforeNow(length) => now - length,
        }
    }
}

impl FromStr for Moment {
    type Err = MomentError;

    /// Reads a minus sign and a length of time with its unit, or what [`Timestamp`] reads and does not begin with one:
    /// `-600` is refused, because who writes it means ten minutes more often than the year 1969.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = match text.trim().strip_prefix('-') {
            Some(length) => span::parse(length).ok().map(Self::BeforeNow),
            None => text.parse().ok().map(Self::At),
        };
        read.ok_or_else(|| MomentError { given: text.to_owned() })
    }
}

impl fmt::Display for Moment {
    /// Writes what reads back to the same moment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(moment) => moment.fmt(f),
            Self::BeforeNow(length) => write!(f, "-{}", span::format(*length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_absolute_or_before_now() {
        let now = Timestamp::from_nanos(600_000_000_000);
        let resolved = |text: &str| text.parse::<Moment>().map(|moment| moment.resolve(now).as_nanos());
        assert_eq!(resolved("-10min"), Ok(0));
        assert_eq!(resolved("1970-01-01T00:00:01Z"), Ok(1_000_000_000));
        assert_eq!(resolved("5"), Ok(5_000_000_000));
    }

    #[test]
    fn a_length_needs_its_minus_sign_and_its_unit() {
        for refused in ["-600", "10min", "--5s", "soon", ""] {
            let error = refused.parse::<Moment>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{refused}`")), "{error}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for moment in [Moment::At(Timestamp::from_nanos(1_500_000_000)), Moment::BeforeNow(Duration::from_secs(90))] {
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
    }
}
