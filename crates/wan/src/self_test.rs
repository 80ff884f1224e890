//! Precision of this machine's waits: Foretop's way beside others, in the same run.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::alarm::{self, SPIN};

/// Threads that hand the spinning over to each other.
const N_HANDING_OVER: usize = 4;

/// A way to wait for a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Foretop's: asleep until shortly before, then looking again and again.
    Spin,
    /// Asleep to the end, with the kernel's usual timers.
    Sleep,
    /// mahimahi's: in whole milliseconds.
    WholeMs,
    /// Longcut's: one of several threads looks again and again and wakes the others, which hand this on.
    HandOver,
}

/// Errors of waits, sorted; negative if they ended early.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// Errors in nanoseconds.
    pub errors_ns: Vec<f64>,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 4] = [Self::Spin, Self::Sleep, Self::WholeMs, Self::HandOver];

    /// Returns the name of the way.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spin => "ppoll, then spin",
            Self::Sleep => "ppoll alone",
            Self::WholeMs => "whole milliseconds (mahimahi)",
            Self::HandOver => "spinner handed over (Longcut)",
        }
    }
}

/// Waits `n` times for `delay` in the given way, and returns the error of each wait.
///
/// # Errors
/// If the system does not let a thread wait.
pub fn measure(way: Way, delay: Duration, n: usize) -> io::Result<Precision> {
    let spinner = Spinner::default();
    let mut errors_ns = Vec::with_capacity(n);
    let n_threads = if way == Way::HandOver { N_HANDING_OVER } else { 1 };
    let waits =
        || (0..n / n_threads).map(|number| wait(way, delay, phase(number), &spinner)).collect::<io::Result<Vec<f64>>>();
    thread::scope(|scope| {
        // On threads of their own, whose timers are theirs to set.
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(waits)).collect();
        for thread in threads {
            errors_ns.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok::<(), io::Error>(())
    })?;
    errors_ns.sort_by(f64::total_cmp);
    Ok(Precision { errors_ns })
}

/// Returns a phase spread evenly over a millisecond: a wait that ends with a millisecond must not begin the next one
/// there.
fn phase(number: usize) -> Duration {
    Duration::from_nanos(number as u64 * 618_034 % 1_000_000)
}

/// Returns the error of one wait that begins after `phase`.
fn wait(way: Way, delay: Duration, phase: Duration, spinner: &Spinner) -> io::Result<f64> {
    alarm::wait(&mut [], clock::instant() + phase, Duration::ZERO)?;
    let begin = clock::instant();
    let due = begin + delay;
    match way {
        Way::Spin => {
            alarm::prepare_thread()?;
            alarm::wait(&mut [], due, SPIN)?;
        }
        Way::Sleep => drop(alarm::wait(&mut [], due, Duration::ZERO)?),
        Way::WholeMs => wait_whole_ms(delay)?,
        Way::HandOver => spinner.wait(due),
    }
    Ok(begin.elapsed().as_nanos() as f64 - delay.as_nanos() as f64)
}

/// Waits as mahimahi does: a packet is stamped with the millisecond in which it came, and released in the one in which
/// its delay is over.
fn wait_whole_ms(delay: Duration) -> io::Result<()> {
    let whole_ms = || clock::monotonic_ns() / 1_000_000;
    let released_ms = whole_ms() + delay.as_millis() as u64;
    loop {
        let now_ms = whole_ms();
        if now_ms >= released_ms {
            return Ok(());
        }
        let rest = Duration::from_millis(released_ms - now_ms);
        alarm::wait(&mut [], clock::instant() + rest, Duration::ZERO)?;
    }
}

/// Longcut's scheme: at most one thread spins, and wakes those whose time has come.
#[derive(Default)]
struct Spinner {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    is_spinning: bool,
    /// Times at which the threads that are blocked are done.
    blocked: Vec<Instant>,
}

impl Spinner {
    fn wait(&self, due: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_spinning {
            state.blocked.push(due);
            state = self
                .changed
                .wait_while(state, |state| state.is_spinning && clock::instant() < due)
                .unwrap_or_else(PoisonError::into_inner);
            state.blocked.retain(|blocked| *blocked != due);
        }
        while !state.is_spinning && clock::instant() < due {
            state.is_spinning = true;
            while clock::instant() < due {
                let is_somebody_done = state.blocked.iter().any(|blocked| *blocked <= clock::instant());
                drop(state);
                if is_somebody_done {
                    self.changed.notify_all();
                }
                thread::yield_now();
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            }
            state.is_spinning = false;
        }
        drop(state);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_but_whole_milliseconds_is_ever_early() {
        for way in [Way::Spin, Way::Sleep, Way::HandOver] {
            let errors_ns = measure(way, Duration::from_millis(2), 20).unwrap().errors_ns;
            assert!(errors_ns.len() == 20 && errors_ns[0] >= 0.0, "{way:?}: {errors_ns:?}");
        }
    }
}
