//! Words that processes wait on.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Waits while `word` is `value`; may return before that.
pub(crate) fn wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word outlives the call, which only reads it.
    unsafe {
        libc::syscall(libc::SYS_futex, ptr::from_ref(word), libc::FUTEX_WAIT, value, ptr::null::<libc::timespec>())
    };
}

/// Wakes one that waits.
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: the word outlives the call; nothing is written.
    unsafe { libc::syscall(libc::SYS_futex, ptr::from_ref(word), libc::FUTEX_WAKE, 1) };
}

/// Makes way by words in memory that all ranks share, one for each. For ranks that are processes or threads of their
/// own.
#[derive(Debug)]
pub struct Futexes {
    may_run: Box<[Padded]>,
}

/// A word on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Padded(AtomicU32);

impl Futexes {
    /// Builds the words of `n_ranks` ranks, none of which may run.
    #[must_use]
    pub fn new(n_ranks: u32) -> Self {
        Self { may_run: (0..n_ranks).map(|_| Padded::default()).collect() }
    }

    /// Waits for the right to run, as each rank does before it begins.
    pub fn wait(&self, me: units::Rank) {
        let word = &self.may_run[me as usize].0;
        while word.swap(0, Ordering::Acquire) == 0 {
            wait(word, 0);
        }
    }
}

impl super::Switch for Futexes {
    fn give_way(&self, me: units::Rank, next: Option<units::Rank>) {
        self.leave(me, next);
        self.wait(me);
    }

    fn wake(&self, rank: units::Rank) {
        let word = &self.may_run[rank as usize].0;
        word.store(1, Ordering::Release);
        wake(word);
    }

    fn leave(&self, _me: units::Rank, next: Option<units::Rank>) {
        if let Some(next) = next {
            self.wake(next);
        }
    }
}
