//! Noise of known period and length, made on purpose: a thread on the core that is measured, which spins so long at
//! each deadline.
//!
//! Deadlines are absolute on the monotonic clock, so that late wake-ups do not add up, and a pulse ends its length
//! after its deadline. What a measured thread loses to it is that and the switch back, some microseconds.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::{ClockId, CpuSet, clock_nanosleep_absolute, sched_setaffinity};
use rustix::time::{Timespec, clock_gettime};
use serde::{Deserialize, Serialize};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use super::plan::Injection;

/// The longest sleep before it is asked whether to stop.
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// A thread that makes noise until it is stopped.
#[derive(Debug)]
pub(crate) struct Injector {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Injected>,
}

/// Noise that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Injected {
    /// Pulses that began.
    pub n_pulses: u64,
    /// Mean length of the pulses, in nanoseconds: from their deadlines to their ends, or from their beginnings if these
    /// were late by more than half of their length.
    pub mean_length_ns: f64,
    /// Deadlines that had passed before the pulse ahead of them ended; no pulse was made for them.
    pub n_missed: u64,
    /// Largest delay of a pulse after its deadline, in nanoseconds.
    pub latest_ns: u64,
    /// Reason why it had no real-time priority, so that pulses came when the scheduler saw fit; `None` if it had one.
    pub not_real_time: Option<String>,
    /// Reason why it was not bound to its core.
    pub not_bound: Option<String>,
}

impl Injector {
    /// Begins to make noise on core `cpu`.
    ///
    /// # Errors
    /// When there can be no further thread.
    pub(crate) fn start(cpu: u32, injection: Injection) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let (is_ready, ready) = mpsc::channel();
        let thread = thread::Builder::new().name("injector".to_owned()).spawn(move || {
            let not_bound = bind(cpu).err().map(|error| error.to_string());
            let not_real_time = real_time().err().map(|error| error.to_string());
            // Whoever no longer waits need not hear it.
            let _ = is_ready.send(());
            Injected { not_bound, not_real_time, ..make_noise(injection, &asked) }
        })?;
        // A measured thread with real-time priority would never let it begin. A thread that panicked is as much of an
        // answer.
        let _ = ready.recv();
        Ok(Self { stop, thread })
    }

    /// Ends the noise, and says what it was. Takes as long as a pulse or a tenth of a second.
    ///
    /// # Panics
    /// When the thread did.
    #[must_use]
    pub(crate) fn stop(self) -> Injected {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the injector does not panic")
    }
}

/// Binds the calling thread to one core.
///
/// # Errors
/// When it is not allowed there.
pub(crate) fn bind(cpu: u32) -> Result<(), Errno> {
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(Errno::INVAL);
    }
    let mut only = CpuSet::new();
    only.set(cpu as usize);
    sched_setaffinity(None, &only)
}

fn real_time() -> Result<(), thread_priority::Error> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), above_lowest(), policy)
}

/// Returns a priority above that of a measured thread that was itself started with the lowest real-time priority,
/// as `chrt -f 1` does on a busy machine.
fn above_lowest() -> ThreadPriority {
    ThreadPriorityValue::try_from(10).map_or(ThreadPriority::Min, ThreadPriority::Crossplatform)
}

fn make_noise(injection: Injection, stop: &AtomicBool) -> Injected {
    let (period_ns, length_ns) = (injection.period.as_nanos() as u64, injection.length.as_nanos() as u64);
    let (mut n_pulses, mut n_missed, mut latest_ns, mut total_ns) = (0, 0, 0, 0);
    let mut deadline_ns = monotonic_ns() + period_ns;
    while sleep_until(deadline_ns, stop) {
        let late_ns = monotonic_ns() - deadline_ns;
        latest_ns = latest_ns.max(late_ns);
        // The timer's interrupt and the switch to this thread are part of what is lost, so a pulse is counted from its
        // deadline. One that the scheduler held back is not cut short for that.
        let begun_ns = if 2 * late_ns <= length_ns { deadline_ns } else { deadline_ns + late_ns };
        while monotonic_ns() < begun_ns + length_ns {
            std::hint::spin_loop();
        }
        n_pulses += 1;
        total_ns += monotonic_ns() - begun_ns;
        deadline_ns += period_ns;
        let late_by = monotonic_ns().saturating_sub(deadline_ns);
        let missed = late_by.div_ceil(period_ns);
        n_missed += missed;
        deadline_ns += missed * period_ns;
    }
    let mean_length_ns = total_ns as f64 / (n_pulses as f64).max(1.0);
    Injected { n_pulses, mean_length_ns, n_missed, latest_ns, not_real_time: None, not_bound: None }
}

/// Whether it is time; `false` when it is to stop first.
fn sleep_until(deadline_ns: u64, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let now_ns = monotonic_ns();
        if now_ns >= deadline_ns {
            return true;
        }
        let wake_ns = deadline_ns.min(now_ns + SLEEP_MAX.as_nanos() as u64);
        let wake = Timespec { tv_sec: (wake_ns / 1_000_000_000) as i64, tv_nsec: (wake_ns % 1_000_000_000) as _ };
        // A sleep that a signal ends is begun again.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &wake);
    }
}

/// The clock that deadlines are on, in nanoseconds.
#[must_use]
pub(crate) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {

    use clock::Stopwatch;
    use mpi_run::allowed_cpus;

    use super::*;

    #[test]
    fn pulses_are_as_long_as_asked_at_least_and_end_when_told() {
        let injection = Injection { length: Duration::from_micros(50), period: Duration::from_micros(500) };
        let cpu = allowed_cpus()[0];
        let injector = Injector::start(cpu, injection).unwrap();
        let begun = Stopwatch::start();
        while begun.elapsed() < 20 * injection.period {
            thread::yield_now();
        }
        let injected = injector.stop();
        assert!(injected.n_pulses == 0 || injected.mean_length_ns >= 50_000.0, "{injected:?}");
        assert_eq!(injected.not_bound, None);
    }

    #[test]
    fn a_core_that_is_not_there_is_no_core() {
        assert_eq!(bind(u32::MAX), Err(Errno::INVAL));
    }
}
