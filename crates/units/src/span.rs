//! Lengths of time as people write them: `30s`, `5min`, `1h 30min`, `20ms`.
//!
//! A bare number is refused: it has no unit. In memory a length of time is a [`Duration`].

use std::time::Duration;

/// A text that is no length of time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{given}` is not a length of time: write a number and a unit, as in 500ms, 30s, 5min, 2h or 7d")]
pub struct SpanError {
    /// The text, as it was given.
    pub given: String,
}

/// Reads `30s`, `5min`, `1h 30min`, `20ms`.
///
/// # Errors
/// [`SpanError`] when there is no unit, the unit is unknown, or the length does not fit.
pub fn parse(text: &str) -> Result<Duration, SpanError> {
    let trimmed = text.trim();
    let has_unit = trimmed.ends_with(|c: char| c.is_alphabetic());
    match humantime::parse_duration(trimmed) {
        Ok(span) if has_unit => Ok(span),
        _ => Err(SpanError { given: text.to_owned() }),
    }
}

/// Units from the largest to the smallest, with their nanoseconds. No months: they are of no known length.
const UNITS: [(&str, u128); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Writes what [`parse`] reads back to the same length: `1m 30s`, `35d 12h`.
#[must_use]
pub fn format(span: Duration) -> String {
    let mut rest = span.as_nanos();
    let part = |(name, nanos): (&str, u128)| {
        let n = rest / nanos;
        rest %= nanos;
        (n > 0).then(|| format!("{n}{name}"))
    };
    let parts: Vec<String> = UNITS.into_iter().filter_map(part).collect();
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

/// Returns the number of whole steps that fit into `span`.
///
/// # Panics
/// When `step` is zero.
#[must_use]
pub fn whole_steps(span: Duration, step: Duration) -> u64 {
    u64::try_from(span.as_nanos() / step.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the length of `n` steps; saturates at 584 years.
#[must_use]
pub fn times(step: Duration, n: u64) -> Duration {
    Duration::from_nanos(u64::try_from(step.as_nanos().saturating_mul(u128::from(n))).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_needs_a_unit() {
        for refused in ["30", "0", "", "s", "30 parsecs", "-5s", "1e30h", "99999999999999999999d"] {
            assert!(parse(refused).is_err(), "{refused} was taken");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for (nanos, text) in [
            (0, "0s"),
            (20_000_000, "20ms"),
            (90_000_000_000, "1m 30s"),
            (7 * 86_400_000_000_000, "7d"),
            (45 * 86_400_000_000_000 + 3_600_000_001_001, "45d 1h 1us 1ns"),
        ] {
            let span = Duration::from_nanos(nanos);
            assert_eq!((&*format(span), parse(text)), (text, Ok(span)));
        }
    }
}
