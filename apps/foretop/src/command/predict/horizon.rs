//! How far ahead to look, as typed: steps, or a length of time.

use std::str::FromStr;
use std::time::Duration;

use series::Grid;
use units::span;

/// As far ahead as the HTTP interface goes, too.
const N_STEPS_MAX: usize = 100_000;

/// At least one step; how many a length of time is, is known once the samples are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Horizon {
    Steps(usize),
    Span(Duration),
}

/// Why this is no horizon.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HorizonError {
    #[error("a horizon of {given} is too short; it must be from 1 to {N_STEPS_MAX} steps")]
    Empty { given: String },
    #[error("a horizon of {given} is too far; it must be from 1 to {N_STEPS_MAX} steps")]
    TooFar { given: String },
    #[error("`{given}` is not a horizon: write a number of steps such as 30, or a length of time such as 5min")]
    Malformed { given: String },
    #[error("a horizon of {given} needs samples with times, and these have none; give a number of steps")]
    NoTimes { given: String },
}

impl FromStr for Horizon {
    type Err = HorizonError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let given = text.trim().to_owned();
        if !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit()) {
            return match given.parse() {
                Ok(0) => Err(HorizonError::Empty { given }),
                Ok(n_steps @ 1..=N_STEPS_MAX) => Ok(Self::Steps(n_steps)),
                _ => Err(HorizonError::TooFar { given }),
            };
        }
        match span::parse(&given) {
            Ok(span) if span.is_zero() => Err(HorizonError::Empty { given }),
            Ok(span) => Ok(Self::Span(span)),
            Err(_) => Err(HorizonError::Malformed { given }),
        }
    }
}

impl Horizon {
    /// In steps of the series; a started step counts.
    ///
    /// # Errors
    /// When a length of time meets samples without times, or takes too many steps.
    pub fn steps(self, grid: Option<Grid>) -> Result<usize, HorizonError> {
        let span = match self {
            Self::Steps(n_steps) => return Ok(n_steps),
            Self::Span(span) => span,
        };
        let given = span::format(span);
        let Some(grid) = grid else { return Err(HorizonError::NoTimes { given }) };
        match usize::try_from(series::steps_within(span, grid.step)) {
            Ok(n_steps) if n_steps <= N_STEPS_MAX => Ok(n_steps),
            _ => Err(HorizonError::TooFar { given }),
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::*;

    #[test]
    fn nothing_and_too_much_are_refused_by_name() {
        for refused in ["0", "0s", "1000000000", "1e9", "99999999999999999999999", "-1", "", "1.5", "soon"] {
            assert!(refused.parse::<Horizon>().is_err(), "{refused} was taken");
        }
        let error = "1000000000".parse::<Horizon>().unwrap_err();
        assert_eq!(error.to_string(), "a horizon of 1000000000 is too far; it must be from 1 to 100000 steps");
    }

    #[test]
    fn a_length_of_time_needs_a_step() {
        let horizon: Horizon = "16min".parse().unwrap();
        let grid = Grid { start: Timestamp::from_nanos(0), step: Duration::from_secs(300) };
        assert_eq!(horizon.steps(Some(grid)), Ok(4));
        assert!(matches!(horizon.steps(None), Err(HorizonError::NoTimes { .. })));
        assert!(matches!(Horizon::Span(Duration::MAX).steps(Some(grid)), Err(HorizonError::TooFar { .. })));
    }
}
