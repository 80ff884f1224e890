//! Telling a process from a later one with the same number.

use std::fs;

/// A process of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Start time, in the kernel's ticks since the host's start.
    pub started: u64,
}

impl Process {
    /// Returns this process.
    #[must_use]
    pub fn this() -> Self {
        let pid = std::process::id();
        Self { pid, started: started(pid).unwrap_or(0) }
    }

    /// Whether it is there, and is no zombie.
    #[must_use]
    pub fn is_running(self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// Field 22 of `/proc/PID/stat`; none of a process that is not there or has ended. The name, field 2, may hold
/// anything.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    let mut fields = after_name.split_whitespace();
    (fields.next()? != "Z").then(|| fields.nth(18)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_an_earlier_one_with_its_number_does_not() {
        let this = Process::this();
        assert!(this.started > 0 && this.is_running());
        assert!(!Process { started: this.started - 1, ..this }.is_running());
    }
}
