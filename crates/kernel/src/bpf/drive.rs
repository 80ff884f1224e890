//! Work that makes known events, to measure what probes add to it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::thread;

use crate::Drive;

/// Rounds of each time that work is done; the fastest counts, as only delays come from elsewhere.
const N_ROUNDS: usize = 3;
const N_CALLS: u32 = 20_000;
const N_READS: u64 = 10_000;
const N_PAGES: u32 = 2_000;
const N_THREADS: u32 = 60;
const N_MESSAGES: u32 = 5_000;
const PAGE: usize = 4096;

/// Returns the time of one event of this work, in nanoseconds.
pub fn per_event_ns(drive: Drive) -> f64 {
    let (work, n) = work(drive);
    // Threads that come and go take processor time of their own.
    fastest(work, n, if drive == Drive::Threads { clock::monotonic_ns } else { processor_ns })
}

/// Returns the number of events that the measurement of this work makes.
pub fn n_events(drive: Drive) -> u64 {
    N_ROUNDS as u64 * u64::from(work(drive).1)
}

fn work(drive: Drive) -> (fn(), u32) {
    match drive {
        Drive::None => (|| {}, 1),
        Drive::Reads => (|| reads(N_READS), N_READS as u32),
        Drive::Faults => (faults, N_PAGES),
        Drive::Threads => (threads, N_THREADS),
        Drive::Messages => (messages, 2 * N_MESSAGES),
    }
}

/// Returns the time of a system call that no subsystem looks at.
pub fn per_call_ns() -> f64 {
    fastest(calls, N_CALLS, processor_ns)
}

/// A function of the C library that does next to nothing.
pub const FUNCTION: &str = "labs";
const N_FUNCTIONS: u32 = 2_000;

/// Returns the file that this process has that function from, if it is linked with it.
pub fn function() -> Option<&'static str> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let path =
        maps.lines().find_map(|line| line.split_whitespace().nth(5).filter(|path| path.contains("/libc.so.")))?;
    Some(Box::leak(path.to_owned().into_boxed_str()))
}

/// Returns the time of a call of [`FUNCTION`].
pub fn per_function_ns() -> f64 {
    let work = || {
        let call: unsafe extern "C" fn(libc::c_long) -> libc::c_long = std::hint::black_box(labs);
        for i in 0..libc::c_long::from(N_FUNCTIONS) {
            // SAFETY: it takes any number above the least one, and has no effect.
            std::hint::black_box(unsafe { call(i) });
        }
    };
    fastest(work, N_FUNCTIONS, processor_ns)
}

unsafe extern "C" {
    fn labs(number: libc::c_long) -> libc::c_long;
}

/// Returns the processor time of this thread. By the wall clock, a busy host put prices up fourfold: rounds last for
/// milliseconds, and not one went without others in between.
fn processor_ns() -> u64 {
    clock::thread_cpu().as_nanos() as u64
}

fn fastest(work: fn(), n: u32, now_ns: fn() -> u64) -> f64 {
    let round = |_| {
        let began_ns = now_ns();
        work();
        (now_ns() - began_ns) as f64 / f64::from(n)
    };
    (0..N_ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn calls() {
    for _ in 0..N_CALLS {
        // SAFETY: it has no arguments and no effect.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

/// Reads 64 bytes of a file in memory `n` times.
pub fn reads(n: u64) {
    // SAFETY: the name ends with a zero; the descriptor is new, or the assertion fails.
    let file = unsafe {
        let file = libc::memfd_create(c"price".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0, "memory for a file of 64 bytes");
        File::from_raw_fd(file)
    };
    let mut bytes = [0u8; 64];
    (&file).write_all(&bytes).expect("there is memory for a file of 64 bytes");
    for _ in 0..n {
        // SAFETY: the buffer is as long as it says.
        unsafe { libc::pread(file.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    }
}

fn faults() {
    let length = N_PAGES as usize * PAGE;
    // SAFETY: a new mapping of this length, each page of which is written once, and that nobody else knows.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let pages = libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert!(pages != libc::MAP_FAILED, "memory for {N_PAGES} pages");
        libc::madvise(pages, length, libc::MADV_NOHUGEPAGE);
        for page in 0..N_PAGES as usize {
            pages.cast::<u8>().add(page * PAGE).write_volatile(1);
        }
        libc::munmap(pages, length);
    }
}

fn threads() {
    for _ in 0..N_THREADS {
        // A thread that cannot be started is no event, and makes the price lower than it is by less than what it would
        // cost.
        let _ = thread::Builder::new().spawn(|| {}).map(thread::JoinHandle::join);
    }
}

fn messages() {
    let Ok((mut from, mut to)) = UnixStream::pair() else { return };
    let mut bytes = [0u8; 64];
    for _ in 0..N_MESSAGES {
        let _ = from.write_all(&bytes).and_then(|()| to.read_exact(&mut bytes));
    }
}
