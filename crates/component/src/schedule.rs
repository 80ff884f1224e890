//! Numbers of steps: which step of a series a tick is for.

use std::time::{Duration, Instant};

/// Numbers the steps: by the clock where one whose moment has passed is lost, and in a row where values are made.
#[derive(Debug)]
pub(crate) struct Schedule {
    origin: Instant,
    began: Option<Instant>,
    first: u64,
    next: u64,
    is_skipping: bool,
}

impl Schedule {
    pub(crate) fn new(is_skipping: bool) -> Self {
        Self { origin: clock::instant(), began: None, first: 0, next: 0, is_skipping }
    }

    pub(crate) fn is_skipping(&self) -> bool {
        self.is_skipping
    }

    /// Returns the time since the schedule was made.
    pub(crate) fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Returns the number of steps so far, missed steps included.
    pub(crate) fn n_begun(&self) -> u64 {
        self.next
    }

    /// Returns the number of the step that is due, and how many before it were missed; `None` if it was taken already.
    pub(crate) fn due(&mut self, step: Duration) -> Option<(u64, u64)> {
        let now = clock::instant();
        self.due_at(now, step)
    }

    fn due_at(&mut self, now: Instant, step: Duration) -> Option<(u64, u64)> {
        let number = if self.is_skipping {
            let began = *self.began.get_or_insert(now);
            // A tick may be a little early, and is late as a rule: it is for the step that it is nearest to.
            let n_steps = (now - began + step / 2).as_nanos() / step.as_nanos().max(1);
            self.first.saturating_add(u64::try_from(n_steps).unwrap_or(u64::MAX))
        } else {
            self.next
        };
        let n_missed = number.checked_sub(self.next)?;
        self.next = number + 1;
        Some((number, n_missed))
    }

    /// Counts on from here, at another step.
    pub(crate) fn begin_again(&mut self) {
        (self.began, self.first) = (None, self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(100);

    #[test]
    fn what_was_missed_is_a_gap_and_no_step_is_taken_twice() {
        let mut schedule = Schedule::new(true);
        let start = clock::instant();
        let mut at = |millis| schedule.due_at(start + Duration::from_millis(millis), STEP);
        assert_eq!([at(0), at(103), at(120), at(199)], [Some((0, 0)), Some((1, 0)), None, Some((2, 0))]);
        assert_eq!([at(520), at(530), at(600)], [Some((5, 2)), None, Some((6, 0))]);
        schedule.begin_again();
        assert_eq!(schedule.due_at(start + Duration::from_secs(9), STEP), Some((7, 0)));
    }

    #[test]
    fn what_is_made_is_never_missed() {
        let mut schedule = Schedule::new(false);
        let start = clock::instant();
        for number in 0..5 {
            assert_eq!(schedule.due_at(start + STEP * 10, Duration::ZERO), Some((number, 0)));
        }
    }
}
