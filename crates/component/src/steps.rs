//! Steps of a series that are missing between two of its messages.

use std::time::Duration;

use units::Timestamp;

/// Longest gap; longer ones are taken to be as long: by then a stationary model has returned to its mean, and its error
/// to the whole variance.
const N_MISSED_MAX: u64 = 4096;

/// Position in a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    step: Duration,
    last: Option<(u64, Timestamp)>,
}

impl Steps {
    /// Starts a series whose steps are this far apart; zero if that is not known.
    pub(crate) fn new(step: Duration) -> Self {
        Self { step, last: None }
    }

    /// Goes on to a message, and returns how many steps before it are missing.
    ///
    /// A number that is not higher than the one before means that the sensor began again: then the times say how long
    /// it was away.
    pub(crate) fn to(&mut self, number: u64, time: Timestamp) -> usize {
        let Some((last_number, last_time)) = self.last.replace((number, time)) else {
            return 0;
        };
        let n_steps = match number.checked_sub(last_number) {
            Some(n_steps) if n_steps > 0 => n_steps,
            _ => self.within(time.saturating_since(last_time)),
        };
        usize::try_from(n_steps.saturating_sub(1).min(N_MISSED_MAX)).expect("the limit fits")
    }

    fn within(&self, span: Duration) -> u64 {
        match self.step.as_nanos() {
            0 => 1,
            step => u64::try_from((span.as_nanos() + step / 2) / step).unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_jump_of_the_number_is_a_gap() {
        let mut steps = Steps::new(Duration::from_secs(1));
        let missed: Vec<_> = [5, 6, 9, u64::MAX].iter().map(|number| steps.to(*number, at(0))).collect();
        assert_eq!(missed, [0, 0, 2, 4096]);
    }

    #[test]
    fn a_sensor_that_began_again_was_away_for_as_long_as_the_times_say() {
        let mut steps = Steps::new(Duration::from_secs(2));
        steps.to(70, at(100));
        assert_eq!(steps.to(0, at(110)), 4);
        assert_eq!(steps.to(0, at(90)), 0, "a clock that was set back says nothing");
        let mut unevenly = Steps::new(Duration::ZERO);
        unevenly.to(70, at(100));
        assert_eq!(unevenly.to(0, at(110)), 0);
    }
}
