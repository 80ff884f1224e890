//! When each sample of a replay is due.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use units::span;

/// The shortest step that a node takes: 100 Hz.
const STEP_MIN: Duration = Duration::from_millis(10);

/// The number of times faster than recorded: finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(f64);

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{given}` is not a speed; it must be a number above 0, such as 60 for a minute in a second")]
pub struct SpeedError {
    given: String,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PaceError {
    #[error(
        "speed {speed} means a sample every {}, but a node takes at most one every {}; the fastest for a step of {} is --speed {fastest}",
        span::format(*step), span::format(STEP_MIN), span::format(*trace_step)
    )]
    TooFast { speed: Speed, step: Duration, trace_step: Duration, fastest: u64 },
    #[error("at speed {speed} a step of {} takes longer than can be counted", span::format(*trace_step))]
    TooSlow { speed: Speed, trace_step: Duration },
}

/// A sample every `step`, the first at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    pub step: Duration,
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Speed {
    type Err = SpeedError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let speed = text.trim().parse().ok().filter(|speed: &f64| speed.is_finite() && *speed > 0.0);
        speed.map(Self).ok_or_else(|| SpeedError { given: text.to_owned() })
    }
}

impl Pace {
    /// # Errors
    /// When the samples would come faster than a node takes them, or never.
    pub fn new(trace_step: Duration, speed: Speed) -> Result<Self, PaceError> {
        let step = Duration::try_from_secs_f64(trace_step.as_secs_f64() / speed.0)
            .map_err(|_| PaceError::TooSlow { speed, trace_step })?;
        if step < STEP_MIN {
            let fastest = u64::try_from(trace_step.as_nanos() / STEP_MIN.as_nanos()).unwrap_or(u64::MAX);
            return Err(PaceError::TooFast { speed, step, trace_step, fastest });
        }
        Ok(Self { step })
    }

    /// When sample `idx` is due, counted from the start.
    pub fn deadline(self, idx: usize) -> Duration {
        let nanos = self.step.as_nanos().saturating_mul(idx as u128);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the number of samples that are due after `elapsed`.
    pub fn n_due(self, elapsed: Duration) -> usize {
        usize::try_from(elapsed.as_nanos() / self.step.as_nanos()).map_or(usize::MAX, |whole| whole.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(trace_step: Duration, speed: &str) -> Result<Pace, PaceError> {
        Pace::new(trace_step, speed.parse().unwrap())
    }

    #[test]
    fn deadlines_and_what_is_due_agree() {
        let pace = pace(Duration::from_secs(300), "900").unwrap();
        assert_eq!(pace.n_due(Duration::ZERO), 1);
        for idx in [1, 2, 3, 999_999] {
            assert_eq!(pace.n_due(pace.deadline(idx)), idx + 1);
            assert_eq!(pace.n_due(pace.deadline(idx) - Duration::from_nanos(1)), idx);
        }
    }

    #[test]
    fn too_fast_is_refused_with_the_fastest_there_is() {
        let error = pace(Duration::from_secs(1), "1000").unwrap_err();
        assert_eq!(
            error.to_string(),
            "speed 1000 means a sample every 1ms, but a node takes at most one every 10ms; \
             the fastest for a step of 1s is --speed 100"
        );
        assert!(pace(Duration::from_secs(1), "100").is_ok());
    }

    #[test]
    fn speeds_are_positive_numbers() {
        for refused in ["0", "-1", "inf", "NaN", "fast", "", "max"] {
            assert!(refused.parse::<Speed>().is_err(), "{refused} was taken");
        }
        assert!(matches!(pace(Duration::from_secs(1), "1e-300"), Err(PaceError::TooSlow { .. })));
    }
}
