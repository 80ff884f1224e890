//! The bell of a rank: a word on which the rank sleeps, and which others ring.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

use mpi_trace::ConcurrencyPage;
use rustix::thread::futex;
use rustix::time::Timespec;

/// A bell, on a page that is mapped until the process ends.
#[derive(Clone, Copy)]
pub(crate) struct RankBell {
    /// Counts rings.
    rings: &'static AtomicU32,
    /// 1 while the rank sleeps, or is about to.
    is_asleep: &'static AtomicU32,
    n_asleep: &'static AtomicU64,
}

/// A rank that is about to sleep.
pub(crate) struct ArmedBell {
    bell: RankBell,
    seen: u32,
}

/// The reason why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WokenBy {
    Rung,
    Timeout,
}

impl RankBell {
    /// Returns the bell of the rank at a position.
    pub(crate) fn of(page: &ConcurrencyPage<'static>, at: usize) -> Self {
        let word: *const AtomicU32 = std::ptr::from_ref(page.bell(at)).cast();
        // SAFETY: two words of 32 bits lie in one of 64 bits, aligned, and stay mapped. Nobody accesses this one whole.
        let [rings, is_asleep] = unsafe { [&*word, &*word.add(1)] };
        Self { rings, is_asleep, n_asleep: page.n_asleep() }
    }

    /// Announces a sleep. What may end the wait has to be tested once more after this.
    pub(crate) fn arm(self) -> ArmedBell {
        let seen = self.rings.load(Ordering::SeqCst);
        self.n_asleep.fetch_add(1, Ordering::SeqCst);
        self.is_asleep.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        ArmedBell { bell: self, seen }
    }

    /// Wakes the rank, and returns whether it slept. What it waits for has to be done before, with a fence after it.
    pub(crate) fn ring(self) -> bool {
        let sleeps = self.is_asleep.load(Ordering::SeqCst) == 1 && self.is_asleep.swap(0, Ordering::SeqCst) == 1;
        if sleeps {
            self.rings.fetch_add(1, Ordering::SeqCst);
            // Nobody sleeping is as good as somebody woken.
            let _ = futex::wake(self.rings, futex::Flags::empty(), 1);
        }
        sleeps
    }
}

impl ArmedBell {
    /// Sleeps until somebody rings, or for so long.
    pub(crate) fn sleep(&self, limit: Duration) -> WokenBy {
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        // It also ends if the bell was rung meanwhile, or by a signal; the caller tests again.
        let _ = futex::wait(self.bell.rings, futex::Flags::empty(), self.seen, Some(&limit));
        if self.bell.rings.load(Ordering::SeqCst) == self.seen { WokenBy::Timeout } else { WokenBy::Rung }
    }
}

impl Drop for ArmedBell {
    fn drop(&mut self) {
        self.bell.is_asleep.store(0, Ordering::SeqCst);
        self.bell.n_asleep.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use mpi_trace::{ConcurrencyHeader, WaitMode, n_concurrency_words};

    use super::*;

    fn page() -> ConcurrencyPage<'static> {
        let words: Vec<AtomicU64> = (0..n_concurrency_words(1)).map(|_| AtomicU64::new(0)).collect();
        let header =
            ConcurrencyHeader { n_ranks: 1, n_job_ranks: 1, mode: WaitMode::Block, n_processors: 0, made_ns: 0 };
        ConcurrencyPage::prepare(words.leak(), &header)
    }

    #[test]
    fn a_bell_that_rings_between_arming_and_sleeping_is_heard() {
        let page = page();
        let bell = RankBell::of(&page, 0);
        let armed = bell.arm();
        assert_eq!(page.n_asleep().load(Ordering::SeqCst), 1);
        bell.ring();
        assert_eq!(armed.sleep(Duration::from_secs(3_600)), WokenBy::Rung);
        drop(armed);
        assert_eq!(page.n_asleep().load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_bell_of_a_rank_that_is_awake_does_not_count() {
        let bell = RankBell::of(&page(), 0);
        bell.ring();
        assert_eq!(bell.arm().sleep(Duration::from_millis(1)), WokenBy::Timeout);
    }

    #[test]
    fn ranks_hand_a_token_to_and_fro_without_a_limit() {
        let bells = [RankBell::of(&page(), 0), RankBell::of(&page(), 0)];
        let token = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for own in 0..2 {
                let token = &token;
                scope.spawn(move || {
                    for round in 0..1_000 {
                        while token.load(Ordering::SeqCst) != 2 * round + own {
                            let armed = bells[own as usize].arm();
                            if token.load(Ordering::SeqCst) != 2 * round + own {
                                armed.sleep(Duration::from_secs(3_600));
                            }
                        }
                        token.fetch_add(1, Ordering::SeqCst);
                        fence(Ordering::SeqCst);
                        bells[1 - own as usize].ring();
                    }
                });
            }
        });
        assert_eq!(token.into_inner(), 2_000);
    }
}
