//! A moment as people type it: a time, or how long before now.

use std::str::FromStr;
use std::time::Duration;

use units::{Timestamp, span};

/// A moment as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    At(Timestamp),
    Before(Duration),
}

impl FromStr for Moment {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Seconds since 1970 may be negative as well, but have no unit.
        match text.strip_prefix('-').map(span::parse) {
            Some(Ok(span)) => Ok(Self::Before(span)),
            _ => Ok(Self::At(text.parse()?)),
        }
    }
}

impl Moment {
    /// The time that is meant when it is `now`.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Before(span) => now - span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_with_a_minus_is_before_now() {
        let now = Timestamp::from_nanos(600_000_000_000);
        assert_eq!("-10min".parse::<Moment>().unwrap().resolve(now), Timestamp::from_nanos(0));
        assert_eq!("-5".parse::<Moment>().unwrap(), Moment::At(Timestamp::from_nanos(-5_000_000_000)));
        assert!("10min".parse::<Moment>().is_err());
    }
}
