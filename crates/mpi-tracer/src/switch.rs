//! Whether the tracer works at all. What breaks turns it off for good, with one line for whoever looks.

use std::fmt::Display;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Whether something broke, or the program has ended as far as MPI is concerned.
pub(crate) fn is_off() -> bool {
    IS_OFF.load(Ordering::Relaxed)
}

/// Nothing is recorded by threads that have no ring yet.
pub(crate) fn turn_off() {
    IS_OFF.store(true, Ordering::Relaxed);
}

/// Turns the tracer off and says why, once.
pub(crate) fn give_up(why: &dyn Display) {
    if !IS_OFF.swap(true, Ordering::Relaxed) {
        complain(&format_args!("nothing more is recorded of this rank: {why}"));
    }
}

/// Says what is lost while the tracer goes on.
pub(crate) fn complain(what: &dyn Display) {
    // In one piece: other ranks write to the same place.
    let line = format!("foretop: {what}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Runs what may break. A panic must not unwind into the program.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).inspect_err(|_| give_up(&"the tracer panicked, see above")).ok()
}
