//! A process that spins for a moment, and tells how much of a core it got.

use std::{
    fs, io,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::{Duration, Instant},
};

/// The times of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probed {
    /// The time on the probe's CPU clock.
    pub used: Duration,
    /// The time on the wall clock. Not zero.
    pub passed: Duration,
}

/// Something that can be sent to find out what a process gets.
pub(crate) trait Probe {
    /// Starts one that lasts for `span`.
    ///
    /// # Errors
    /// When it cannot be started.
    fn start(&mut self, span: Duration) -> io::Result<()>;

    /// Returns the times of the probe that was started, once it has ended.
    fn poll(&mut self) -> Option<io::Result<Probed>>;
}

/// A shell that counts nothing, in a process of its own and at this process's priority.
///
/// A thread waits for it, because a tick must not. Should this process end before the probe does, the shell's own limit
/// on CPU time ends it.
#[derive(Debug, Default)]
pub(crate) struct SpinningProbe {
    outcome: Option<Receiver<io::Result<Probed>>>,
}

impl Probe for SpinningProbe {
    fn start(&mut self, span: Duration) -> io::Result<()> {
        let (sender, receiver) = channel();
        let wait = move || {
            // Nobody listens any more when the sensor is gone.
            let _ = sender.send(spin(span));
        };
        thread::Builder::new().name("probe".to_owned()).spawn(wait)?;
        self.outcome = Some(receiver);
        Ok(())
    }

    fn poll(&mut self) -> Option<io::Result<Probed>> {
        let outcome = match self.outcome.as_ref()?.try_recv() {
            Ok(outcome) => outcome,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err(io::Error::other("the thread that waits for the probe panicked")),
        };
        self.outcome = None;
        Some(outcome)
    }
}

/// Lets a process spin for `span` and gives what it had.
fn spin(span: Duration) -> io::Result<Probed> {
    let limit_s = span.as_secs() + 2;
    let script = format!("ulimit -t {limit_s}; while :; do :; done");
    let start = clock::instant();
    let mut shell = Command::new("/bin/sh").args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    clock::sleep(span);
    let probed = measure(&mut shell, start);
    let killed = shell.kill();
    shell.wait()?;
    killed?;
    probed
}

/// Returns the times of the spinning `shell` since `start`.
fn measure(shell: &mut Child, start: Instant) -> io::Result<Probed> {
    let text = fs::read_to_string(format!("/proc/{}/schedstat", shell.id()))?;
    let passed = start.elapsed();
    if let Some(status) = shell.try_wait()? {
        return Err(io::Error::other(format!("the probe ended before its time: {status}")));
    }
    let used_ns = text.split(' ').next().and_then(|used| used.parse().ok());
    let used = used_ns.map(Duration::from_nanos).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(Probed { used: used.min(passed), passed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_uses_no_more_than_passed_and_more_than_nothing() {
        let Probed { used, passed } = spin(Duration::from_millis(200)).unwrap();
        assert!(!used.is_zero() && used <= passed && passed >= Duration::from_millis(200), "{used:?} of {passed:?}");
    }

    #[test]
    fn a_probe_that_was_killed_says_so() {
        let start = clock::instant();
        let mut shell = Command::new("/bin/sh").args(["-c", "kill -9 $$"]).spawn().unwrap();
        shell.wait().unwrap();
        assert!(measure(&mut shell, start).is_err());
    }
}
