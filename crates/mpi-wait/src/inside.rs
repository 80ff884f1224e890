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
        // A value that is made and dropped would leave the call.
        (!IS_INSIDE.replace(true)).then(|| Self)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_inside_of_another_never_are_the_programs() {
        let outer = InsideCall::enter();
        assert!(outer.is_some() && InsideCall::enter().is_none() && InsideCall::enter().is_none());
        drop(outer);
        assert!(InsideCall::enter().is_some());
    }
}
