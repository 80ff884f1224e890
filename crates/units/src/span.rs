//! Lengths of time as people write them: `30s`, `5min`, `1h 30min`, `20ms`.
//!
//! A bare number is refused: it has no unit. In memory a length of time is a [`Duration`].

use std::time::Duration;

/// A text that is no length of time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{given}` is not a length of time: write a number and a unit, as in 500ms, 30s, 5min, 2h or 7d")]
pub struct SpanError {
    /// What was given, as it was given.
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

/// Writes what [`parse`] reads back to the same length: `1m 30s`.
#[must_use]
pub fn format(span: Duration) -> String {
    humantime::format_duration(span).to_string()
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
        for span in [Duration::from_millis(20), Duration::from_secs(90), Duration::from_secs(7 * 86_400)] {
            assert_eq!(parse(&format(span)), Ok(span));
        }
    }
}
