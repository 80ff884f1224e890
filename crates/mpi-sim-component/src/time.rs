//! The clocks and sleeps that a program reaches through the C library: in a rank, they are simulated.
//!
//! Clocks of processor time stay real, as do the sleeps of threads that never called MPI.

use std::ffi::{c_int, c_uint};

use libc::{clockid_t, timespec, timeval};
use units::{SimDuration, SimTime};

use crate::{call, rank};

const SECOND_NS: u64 = 1_000_000_000;

/// A clock of the host, whatever this process is. The library's own function is below, so the kernel is asked.
pub fn host(clock: clockid_t) -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the time.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}

/// Returns the time that a clock shows to the program; nothing for those that are not simulated.
fn simulated(clock: clockid_t) -> Option<u64> {
    let is_real_time = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => true,
        libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_RAW | libc::CLOCK_MONOTONIC_COARSE | libc::CLOCK_BOOTTIME => {
            false
        }
        _ => return None,
    };
    let job = rank::job()?;
    let start = if is_real_time { job.real_time_ns } else { job.monotonic_ns };
    Some(start + rank::read_clock()?.as_nanos())
}

fn spec(ns: u64) -> timespec {
    timespec { tv_sec: (ns / SECOND_NS) as i64, tv_nsec: (ns % SECOND_NS) as i64 }
}

/// Sleeps in simulated time; false where the host's time is meant.
fn sleeps(span_ns: u64) -> bool {
    // Open MPI's own naps do not count.
    rank::is_simulated() && (call::depth() > 0 || rank::sleep(SimDuration::from_nanos(span_ns)))
}

unsafe fn length(span: *const timespec) -> u64 {
    // SAFETY: the caller's time.
    unsafe { (*span).tv_sec as u64 * SECOND_NS + (*span).tv_nsec as u64 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    match simulated(clock) {
        Some(ns) => {
            // SAFETY: the caller's place for the time.
            unsafe { time.write(spec(ns)) };
            0
        }
        // SAFETY: the caller's arguments.
        None => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, _zone: *mut libc::c_void) -> c_int {
    let ns = simulated(libc::CLOCK_REALTIME).unwrap_or_else(|| host(libc::CLOCK_REALTIME));
    if !time.is_null() {
        let (seconds, micros) = ((ns / SECOND_NS) as i64, (ns % SECOND_NS / 1000) as i64);
        // SAFETY: the caller's place for the time.
        unsafe { time.write(timeval { tv_sec: seconds, tv_usec: micros }) };
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(place: *mut libc::time_t) -> libc::time_t {
    let ns = simulated(libc::CLOCK_REALTIME).unwrap_or_else(|| host(libc::CLOCK_REALTIME));
    let seconds = (ns / SECOND_NS) as libc::time_t;
    if !place.is_null() {
        // SAFETY: the caller's place for the time.
        unsafe { place.write(seconds) };
    }
    seconds
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(span: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the caller's arguments, as in `clock_nanosleep`.
    unsafe { if sleeps(length(span)) { 0 } else { libc::syscall(libc::SYS_nanosleep, span, left) as c_int } }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    span: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        let until = flags & libc::TIMER_ABSTIME != 0;
        let now = if until { simulated(clock) } else { Some(0) };
        if now.is_some_and(|now| sleeps(length(span).saturating_sub(now))) {
            return 0;
        }
        match libc::syscall(libc::SYS_clock_nanosleep, clock, flags, span, left) {
            0 => 0,
            _ => *libc::__errno_location(),
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn usleep(micros: c_uint) -> c_int {
    let span = spec(u64::from(micros) * 1000);
    // SAFETY: the span is there until the call returns.
    unsafe { nanosleep(&raw const span, std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let span = spec(u64::from(seconds) * SECOND_NS);
    // SAFETY: as above.
    unsafe { nanosleep(&raw const span, std::ptr::null_mut()) };
    0
}

fn seconds() -> f64 {
    let ns = rank::read_clock().map_or_else(|| host(libc::CLOCK_MONOTONIC), SimTime::as_nanos);
    ns as f64 / SECOND_NS as f64
}

/// The functions for seconds, by all names.
macro_rules! wtime {
    ($($name:ident)*) => {
        $(#[unsafe(no_mangle)]
        extern "C" fn $name() -> f64 {
            seconds()
        })*
    };
}

wtime!(MPI_Wtime PMPI_Wtime);
