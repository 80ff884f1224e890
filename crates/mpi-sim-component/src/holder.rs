//! The thread of this rank that is in the simulation: one at a time, as `MPI_THREAD_SERIALIZED` says.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// The thread, and whether it is in a call of MPI rather than asleep or at a clock.
pub struct Holder(AtomicU32);

/// Purpose for which a thread is in the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldPurpose {
    /// A call of MPI.
    Call,
    /// Its own sleep, or a look at a clock.
    Time,
}

/// Refusal: another thread of the rank is in a call of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankBusy;

thread_local! {
    static THREAD: Cell<u32> = const { Cell::new(0) };
}
static N_THREADS: AtomicU32 = AtomicU32::new(0);

const NOBODY: u32 = 0;
const IN_CALL: u32 = 1;

impl Holder {
    pub const fn nobody() -> Self {
        Self(AtomicU32::new(NOBODY))
    }

    /// Has this thread be the one, once another one's sleep is over.
    ///
    /// # Errors
    /// [`RankBusy`] where another thread is in a call.
    pub fn take(&self, purpose: HoldPurpose) -> Result<(), RankBusy> {
        let own = thread() << 1;
        loop {
            // A thread that left a call by a jump still has it.
            let held = self.0.load(Ordering::Acquire);
            let is_free = held == NOBODY || held & !IN_CALL == own;
            if !is_free && held & IN_CALL != 0 {
                return Err(RankBusy);
            }
            let new = own | if purpose == HoldPurpose::Call { IN_CALL } else { 0 };
            if is_free && self.0.compare_exchange(held, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }

    /// Ends it.
    pub fn give_back(&self) {
        self.0.store(NOBODY, Ordering::Release);
    }
}

/// Threads of this rank that have been in the simulation so far.
pub fn n_threads() -> u32 {
    N_THREADS.load(Ordering::Relaxed)
}

/// A number of this thread above 0.
fn thread() -> u32 {
    if THREAD.get() == 0 {
        THREAD.set(N_THREADS.fetch_add(1, Ordering::Relaxed) + 1);
    }
    THREAD.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes it on another thread.
    fn take_elsewhere(holder: &Holder, purpose: HoldPurpose) -> Result<(), RankBusy> {
        std::thread::scope(|scope| scope.spawn(|| holder.take(purpose)).join().expect("it does not panic"))
    }

    #[test]
    fn a_second_thread_in_a_call_is_refused_and_one_after_the_other_is_not() {
        let holder = Holder::nobody();
        assert_eq!(holder.take(HoldPurpose::Call), Ok(()));
        assert_eq!(
            [HoldPurpose::Call, HoldPurpose::Time].map(|purpose| take_elsewhere(&holder, purpose)),
            [Err(RankBusy); 2]
        );
        // A call that was left by a jump.
        assert_eq!(holder.take(HoldPurpose::Call), Ok(()));
        holder.give_back();
        assert_eq!(take_elsewhere(&holder, HoldPurpose::Call), Ok(()));
    }

    #[test]
    fn a_call_waits_for_the_sleep_of_another_thread() {
        let holder = Holder::nobody();
        assert_eq!(holder.take(HoldPurpose::Time), Ok(()));
        std::thread::scope(|scope| {
            let call = scope.spawn(|| holder.take(HoldPurpose::Call));
            holder.give_back();
            assert_eq!(call.join().expect("it does not panic"), Ok(()));
        });
    }
}
