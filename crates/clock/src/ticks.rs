//! Stamps for what happens every few nanoseconds: the processor's own counter where it can be trusted.
#![allow(unsafe_code)]

use std::time::Duration;

/// A clock for stamps. All processes of a host that use the same one agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticks {
    /// The processor's counter; how long a tick is, two [`Reading`]s tell.
    Counter,
    /// Nanoseconds of the monotonic clock.
    Monotonic,
}

/// One moment on two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Time by the clock for stamps.
    pub ticks: u64,
    /// Time by the host's monotonic clock.
    pub monotonic_ns: u64,
}

/// Tries for a reading; the one that took least time counts.
const N_TRIES: usize = 16;

impl Ticks {
    /// The counter, if the kernel itself tells the time by it: it then runs evenly, on all processors alike.
    #[must_use]
    pub fn best() -> Self {
        let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        let is_counter = match std::env::consts::ARCH {
            "x86_64" => {
                source.is_ok_and(|name| matches!(name.trim(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page"))
                    && has_steady_counter()
            }
            // The architecture says that it runs evenly.
            "aarch64" => true,
            _ => false,
        };
        if is_counter { Self::Counter } else { Self::Monotonic }
    }

    /// The moment, in ticks.
    #[inline(always)]
    #[must_use]
    pub fn now(self) -> u64 {
        match self {
            Self::Counter => counter(),
            Self::Monotonic => monotonic_ns(),
        }
    }

    /// The moment on this clock and on the monotonic one, as close together as a few tries bring them.
    #[must_use]
    pub fn reading(self) -> Reading {
        let tries = (0..N_TRIES).map(|_| {
            let before = self.now();
            let monotonic_ns = monotonic_ns();
            let took = self.now().wrapping_sub(before);
            (took, Reading { ticks: before.wrapping_add(took / 2), monotonic_ns })
        });
        tries.min_by_key(|(took, _)| *took).expect("there are tries").1
    }
}

/// Nanoseconds of the host's monotonic clock, the same in all its processes.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = asked(libc::CLOCK_MONOTONIC);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Processor time that the calling thread has taken so far.
#[must_use]
pub fn thread_cpu() -> Duration {
    let taken = asked(libc::CLOCK_THREAD_CPUTIME_ID);
    Duration::new(taken.tv_sec.unsigned_abs(), taken.tv_nsec as u32)
}

/// A clock of the C library, which is simulated where the process is.
fn asked(clock: libc::clockid_t) -> libc::timespec {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to a place that is there until the call returns; both clocks are always there.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now
}

fn has_steady_counter() -> bool {
    let Ok(told) = std::fs::read_to_string("/proc/cpuinfo") else { return false };
    let flags = told.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    ["constant_tsc", "nonstop_tsc"].iter().all(|wanted| flags.split_whitespace().any(|flag| flag == *wanted))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: the instruction reads a register, and is there on each x86-64 processor.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: the instruction reads a register that the kernel leaves open to programs.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn counter() -> u64 {
    monotonic_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_go_on_between_two_readings() {
        for ticks in [Ticks::Monotonic, Ticks::best()] {
            let (before, after) = (ticks.reading(), ticks.reading());
            assert!(after.ticks > before.ticks && after.monotonic_ns >= before.monotonic_ns, "{before:?} {after:?}");
        }
    }
}
