//! Calls that a thread is in: functions that the library calls inside of another are not the program's.

use std::cell::Cell;

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    static IS_FIRST: Cell<bool> = const { Cell::new(false) };
}

/// A call of the program.
pub(crate) struct InsideCall;

impl InsideCall {
    /// Returns `None` if the thread is in one already: MPICH's Fortran functions call those of C.
    pub(crate) fn enter() -> Option<Self> {
        (!IS_INSIDE.replace(true)).then_some(Self)
    }
}

impl Drop for InsideCall {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
    }
}

/// Marks this thread as the one that stands for its rank.
pub(crate) fn mark_first() {
    IS_FIRST.set(true);
}

/// Whether this thread stands for its rank: it called Init.
pub(crate) fn is_first() -> bool {
    IS_FIRST.get()
}
