//! Shares of a whole, written in percent.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number from 0 to 1. As text it is in percent: `0.1 %`, `25%`; a bare number is refused. As JSON it is text as
/// well.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ratio(f64);

/// Not a share.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{given}` is not a share: write percent from 0 to 100, as in 0.1% or 25%")]
pub struct RatioError {
    /// The value, as it was given.
    pub given: String,
}

impl Ratio {
    /// None of it.
    pub const ZERO: Self = Self(0.0);

    /// # Errors
    /// [`RatioError`] when it is not from 0 to 1.
    pub fn new(share: f64) -> Result<Self, RatioError> {
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err(RatioError { given: share.to_string() }) }
    }

    /// The number, from 0 to 1.
    #[must_use]
    pub fn share(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Ratio {
    /// Writes the share in percent, to nine decimals at most.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{:.9}", self.0 * 100.0);
        f.pad(&format!("{}%", percent.trim_end_matches('0').trim_end_matches('.')))
    }
}

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
        let wrong = || RatioError { given: text.to_owned() };
        percent.and_then(|percent| Self::new(percent / 100.0).ok()).ok_or_else(wrong)
    }
}

impl TryFrom<String> for Ratio {
    type Error = RatioError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Ratio> for String {
    fn from(ratio: Ratio) -> Self {
        ratio.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_percent_from_0_to_100() {
        assert_eq!("0.1 %".parse(), Ratio::new(0.001));
        assert_eq!(Ratio::new(0.25).unwrap().to_string(), "25%");
        assert_eq!(Ratio::ZERO.to_string(), "0%");
        for refused in ["0.1", "-1%", "101%", "NaN%", "%", ""] {
            assert!(refused.parse::<Ratio>().is_err(), "{refused} was taken");
        }
    }
}
