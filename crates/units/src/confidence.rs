//! The probability with which an interval is meant to hold the value to come.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A probability strictly between 0 and 1: 0.95 for a 95 % prediction interval.
///
/// 0 and 1 are refused, because their intervals are a point and the whole line.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(f64);

/// A number that is no confidence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("confidence {given} is not strictly between 0 and 1 (0.95 asks for a 95 % interval)")]
pub struct ConfidenceError {
    /// The value, as it was given.
    pub given: String,
}

impl Confidence {
    /// Fifty percent: as often inside as out.
    pub const P50: Self = Self(0.5);
    /// Eighty percent.
    pub const P80: Self = Self(0.8);
    /// Ninety-five percent, the default wherever none is asked for.
    pub const P95: Self = Self(0.95);

    /// # Errors
    /// [`ConfidenceError`] when `probability` is not in the open interval (0, 1), or is not a number.
    pub fn new(probability: f64) -> Result<Self, ConfidenceError> {
        if probability > 0.0 && probability < 1.0 {
            Ok(Self(probability))
        } else {
            Err(ConfidenceError { given: probability.to_string() })
        }
    }

    /// The probability, in (0, 1).
    #[must_use]
    pub fn probability(self) -> f64 {
        self.0
    }
}

impl Default for Confidence {
    fn default() -> Self {
        Self::P95
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Confidence {
    type Err = ConfidenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.trim()
            .parse()
            .ok()
            .and_then(|probability| Self::new(probability).ok())
            .ok_or_else(|| ConfidenceError { given: text.to_owned() })
    }
}

impl TryFrom<f64> for Confidence {
    type Error = ConfidenceError;

    fn try_from(probability: f64) -> Result<Self, Self::Error> {
        Self::new(probability)
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> Self {
        confidence.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certainty_is_no_confidence() {
        for refused in ["1", "0", "-0.5", "95", "nan", "inf", "", "95%"] {
            assert!(refused.parse::<Confidence>().is_err(), "{refused} was taken");
        }
    }

    #[test]
    fn the_error_names_what_was_given() {
        let error = "95".parse::<Confidence>().unwrap_err();
        assert_eq!(error.to_string(), "confidence 95 is not strictly between 0 and 1 (0.95 asks for a 95 % interval)");
    }

    #[test]
    fn text_round_trips() {
        let confidence: Confidence = "0.80".parse().unwrap();
        assert_eq!(confidence.to_string().parse::<Confidence>().unwrap(), confidence);
    }
}
