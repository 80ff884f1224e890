//! Schedule of samples and of their labels: a state machine that is given the time and reads no clock.
//!
//! Deadlines are one step apart on the monotonic clock. Labels are whole multiples of the step in wall time, and they
//! strictly increase, whatever is done to the wall clock:
//!
//! - A deadline that the thread slept through until after the next one is missed: its label gets no sample.
//! - The wall clock runs ahead of the labels by more than a step (somebody set it forward, or the machine was
//!   suspended): labels jump to the wall clock's grid, and deadlines with them. The labels between are a gap.
//! - The wall clock is set back: labels go on along the monotonic clock, ahead of the wall. To go back with it would
//!   give two samples the same label.

use std::time::Duration;

use units::Timestamp;
pub(crate) use units::span::{times, whole_steps};

/// A wall clock less than this behind the labels is not reported, unless the step is shorter still: the two clocks
/// are read one after the other and slewed against each other.
const BEHIND_MIN: Duration = Duration::from_secs(1);

/// The next deadline and the label of its sample.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    step: Duration,
    due: Duration,
    label: Timestamp,
}

/// The action at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Nothing for this long.
    Wait(Duration),
    /// Take a sample.
    Sample(Due),
}

/// A sample that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The wall time of the deadline.
    pub(crate) label: Timestamp,
    /// Deadlines since the last sample that passed without one.
    pub(crate) n_missed: u64,
    /// Labels since the last sample that the wall clock jumped over.
    pub(crate) n_jumped: u64,
    /// Time by which the wall clock is behind the label, after it was set back. Zero in ordinary life.
    pub(crate) behind: Duration,
}

impl Schedule {
    /// Begins at the next whole multiple of `step` in wall time, or after `last`, the label that was stored last, when
    /// that is later.
    pub(crate) fn start(step: Duration, monotonic: Duration, wall: Timestamp, last: Option<Timestamp>) -> Self {
        let floor = wall.floor_to(step);
        let first = if floor == wall { floor } else { floor + step };
        let after_last = last.map_or(first, |last| last.floor_to(step) + step);
        Self { step, due: monotonic + first.saturating_since(wall), label: first.max(after_last) }
    }

    /// The label of the next sample, if nothing comes between.
    pub(crate) fn next_label(&self) -> Timestamp {
        self.label
    }

    /// Returns the action at these readings of the two clocks. A sample is handed out once; take it before the next
    /// call.
    pub(crate) fn poll(&mut self, monotonic: Duration, wall: Timestamp) -> Wake {
        let Some(late) = monotonic.checked_sub(self.due) else {
            return Wake::Wait(self.due - monotonic);
        };
        let n_missed = whole_steps(late, self.step);
        let missed = times(self.step, n_missed);
        let (due, label) = (self.due + missed, self.label + missed);
        let wall_at_due = wall - (monotonic - due);
        if wall_at_due > label + self.step {
            return Wake::Sample(self.jump(monotonic, wall, label, n_missed));
        }
        (self.due, self.label) = (due + self.step, label + self.step);
        let behind = label.saturating_since(wall_at_due);
        let behind = if behind < BEHIND_MIN.min(self.step) { Duration::ZERO } else { behind };
        Wake::Sample(Due { label, n_missed, n_jumped: 0, behind })
    }

    /// The deadlines move too, so that they stay on whole multiples of the step in wall time.
    fn jump(&mut self, monotonic: Duration, wall: Timestamp, expected: Timestamp, n_missed: u64) -> Due {
        let label = wall.floor_to(self.step);
        self.label = label + self.step;
        self.due = monotonic + self.label.saturating_since(wall);
        let n_jumped = whole_steps(label.saturating_since(expected), self.step);
        Due { label, n_missed, n_jumped, behind: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests;
