//! The kernel's own account of how well its wall clock is kept, which is only read here.
#![allow(unsafe_code)]

use std::{mem, time::Duration};

/// State of the host's wall clock against the servers of time or the better clock that a daemon compares it with.
///
/// Source: adjtimex(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDiscipline {
    /// Whether somebody keeps the clock and has not lost it.
    pub is_synchronized: bool,
    /// Rest of the offset that the kernel is to take out, in nanoseconds; positive if the clock is late.
    pub offset_ns: i64,
    /// Bound on the error of the clock. It grows until the daemon sets it again.
    pub max_error: Duration,
}

impl ClockDiscipline {
    /// Asks the kernel. None if it does not answer this process, as in a sandbox that forbids the call.
    #[must_use]
    pub fn read() -> Option<Self> {
        // SAFETY: the struct has numbers only, and all of its bytes zero mean that nothing is to be changed.
        let mut timex: libc::timex = unsafe { mem::zeroed() };
        // SAFETY: the kernel writes to a struct that is there until the call returns.
        let state = unsafe { libc::adjtimex(&raw mut timex) };
        (state >= 0).then(|| Self::of(&timex, state))
    }

    fn of(timex: &libc::timex, state: libc::c_int) -> Self {
        let ns_per_count = if timex.status & libc::STA_NANO == 0 { 1000 } else { 1 };
        Self {
            is_synchronized: state != libc::TIME_ERROR,
            offset_ns: timex.offset.saturating_mul(ns_per_count),
            max_error: Duration::from_micros(u64::try_from(timex.maxerror).unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_micro_or_nanoseconds_and_errors_microseconds() {
        // SAFETY: the struct has numbers only.
        let mut timex: libc::timex = unsafe { mem::zeroed() };
        (timex.offset, timex.maxerror) = (-250, 1500);
        let expected =
            ClockDiscipline { is_synchronized: true, offset_ns: -250_000, max_error: Duration::from_micros(1500) };
        assert_eq!(ClockDiscipline::of(&timex, libc::TIME_OK), expected);
        timex.status = libc::STA_NANO | libc::STA_UNSYNC;
        let expected = ClockDiscipline { is_synchronized: false, offset_ns: -250, ..expected };
        assert_eq!(ClockDiscipline::of(&timex, libc::TIME_ERROR), expected);
    }

    #[test]
    fn asking_changes_nothing() {
        // A sandbox may forbid the call. An error of more than a day would be a misread field.
        if let Some(discipline) = ClockDiscipline::read() {
            assert!(discipline.max_error < Duration::from_secs(86_400), "{discipline:?}");
        }
    }
}
