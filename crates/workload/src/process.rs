//! A worker as its parent sees it: started, asked, killed.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read},
    os::{fd::AsFd, unix::process::CommandExt},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};

use crate::{
    LoadError,
    order::{Order, Report},
};

/// No line of a worker is longer; more is no worker's.
const LINE_BYTES_MAX: u64 = 8192;

/// Longest time until a worker is ready: a disk that others keep busy is what takes longest.
const READY_AFTER_MAX: Duration = Duration::from_secs(120);

/// Longest time that a process may take to end after it has closed its output.
const END_AFTER_MAX: Duration = Duration::from_secs(10);

/// Program of a worker: an executable that calls [`work`](crate::work) with what comes after these arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The executable.
    pub program: PathBuf,
    /// Arguments before the worker's own.
    pub arguments: Vec<OsString>,
}

/// A running worker; killed when dropped.
///
/// Its standard input is a pipe to which nothing is ever written: its end tells the worker that its parent is gone.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    program: PathBuf,
    reports: BufReader<ChildStdout>,
}

impl Process {
    /// Starts one, which may not be ready yet.
    pub(crate) fn spawn(worker: &Worker, order: &Order) -> Result<Process, LoadError> {
        let spawned = Command::new(&worker.program)
            .args(&worker.arguments)
            .arg(order.to_argument())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Keys pressed at the terminal are for the parent; and a group of its own can be killed with its children.
            .process_group(0)
            .spawn();
        let program = worker.program.clone();
        match spawned {
            Ok(mut child) => {
                let reports = BufReader::new(child.stdout.take().expect("it is piped"));
                Ok(Process { child, program, reports })
            }
            Err(source) => Err(LoadError::Start { program, source }),
        }
    }

    /// Waits until it is set up and at its task.
    pub(crate) fn wait_until_ready(&mut self) -> Result<(), LoadError> {
        self.wait_for_word(READY_AFTER_MAX)?;
        match self.report()? {
            Report::Ready => Ok(()),
            Report::Failed(fault) => Err(fault.into()),
        }
    }

    /// # Errors
    /// When it has ended, with its reason if it gave one.
    pub(crate) fn check(&mut self) -> Result<(), LoadError> {
        // What cannot be waited for has been waited for: it has ended, too.
        let Ok(None) = self.child.try_wait() else {
            return match self.report()? {
                Report::Failed(fault) => Err(fault.into()),
                Report::Ready => Err(self.ended()),
            };
        };
        Ok(())
    }

    /// Waits until it has written something, or closed what it writes to.
    fn wait_for_word(&self, limit: Duration) -> Result<(), LoadError> {
        match wait_for(self.reports.get_ref(), limit) {
            true => Ok(()),
            false => Err(LoadError::Silent { program: self.program.clone(), limit }),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets go of it: it goes on alone, and learns that its parent is gone.
    pub(crate) fn release(mut self) {
        drop(self.child.stdin.take());
        // Dropping it would kill it; its pipes end with this process at the latest.
        std::mem::forget(self);
    }

    /// Its next line.
    fn report(&mut self) -> Result<Report, LoadError> {
        let mut line = String::new();
        let n_read = self.reports.by_ref().take(LINE_BYTES_MAX).read_line(&mut line);
        match (n_read, Report::from_line(&line)) {
            (Ok(1..), Some(report)) => Ok(report),
            (Ok(0), _) => Err(self.ended()),
            _ => Err(LoadError::NoWorker { program: self.program.clone(), said: line.trim_end().to_owned() }),
        }
    }

    /// The error of a worker that closed its output or was seen to have ended.
    fn ended(&mut self) -> LoadError {
        // Programs close their output a moment before they end, and killed in between they would have no status of
        // their own.
        if let Ok(end) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) {
            wait_for(end, END_AFTER_MAX);
        }
        self.kill();
        match self.child.wait() {
            Ok(status) => LoadError::Ended { status },
            Err(source) => LoadError::Start { program: self.program.clone(), source },
        }
    }

    /// Kills it and its children, unless it has ended and its number may be somebody else's.
    fn kill(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // It may have ended in between; then it is not waited for yet, and there is nothing to kill.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended by itself is as good as one that was killed.
        self.kill();
        let _ = self.child.wait();
    }
}

/// Whether there is something to be read here, or has been an end, within `limit`.
fn wait_for(descriptor: impl AsFd, limit: Duration) -> bool {
    let start = clock::instant();
    loop {
        let left = limit.saturating_sub(start.elapsed());
        let timeout = Timespec::try_from(left).expect("some minutes at most");
        match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return false,
            Err(Errno::INTR) => {}
            // What is wrong with it shows when it is read.
            Ok(_) | Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chance::Stream,
        order::{Task, Terms},
    };

    #[test]
    fn a_program_that_says_nothing_is_not_waited_for_for_ever() {
        let stream = Stream { seed: 0, number: 0 };
        let order = Order { task: Task::Burst, terms: Terms::Ordinary, stream, group: None };
        // It reads its standard input, which never ends.
        let worker = Worker { program: "/bin/sh".into(), arguments: vec!["-c".into(), "read line".into()] };
        let process = Process::spawn(&worker, &order).unwrap();
        let error = process.wait_for_word(Duration::from_millis(1)).unwrap_err();
        assert!(matches!(error, LoadError::Silent { .. }), "{error}");
    }
}
