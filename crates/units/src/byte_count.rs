//! Amounts of data: whole bytes, written as people write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes. As text it has a unit: `64B`, `1KiB` (1,024 bytes), `100kB` (100,000 bytes), `1.5MiB`.
///
/// A bare number is refused, and so is a fraction that does not come to whole bytes. As JSON it is text as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteCount(u64);

/// A text that is no amount of data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{given}` is not an amount of data: write a number and a unit, as in 64B, 1KiB, 100kB, 1.5MiB or 2GB")]
pub struct ByteCountError {
    /// The text, as it was given.
    pub given: String,
}

/// Units from the largest to the smallest.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];

impl ByteCount {
    /// So many bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ByteCount {
    /// Writes the amount in the unit that needs the fewest digits, without loss: `1MiB`, `1500B`, `100kB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS.iter().filter(|(_, unit)| self.0.is_multiple_of(*unit) && (self.0 > 0 || *unit == 1));
        let (name, unit) = whole.min_by_key(|(_, unit)| self.0 / unit).unwrap_or(&("B", 1));
        f.pad(&format!("{}{name}", self.0 / unit))
    }
}

impl FromStr for ByteCount {
    type Err = ByteCountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let given = text.trim();
        let digits_end = given.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(given.len());
        let (number, unit) = given.split_at(digits_end);
        let bytes = unit_named(unit.trim_start()).and_then(|unit| whole_product(number, unit));
        bytes.map(Self).ok_or_else(|| ByteCountError { given: text.to_owned() })
    }
}

fn unit_named(name: &str) -> Option<u64> {
    // People write KB for kB; nothing else could be meant.
    let name = if name == "KB" { "kB" } else { name };
    UNITS.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
}

/// `number`, digits with at most one point among them, times `unit`, where that is a whole number that fits.
pub(crate) fn whole_product(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || number.ends_with('.') || fraction.contains('.') {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let parts = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled: u128 = format!("{whole}{fraction}").parse().ok()?;
    let product = scaled.checked_mul(u128::from(unit))?;
    if product.is_multiple_of(parts) { u64::try_from(product / parts).ok() } else { None }
}

impl TryFrom<String> for ByteCount {
    type Error = ByteCountError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ByteCount> for String {
    fn from(amount: ByteCount) -> Self {
        amount.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, bytes: u64) {
        assert_eq!(text.parse(), Ok(ByteCount(bytes)), "{text}");
    }

    #[test]
    fn units_are_read_as_people_write_them() {
        check("0B", 0);
        check("64B", 64);
        check(" 1 KiB ", 1024);
        check("1MiB", 1 << 20);
        check("100kB", 100_000);
        check("100KB", 100_000);
        check("1.5MiB", 3 << 19);
        check("0.001kB", 1);
        check("2.50GB", 2_500_000_000);
    }

    #[test]
    fn an_amount_needs_a_unit_and_whole_bytes() {
        for refused in [
            "",
            "64",
            "0",
            "MiB",
            "1.5B",
            "-1B",
            "1e3B",
            "1mb",
            "1 Mbit",
            "1..5kB",
            ".5kB",
            "5.kB",
            "99999999TiB",
            "1.1.1kB",
        ] {
            assert!(refused.parse::<ByteCount>().is_err(), "{refused} was taken");
        }
    }

    #[test]
    fn text_is_the_shortest_that_is_exact() {
        for (bytes, text) in [
            (0, "0B"),
            (1, "1B"),
            (1000, "1kB"),
            (1024, "1KiB"),
            (1500, "1500B"),
            (1 << 31, "2GiB"),
            (u64::MAX, "18446744073709551615B"),
        ] {
            assert_eq!(ByteCount(bytes).to_string(), text);
            check(text, bytes);
        }
    }
}
