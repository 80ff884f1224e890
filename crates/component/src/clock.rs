//! The clock: the one place in this crate that asks what time it is.

use std::time::SystemTime;

use units::Timestamp;

/// The moment, by the clock that agrees with the world.
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}
