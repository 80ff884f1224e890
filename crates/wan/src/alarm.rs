//! Waiting for a moment or for input, to some microseconds.
//!
//! A sleeping thread is woken tens of microseconds late. So the thread sleeps until shortly before the moment, and then
//! looks again and again, at its input too. Each gateway and relay has one thread, so that no more than one spins.

use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{self, Errno};
use watch::Stop;

/// Time before the moment at which the thread stops sleeping: longer than nearly all wake-ups are late.
pub(crate) const SPIN: Duration = Duration::from_micros(60);

/// Time between two checks whether a thread is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The cause that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Input that is there.
    Ready,
    /// The moment has come.
    Due,
}

/// Work of a thread when it is due, and when input comes in. Moments count from an origin.
pub(crate) trait Shift {
    /// Carries out what is due.
    fn due(&mut self, now: Duration);
    /// Returns the moment at which something is due next.
    fn next_due(&self) -> Option<Duration>;
    /// Takes a part of the input.
    fn take_in(&mut self) -> std::io::Result<()>;
}

/// Works until the thread is to stop.
pub(crate) fn work(shift: &mut dyn Shift, input: BorrowedFd<'_>, origin: Instant, stop: &Stop) -> std::io::Result<()> {
    prepare_thread()?;
    let mut next_look = clock::instant();
    loop {
        let now = clock::instant();
        if now >= next_look {
            if stop.wait(Duration::ZERO) {
                return Ok(());
            }
            next_look = now + LOOK_EVERY;
        }
        shift.due(now - origin);
        let due = shift.next_due().map(|due| origin + due).filter(|due| *due < next_look);
        let spin = if due.is_some() { SPIN } else { Duration::ZERO };
        let mut inputs = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
        if wait(&mut inputs, due.unwrap_or(next_look), spin)? == Woken::Ready {
            shift.take_in()?;
        }
    }
}

/// Lets this thread's timers fire when they are due; otherwise the kernel may put them together and be 50 us late.
pub(crate) fn prepare_thread() -> io::Result<()> {
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
}

/// Waits until there is input or `due` has come, never shorter, spinning the last `spin` of it.
pub(crate) fn wait(inputs: &mut [PollFd<'_>], due: Instant, spin: Duration) -> io::Result<Woken> {
    let asleep = due.saturating_duration_since(clock::instant()).saturating_sub(spin);
    if !asleep.is_zero() && ready(inputs, asleep)? {
        return Ok(Woken::Ready);
    }
    while clock::instant() < due {
        if ready(inputs, Duration::ZERO)? {
            return Ok(Woken::Ready);
        }
    }
    Ok(Woken::Due)
}

fn ready(inputs: &mut [PollFd<'_>], limit: Duration) -> io::Result<bool> {
    // Far longer than anything is waited for.
    let seconds = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
    let limit = Timespec { tv_sec: seconds, tv_nsec: limit.subsec_nanos().into() };
    match poll(inputs, Some(&limit)) {
        Ok(n_ready) => Ok(n_ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_wait_is_never_too_short_and_input_ends_it() {
        let (mut sender, receiver) = UnixStream::pair().unwrap();
        let mut inputs = [PollFd::new(&receiver, PollFlags::IN)];
        let due = clock::instant() + Duration::from_millis(2);
        assert_eq!(wait(&mut inputs, due, SPIN), Ok(Woken::Due));
        assert!(clock::instant() >= due);
        sender.write_all(b"x").unwrap();
        assert_eq!(wait(&mut inputs, clock::instant() + Duration::from_secs(3600), SPIN), Ok(Woken::Ready));
    }
}
