//! One process of a component, in a group of its own.
//!
//! The only file of this crate with `unsafe` in it: the kernel is asked by the child itself to end it with its
//! supervisor, and what a child does between `fork` and `exec` cannot be said without.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};

use super::Launcher;
use super::log::Log;
use crate::plan::Launch;

/// A process that was started, and all that it starts.
pub(super) struct Process {
    child: Child,
    /// Its end, once that is known.
    end: Option<End>,
    /// Whether its group was killed, whose number may be another's from then on.
    is_swept: bool,
}

/// The end of a process.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) is_success: bool,
    /// Description in words, as a part of a sentence.
    pub(super) words: String,
}

impl Process {
    #[expect(unsafe_code, reason = "no library offers what is done before `exec`")]
    pub(super) fn start(launcher: &Launcher, launch: &Launch, log: &Log) -> io::Result<Self> {
        let (stdout, stderr) = log.open()?;
        let parent = rustix::process::getpid();
        let mut command = Command::new(&launcher.program);
        command.args(&launcher.arguments).arg(&launch.run).args(&launch.arguments);
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
        // SAFETY: Two system calls that are safe after `fork` (signal-safety(7)), and an error of a number, which
        // allocates nothing.
        unsafe {
            command.pre_exec(move || {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // A supervisor that was gone before that would not be noticed.
                match getppid() == Some(parent) {
                    true => Ok(()),
                    false => Err(rustix::io::Errno::SRCH.into()),
                }
            });
        }
        Ok(Self { child: command.spawn()?, end: None, is_swept: false })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its end, if it has ended.
    pub(super) fn end(&mut self) -> Option<End> {
        if self.end.is_none() {
            self.end = match self.child.try_wait() {
                Ok(None) => None,
                Ok(Some(status)) => {
                    let words = match (status.code(), status.signal()) {
                        (Some(code), _) => format!("ended with status {code}"),
                        (None, Some(signal)) => format!("ended by signal {signal}"),
                        (None, None) => "ended".to_owned(),
                    };
                    Some(End { is_success: status.success(), words })
                }
                Err(error) => Some(End { is_success: false, words: format!("cannot be watched: {error}") }),
            };
        }
        self.end.clone()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.end().is_some()
    }

    pub(super) fn ask_to_end(&self) {
        if self.end.is_none() {
            self.signal(Signal::TERM);
        }
    }

    /// Ends it, and whatever it started, at once.
    pub(super) fn kill(&mut self) {
        if std::mem::replace(&mut self.is_swept, true) {
            return;
        }
        self.signal(Signal::KILL);
        if self.end.is_none() {
            // One that was killed ends, and only one that has ended already cannot be waited for.
            let _ = self.child.wait();
            self.end = Some(End { is_success: false, words: "was stopped".to_owned() });
        }
    }

    /// Sends a signal to the group, which has the process's number. A group that is empty is gone.
    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }
}
