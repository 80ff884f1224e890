//! The clock: the one place in this crate that asks the system what time it is.

use std::time::{Duration, Instant, SystemTime};

use units::Timestamp;

/// Two clocks: one that is never set, and one that agrees with the world.
pub(crate) trait Clock: Send + Sync {
    /// Time since a fixed moment. It never goes back, and stands still while the machine is suspended.
    fn monotonic(&self) -> Duration;

    /// Wall time, which somebody may set at any moment.
    fn wall(&self) -> Timestamp;
}

/// The system's own clocks.
#[derive(Debug)]
pub(crate) struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    pub(crate) fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::from_system(SystemTime::now())
    }
}

/// A clock that stands still until a test moves it.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct ManualClock(std::sync::Mutex<(Duration, Timestamp)>);

#[cfg(test)]
impl ManualClock {
    pub(crate) fn at(wall: Timestamp) -> Self {
        Self(std::sync::Mutex::new((Duration::from_secs(1000), wall)))
    }

    /// Time passes for both clocks.
    pub(crate) fn pass(&self, span: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = (now.0 + span, now.1 + span);
    }

    /// Somebody sets the wall clock, or the machine wakes from suspension.
    pub(crate) fn set_wall(&self, wall: Timestamp) {
        self.0.lock().unwrap().1 = wall;
    }
}

#[cfg(test)]
impl Clock for ManualClock {
    fn monotonic(&self) -> Duration {
        self.0.lock().unwrap().0
    }

    fn wall(&self) -> Timestamp {
        self.0.lock().unwrap().1
    }
}
