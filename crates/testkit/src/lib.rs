//! Common parts of the tests of several crates. Used by tests only, never by shipped code.
#![forbid(unsafe_code)]

pub mod launch;
pub mod mpi;
mod nats;
pub mod remote_write;

use std::time::Duration;

pub use nats::NatsServer;

/// Time that a test waits for something that is bound to happen, unless the test sets another.
///
/// Generous, because a shared machine can stall for many seconds; a passing test never waits it out.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Interval of checks by [`wait_until`]. Short enough not to be felt, long enough not to load the machine.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Returns the result of `condition` as soon as there is one.
///
/// # Panics
/// With `what` in the message, when `limit` has passed and the condition still gives nothing.
#[track_caller]
pub fn wait_until<T>(what: &str, limit: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = clock::instant();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < limit, "waited {limit:?} in vain until {what}");
        clock::sleep(LOOK_EVERY);
    }
}
