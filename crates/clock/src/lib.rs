//! The time: the one crate that asks the system for it, or waits for it to pass.
//!
//! `clippy.toml` bans `Instant::now`, `SystemTime::now` and the sleeps elsewhere. Code that decides by time takes a
//! [`Clock`], which a test can move; code that only labels or times something calls [`now`], [`instant`] or a
//! [`Stopwatch`].
#![deny(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "this is the room that asks")]

mod backoff;
mod discipline;
mod manual;
mod stopwatch;
mod ticks;

use std::time::{Duration, Instant, SystemTime};

use units::Timestamp;

pub use backoff::Backoff;
pub use discipline::ClockDiscipline;
pub use manual::Manual;
pub use stopwatch::Stopwatch;
pub use ticks::{Reading, Ticks, monotonic_ns, thread_cpu};

/// Two clocks: one that is never set, and one that agrees with the world.
pub trait Clock: Send + Sync {
    /// Time since a fixed moment. It never goes back, and stands still while the machine is suspended.
    fn monotonic(&self) -> Duration;

    /// Wall time, which somebody may set at any moment.
    fn wall(&self) -> Timestamp;
}

/// The system's own clocks; monotonic time begins when this is made.
#[derive(Clone, Copy, Debug)]
pub struct System {
    origin: Instant,
}

impl System {
    /// Monotonic time is zero at this moment.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for System {
    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    fn wall(&self) -> Timestamp {
        now()
    }
}

/// The moment, by the clock that agrees with the world and that somebody may set.
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

/// The moment, by the clock that is never set: for deadlines and lengths of time.
#[must_use]
pub fn instant() -> Instant {
    Instant::now()
}

/// Lets this thread rest for `span` at least.
pub fn sleep(span: Duration) {
    std::thread::sleep(span);
}
