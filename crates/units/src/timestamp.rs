//! A moment of wall time.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// A moment of wall time in nanoseconds since 1970-01-01 00:00 UTC; leap seconds do not exist.
///
/// Its text is RFC 3339 in UTC (`2026-11-21T09:00:00Z`); JSON carries that text. Sums and differences
/// saturate at the ends of what 64 bits hold, in the years 1677 and 2262.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

/// A text that is no moment of time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "`{given}` is not a time: write 2026-11-21T09:00:00Z, with an offset or without one for UTC, or seconds since 1970"
)]
pub struct TimestampError {
    /// The text, as it was given.
    pub given: String,
}

impl Timestamp {
    /// Builds a moment from nanoseconds since 1970-01-01 00:00 UTC.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Converts a moment of the system's wall time.
    #[must_use]
    pub fn from_system(time: std::time::SystemTime) -> Self {
        match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => Self(0) + after,
            Err(before) => Self(0) - before.duration(),
        }
    }

    /// Nanoseconds since 1970-01-01 00:00 UTC.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    pub(crate) fn to_jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_nanosecond(i128::from(self.0)).expect("64 bits of nanoseconds are in jiff's range")
    }

    /// Converts a moment, at most the last that there is.
    pub(crate) fn from_jiff(moment: jiff::Timestamp) -> Self {
        Self(i64::try_from(moment.as_nanosecond()).unwrap_or(i64::MAX))
    }

    /// Returns the time by which this is later than `earlier`; zero if it is not later.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        let nanos = i128::from(self.0) - i128::from(earlier.0);
        Duration::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }

    /// The latest whole multiple of `step` since 1970 that is not after this moment.
    ///
    /// # Panics
    /// When `step` is zero.
    #[must_use]
    pub fn floor_to(self, step: Duration) -> Self {
        Self(self.0 - self.0.rem_euclid(nanos_of(step)))
    }
}

/// Saturates at 2^63 - 1 ns, which is 292 years.
fn nanos_of(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos_of(span)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos_of(span)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_jiff().fmt(f)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// Reads RFC 3339 with any offset, the same without an offset or with a space for the `T` (both
    /// taken as UTC), a date alone, and plain seconds since 1970 with or without a fraction.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || TimestampError { given: text.to_owned() };
        let trimmed = text.trim();
        if let Some(nanos) = parse_epoch_seconds(trimmed) {
            return Ok(Self(nanos));
        }
        let moment = trimmed
            .parse::<jiff::Timestamp>()
            .or_else(|_| {
                trimmed
                    .parse::<DateTime>()
                    .and_then(|civil| civil.to_zoned(TimeZone::UTC))
                    .map(|zoned| zoned.timestamp())
            })
            .map_err(|_| refused())?;
        i64::try_from(moment.as_nanosecond()).map(Self).map_err(|_| refused())
    }
}

/// Digit by digit rather than through a float, which would lose nanoseconds.
fn parse_epoch_seconds(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let seconds: i64 = whole.parse().ok()?;
    let nanos: i64 = format!("{fraction:0<9}").parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?.checked_mul(sign)
}

impl TryFrom<String> for Timestamp {
    type Error = TimestampError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(moment: Timestamp) -> Self {
        moment.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_reads(text: &str, nanos: i64) {
        assert_eq!(text.parse::<Timestamp>().map(Timestamp::as_nanos), Ok(nanos), "{text}");
    }

    #[test]
    fn a_time_without_an_offset_is_utc() {
        check_reads("2014-02-14 14:30:00", 1_392_388_200_000_000_000);
        check_reads("2014-02-14T14:30:00Z", 1_392_388_200_000_000_000);
        check_reads("2014-02-14T15:30:00+01:00", 1_392_388_200_000_000_000);
        check_reads("1970-01-02", 86_400_000_000_000);
    }

    #[test]
    fn plain_numbers_are_seconds_to_the_nanosecond() {
        check_reads("1392388200", 1_392_388_200_000_000_000);
        check_reads("1392388200.000000001", 1_392_388_200_000_000_001);
        check_reads("-0.5", -500_000_000);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for refused in ["yesterday", "", "12:00", "1e9", "99999999999999999999", "2014-13-01", "9999-01-01"] {
            let error = refused.parse::<Timestamp>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{refused}`")), "{error}");
        }
    }

    #[test]
    fn text_round_trips() {
        for nanos in [0, -1, 1_792_388_200_123_456_789, i64::MAX, i64::MIN] {
            let moment = Timestamp::from_nanos(nanos);
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
    }

    #[test]
    fn floors_toward_the_past_also_before_1970() {
        let second = Duration::from_secs(1);
        assert_eq!(Timestamp::from_nanos(1_700_000_000).floor_to(second).as_nanos(), 1_000_000_000);
        assert_eq!(Timestamp::from_nanos(-1).floor_to(second).as_nanos(), -1_000_000_000);
    }
}
