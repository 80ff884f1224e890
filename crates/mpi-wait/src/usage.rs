//! Times, switches and faults of this process, as the kernel counts them.

use std::mem::MaybeUninit;

/// Totals of a process since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ProcessUsage {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    pub(crate) n_voluntary_switches: u64,
    pub(crate) n_involuntary_switches: u64,
    pub(crate) n_minor_faults: u64,
    pub(crate) n_major_faults: u64,
}

impl ProcessUsage {
    /// Asks the kernel.
    pub(crate) fn now() -> Self {
        let mut usage = MaybeUninit::zeroed();
        // SAFETY: the kernel writes what the place is for, and zeros are a value of it.
        let usage: libc::rusage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self {
            user_seconds: seconds(usage.ru_utime),
            system_seconds: seconds(usage.ru_stime),
            n_voluntary_switches: usage.ru_nvcsw as u64,
            n_involuntary_switches: usage.ru_nivcsw as u64,
            n_minor_faults: usage.ru_minflt as u64,
            n_major_faults: usage.ru_majflt as u64,
        }
    }

    /// Returns the difference to an earlier moment.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            user_seconds: self.user_seconds - earlier.user_seconds,
            system_seconds: self.system_seconds - earlier.system_seconds,
            n_voluntary_switches: self.n_voluntary_switches - earlier.n_voluntary_switches,
            n_involuntary_switches: self.n_involuntary_switches - earlier.n_involuntary_switches,
            n_minor_faults: self.n_minor_faults - earlier.n_minor_faults,
            n_major_faults: self.n_major_faults - earlier.n_major_faults,
        }
    }
}
