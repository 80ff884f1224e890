//! Horizon as typed: steps, or a length of time.

use std::str::FromStr;
use std::time::Duration;

use series::Series;
use units::span;

/// The longest horizon, which is that of the HTTP interface, too.
const N_STEPS_MAX: usize = 100_000;

/// A horizon of at least one step; the number of steps in a length of time is known once the samples are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Horizon {
    Steps(usize),
    Span(Duration),
}

/// The reason why a text is no horizon.
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
    #[error(
        "a horizon of {n_steps} steps is too far; it ends after 2262-04-11, the last day of times that are known here"
    )]
    BeyondTimes { n_steps: usize },
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
    /// Returns the number of steps of the series; a started step counts.
    ///
    /// # Errors
    /// When a length of time meets samples without times, takes too many steps, or ends after the last moment that
    /// there is.
    pub fn steps(self, series: &Series) -> Result<usize, HorizonError> {
        let n_steps = match (self, series.grid()) {
            (Self::Steps(n_steps), _) => n_steps,
            (Self::Span(span), None) => return Err(HorizonError::NoTimes { given: span::format(span) }),
            (Self::Span(span), Some(grid)) => usize::try_from(grid.step.steps_within(span))
                .ok()
                .filter(|n_steps| *n_steps <= N_STEPS_MAX)
                .ok_or_else(|| HorizonError::TooFar { given: span::format(span) })?,
        };
        match series.grid() {
            Some(grid) if grid.time_of(series.samples().len() - 1 + n_steps).is_none() => {
                Err(HorizonError::BeyondTimes { n_steps })
            }
            _ => Ok(n_steps),
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
        let timed = [0, 300].map(|second| (Timestamp::from_nanos(second * 1_000_000_000), 1.0));
        let series = Series::from_timed(&timed).unwrap();
        assert_eq!(horizon.steps(&series), Ok(4));
        assert!(matches!(horizon.steps(&Series::untimed(vec![1.0])), Err(HorizonError::NoTimes { .. })));
        assert!(matches!(Horizon::Span(Duration::MAX).steps(&series), Err(HorizonError::TooFar { .. })));
    }

    #[test]
    fn forecasts_end_where_times_end() {
        let timed = ["2260-01-01", "2261-01-01"].map(|time| (time.parse().unwrap(), 1.0));
        let series = Series::from_timed(&timed).unwrap();
        assert_eq!(Horizon::Steps(1).steps(&series), Ok(1));
        assert_eq!(Horizon::Steps(2).steps(&series), Err(HorizonError::BeyondTimes { n_steps: 2 }));
    }
}
