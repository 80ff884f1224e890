//! Lengths of simulated time as a machine file has them: text with a unit, never negative.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::{SimDuration, span};

/// A length of simulated time whose text has a unit: `10ms`, `1us 500ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Length(pub SimDuration);

/// A text that is no length of simulated time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LengthError {
    /// A length below zero.
    #[error("`{given}` is negative: a message cannot arrive before it was sent; write 0s or more")]
    Negative {
        /// The length as given.
        given: String,
    },
    /// Not a number with a unit.
    #[error(transparent)]
    Span(#[from] span::SpanError),
}

impl TryFrom<String> for Length {
    type Error = LengthError;

    fn try_from(text: String) -> Result<Self, LengthError> {
        if text.trim_start().starts_with('-') {
            return Err(LengthError::Negative { given: text });
        }
        Ok(Self(span::parse(&text)?.into()))
    }
}

impl std::str::FromStr for Length {
    type Err = LengthError;

    fn from_str(text: &str) -> Result<Self, LengthError> {
        Self::try_from(text.to_owned())
    }
}

impl From<Length> for String {
    fn from(length: Length) -> Self {
        length.to_string()
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&span::format(Duration::from(self.0)))
    }
}
