//! A whole number, or a range of them, as a template writes it: `600`, or `"300..1200"` with both ends.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// Whole numbers from `low` to `high`, both included; `low` is never above `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    low: usize,
    high: usize,
}

impl Lengths {
    /// `None` for a range that falls.
    #[must_use]
    pub fn new(low: usize, high: usize) -> Option<Self> {
        (low <= high).then_some(Self { low, high })
    }

    /// The least of them.
    #[must_use]
    pub fn low(self) -> usize {
        self.low
    }

    /// The greatest of them.
    #[must_use]
    pub fn high(self) -> usize {
        self.high
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.trim().parse().ok();
        match text.split_once("..") {
            Some((low, high)) => Self::new(number(low)?, number(high)?),
            None => number(text).and_then(|only| Self::new(only, only)),
        }
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.low == self.high { write!(f, "{}", self.low) } else { write!(f, "{}..{}", self.low, self.high) }
    }
}

impl<'de> Deserialize<'de> for Lengths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Lengths;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number such as 600, or a range such as \"300..1200\", the lower end first")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Lengths, E> {
        let number = usize::try_from(number).ok().and_then(|number| Lengths::new(number, number));
        number.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Other("negative number"), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Lengths, E> {
        Lengths::parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_range_of_one() {
        assert_eq!(Lengths::parse("600"), Lengths::new(600, 600));
        assert_eq!(Lengths::parse(" 300 .. 1200 "), Lengths::new(300, 1200));
        assert_eq!(Lengths::parse("300..1200").unwrap().to_string(), "300..1200");
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "..", "5..", "..5", "6..5", "-1..5", "1..2..3", "1.5"] {
            assert_eq!(Lengths::parse(text), None, "{text}");
        }
    }
}
