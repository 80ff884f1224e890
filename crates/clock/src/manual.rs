//! A clock for tests.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use units::Timestamp;

use crate::Clock;

/// A clock that stands still until somebody moves it.
#[derive(Debug)]
pub struct Manual(Mutex<(Duration, Timestamp)>);

impl Manual {
    /// Stands at this wall time.
    #[must_use]
    pub fn at(wall: Timestamp) -> Self {
        Self(Mutex::new((Duration::from_secs(1000), wall)))
    }

    /// Time passes for both clocks.
    pub fn pass(&self, span: Duration) {
        let mut time = self.time();
        *time = (time.0 + span, time.1 + span);
    }

    /// Somebody sets the wall clock, or the machine wakes from suspension.
    pub fn set_wall(&self, wall: Timestamp) {
        self.time().1 = wall;
    }

    fn time(&self) -> MutexGuard<'_, (Duration, Timestamp)> {
        // Two numbers are whole whatever became of the thread that held them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for Manual {
    fn monotonic(&self) -> Duration {
        self.time().0
    }

    fn wall(&self) -> Timestamp {
        self.time().1
    }
}
