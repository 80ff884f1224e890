//! Rates of data: whole bits per second, written as people write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ByteCount;

/// Bits per second, never 0. As text it has a unit: `100 Mbit/s`, `1Gbit/s`, `3.19 Mbit/s`.
///
/// A bare number is refused, and so are bytes per second (`MB/s`), since people mean either by `MB`. As JSON it is
/// text as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bandwidth(u64);

/// A text that is no rate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{given}` is not a bandwidth: write a number above 0 and a unit, as in 56kbit/s, 100Mbit/s or 1Gbit/s")]
pub struct BandwidthError {
    /// The text, as it was given.
    pub given: String,
}

/// Units from the largest to the smallest.
const UNITS: [(&str, u64); 4] = [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];

impl Bandwidth {
    /// So many bits per second; `None` for 0, which never delivers.
    #[must_use]
    pub const fn new(bits_per_sec: u64) -> Option<Self> {
        if bits_per_sec == 0 { None } else { Some(Self(bits_per_sec)) }
    }

    /// Returns the number of bits per second.
    #[must_use]
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// Returns the time that it takes to put `amount` on the wire, latency left out: rounded up to the next
    /// nanosecond, so that a message never arrives before it was sent. Beyond 584 years it saturates.
    #[must_use]
    pub fn serialization_time(self, amount: ByteCount) -> Duration {
        let ns = (u128::from(amount.bytes()) * 8 * 1_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Bandwidth {
    /// Writes the rate in the largest unit that leaves at most three decimals, else in bits: `3.19Mbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suits = |(_, unit): &&(&str, u64)| self.0 >= *unit && self.0.is_multiple_of((unit / 1_000).max(1));
        let (name, unit) = UNITS.iter().find(suits).unwrap_or(&("bit/s", 1));
        let thousandths = self.0 % unit * 1_000 / unit;
        let fraction = format!(".{thousandths:03}");
        f.pad(&format!("{}{}{name}", self.0 / unit, fraction.trim_end_matches('0').trim_end_matches('.')))
    }
}

impl FromStr for Bandwidth {
    type Err = BandwidthError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let given = text.trim();
        let digits_end = given.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(given.len());
        let (number, name) = given.split_at(digits_end);
        let unit = UNITS.iter().find(|(known, _)| *known == name.trim_start()).map(|(_, unit)| *unit);
        let rate = unit.and_then(|unit| crate::byte_count::whole_product(number, unit)).and_then(Self::new);
        rate.ok_or_else(|| BandwidthError { given: text.to_owned() })
    }
}

impl TryFrom<String> for Bandwidth {
    type Error = BandwidthError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Bandwidth> for String {
    fn from(rate: Bandwidth) -> Self {
        rate.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, bits_per_sec: u64, shown: &str) {
        let rate: Bandwidth = text.parse().unwrap();
        assert_eq!((rate.bits_per_sec(), rate.to_string().as_str()), (bits_per_sec, shown));
        assert_eq!(shown.parse(), Ok(rate));
    }

    #[test]
    fn rates_are_read_as_people_write_them() {
        check("100 Mbit/s", 100_000_000, "100Mbit/s");
        check("3.19Mbit/s", 3_190_000, "3.19Mbit/s");
        check("1Gbit/s", 1_000_000_000, "1Gbit/s");
        check("1500 kbit/s", 1_500_000, "1.5Mbit/s");
        check("1bit/s", 1, "1bit/s");
        check("1000001bit/s", 1_000_001, "1000.001kbit/s");
    }

    #[test]
    fn a_rate_needs_a_unit_of_bits_and_is_not_0() {
        for refused in ["", "100", "0Mbit/s", "1MB/s", "1 Mbps", "-1Mbit/s", "0.5bit/s", "Mbit/s", "99999999999Gbit/s"]
        {
            assert!(refused.parse::<Bandwidth>().is_err(), "{refused} was taken");
        }
    }

    #[test]
    fn time_on_the_wire_is_rounded_up() {
        let rate = Bandwidth::new(3_000_000_000).unwrap();
        assert_eq!(rate.serialization_time(ByteCount::new(1)), Duration::from_nanos(3));
        assert_eq!(rate.serialization_time(ByteCount::new(3)), Duration::from_nanos(8));
        assert_eq!(rate.serialization_time(ByteCount::new(0)), Duration::ZERO);
    }
}
