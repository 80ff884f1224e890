//! Waiting for a word of shared memory, and waking those who do: by asking again, and in the kernel.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mpi_tree::Wake;
use rustix::thread::futex;
use rustix::time::Timespec;

use crate::memory::{NodeMemory, Wait};
use crate::port::{Port, Trouble};

/// Number of times that a rank asks before it lets others run, if each has a processor of its own: about 100 us.
/// Waking a sleeper takes 20 us. Ranks that gave up after that long would all sleep in each call once they had slept
/// in one.
const N_SPINS: u32 = 8_000;
/// The same for a message: a look at the network takes far longer than one at a word.
const N_SPINS_MESSAGE: u32 = 100;
/// The same for ranks without a processor of their own: whoever is waited for may be waiting for this very processor.
const N_SPINS_CROWDED: u32 = 20;
/// Number of times that a rank lets others run before it sleeps: with several ranks on a processor, that is what
/// brings them all to the call.
const N_YIELDS_BEFORE_SLEEP: u32 = 50;
/// Number of times that a rank that cannot sleep lets others run between looks at whether the others are still there.
const N_YIELDS: u32 = 16_384;
/// Number of times that a rank lets others run before it begins to nap: about as long as a slow network takes for a
/// message. No way of waiting is without naps: under real-time scheduling, ranks that only yield keep all others off
/// the processors, a launcher of lower priority included.
const N_YIELDS_AWAKE: u32 = 4_096;
const NAP: Duration = Duration::from_micros(20);
/// Time that a rank sleeps between looks at whether the others are still there.
const SLEEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The way in which a rank waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Whether more ranks than processors are here.
    pub(crate) is_crowded: bool,
    pub(crate) wake: Wake,
}

/// One wait.
pub(crate) struct Pause {
    patience: Patience,
    n_tries: u32,
}

/// Whether a word that counts calls has come to this one.
pub(crate) fn has_come(word: &AtomicU32, sequence: u32) -> bool {
    word.load(Ordering::Acquire).wrapping_sub(sequence).cast_signed() >= 0
}

impl Pause {
    pub(crate) fn new(patience: Patience) -> Self {
        Self { patience, n_tries: 0 }
    }

    /// Lets a moment pass. `sleep_on` is all that has to change for this wait to end; none if there is more than one
    /// such thing, or a message.
    pub(crate) fn step(
        &mut self,
        sleep_on: Option<(NodeMemory<'_>, Wait)>,
        sequence: u32,
        port: &mut impl Port,
    ) -> Result<(), Trouble> {
        self.n_tries = self.n_tries.saturating_add(1);
        let n_spins = match (self.patience.wake, self.patience.is_crowded) {
            (Wake::Futex, _) if sleep_on.is_some() => 0,
            (_, true) => N_SPINS_CROWDED,
            (_, false) if sleep_on.is_none() => N_SPINS_MESSAGE,
            (_, false) => N_SPINS,
        };
        if self.n_tries <= n_spins {
            std::hint::spin_loop();
            return Ok(());
        }
        let may_sleep = match self.patience.wake {
            Wake::Spin => false,
            Wake::Futex => true,
            Wake::Both => self.n_tries > n_spins + N_YIELDS_BEFORE_SLEEP,
        };
        match sleep_on.filter(|_| may_sleep) {
            Some((memory, wait)) => {
                if !sleep(memory, wait, sequence) {
                    port.check()?;
                }
            }
            None => {
                let n_yields = self.n_tries - n_spins;
                if n_yields.is_multiple_of(N_YIELDS) {
                    port.check()?;
                }
                if n_yields > N_YIELDS_AWAKE {
                    clock::sleep(NAP);
                } else {
                    std::thread::yield_now();
                }
            }
        }
        Ok(())
    }
}

/// Sleeps until the word changes. False if it did not for long.
fn sleep(memory: NodeMemory<'_>, wait: Wait, sequence: u32) -> bool {
    let (word, sleepers) = (memory.wait(wait), memory.sleepers(wait));
    // Ordered against `release`: either this one sees the new word, or that one sees this sleeper.
    sleepers.fetch_add(1, Ordering::SeqCst);
    let seen = word.load(Ordering::SeqCst);
    let is_early = seen.wrapping_sub(sequence).cast_signed() < 0;
    let slept = is_early.then(|| futex::wait(word, futex::Flags::empty(), seen, Some(&SLEEP)));
    sleepers.fetch_sub(1, Ordering::SeqCst);
    !matches!(slept, Some(Err(rustix::io::Errno::TIMEDOUT)))
}

/// Tells those who wait that the call has been released, and wakes those who sleep.
pub(crate) fn release(memory: NodeMemory<'_>, wait: Wait, sequence: u32) {
    // Never back: whoever was let go meanwhile may have released the next call already.
    let is_newer = |last: u32| last.wrapping_sub(sequence).cast_signed() < 0;
    let word = memory.wait(wait);
    let _ = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| is_newer(last).then_some(sequence));
    if memory.sleepers(wait).load(Ordering::SeqCst) > 0 {
        wake_all(memory.wait(wait));
    }
}

pub(crate) fn wake_all(word: &AtomicU32) {
    // Nothing can go wrong: the address is valid, and nobody has to be there.
    let _ = futex::wake(word, futex::Flags::empty(), u32::MAX >> 1);
}
