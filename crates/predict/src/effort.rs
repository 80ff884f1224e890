//! Limit on the work of a fit: whatever searches or loops for long counts its operations here, and ends early when the
//! operations are too many or the fit is cancelled.
//!
//! The count belongs to the thread, as a fit does, so that it need not be handed through every search; tokio counts
//! what a task may do in one turn in the same way. An operation is what it is in
//! [`Spec::fit_cost`](crate::Spec::fit_cost): the same fit counts the same everywhere, so where it ends does not depend
//! on how fast the machine is.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Cancels fits: all that were given a clone of it, at the next look that their searches take at it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// One that cancels nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels, for good.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether it did.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// The reason why work ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Spent,
    Cancelled,
}

#[derive(Clone, Debug)]
struct Effort {
    left: u64,
    cancel: Option<Cancel>,
    end: Option<End>,
}

thread_local! {
    static EFFORT: RefCell<Option<Effort>> = const { RefCell::new(None) };
}

/// Puts back what was there before, also when `work` panics.
struct Restore(Option<Effort>);

impl Drop for Restore {
    fn drop(&mut self) {
        EFFORT.set(self.0.take());
    }
}

/// Does `work` with so many operations at most. Within work that has fewer left or is cancelled, these are its limits
/// too.
///
/// # Errors
/// How it ended; then what `work` gave is worth nothing.
pub(crate) fn within<T>(limit: u64, cancel: Option<&Cancel>, work: impl FnOnce() -> T) -> Result<T, End> {
    let mut before = Restore(EFFORT.take());
    let outer_left = before.0.as_ref().map_or(u64::MAX, |outer| outer.left);
    let left = limit.min(outer_left);
    let cancel = cancel.or(before.0.as_ref().and_then(|outer| outer.cancel.as_ref())).cloned();
    EFFORT.set(Some(Effort { left, cancel, end: None }));
    let done = work();
    let inner = EFFORT.take();
    if let (Some(outer), Some(inner)) = (&mut before.0, &inner) {
        outer.left -= left - inner.left;
        // What ended for want of its own operations says nothing of those around it.
        outer.end = outer.end.or(inner.end.filter(|end| *end == End::Cancelled || left == outer_left));
    }
    match inner.and_then(|inner| inner.end) {
        None => Ok(done),
        Some(end) => Err(end),
    }
}

/// Counts so many operations that are about to be made, and says whether they may. Work that may not ends as soon as it
/// can, in whatever state.
#[must_use]
pub(crate) fn spend(n_operations: usize) -> bool {
    EFFORT.with_borrow_mut(|effort| {
        let Some(effort) = effort else { return true };
        if effort.end.is_none() {
            let left = effort.left.checked_sub(n_operations as u64);
            effort.left = left.unwrap_or(0);
            effort.end = match &effort.cancel {
                Some(cancel) if cancel.is_cancelled() => Some(End::Cancelled),
                _ if left.is_none() => Some(End::Spent),
                _ => None,
            };
        }
        effort.end.is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of steps of `n_operations` operations that were made, at most 100.
    fn steps(n_operations: usize) -> usize {
        (0..100).take_while(|_| spend(n_operations)).count()
    }

    #[test]
    fn work_ends_when_its_operations_are_spent_and_what_follows_has_no_limit() {
        assert_eq!(within(50, None, || steps(20)), Err(End::Spent));
        assert_eq!(within(2000, None, || steps(20)), Ok(100));
        assert_eq!(steps(20), 100);
    }

    #[test]
    fn inner_work_is_part_of_the_outer() {
        assert_eq!(within(50, None, || within(u64::MAX, None, || steps(20))), Err(End::Spent));
        let both = within(1000, None, || (within(30, None, || steps(20)), steps(20)));
        assert_eq!(both, Err(End::Spent), "30 and 100 times 20 are more than 1000");
        assert_eq!(within(2030, None, || within(30, None, || steps(20)).is_err() && steps(20) == 100), Ok(true));
    }

    #[test]
    fn cancelled_work_ends_at_its_next_look() {
        let cancel = Cancel::new();
        let work = || {
            let before = spend(1);
            cancel.cancel();
            (before, spend(1))
        };
        assert_eq!(within(u64::MAX, Some(&cancel), || within(9, None, work)), Err(End::Cancelled));
        assert!(spend(1));
    }
}
