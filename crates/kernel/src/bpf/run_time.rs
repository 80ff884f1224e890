//! How long programs run, by the kernel's own account, which costs two looks at the clock for each run while it is on.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use super::BpfArm;

/// The account while it is on.
pub struct RunTimes {
    _account: OwnedFd,
}

impl RunTimes {
    /// Turns the account on for all programs of this host, until this is dropped.
    pub fn enable() -> Option<Self> {
        // SAFETY: it gives a new descriptor or a negative number.
        unsafe {
            let account = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
            (account >= 0).then(|| Self { _account: OwnedFd::from_raw_fd(account) })
        }
    }

    /// The mean time of a run of each program, in the order of the subsystem.
    pub fn mean_ns(&self, arm: &BpfArm) -> Vec<f64> {
        let Some(loaded) = &arm.loaded else { return Vec::new() };
        let mean = |name: &str| {
            let program = loaded.object.progs_mut().find(|program| program.name() == name)?;
            let (run_ns, n) = account(program.as_fd().as_raw_fd())?;
            (n > 0).then(|| run_ns as f64 / n as f64)
        };
        arm.subsystem.programs.iter().map(|program| mean(program.name).unwrap_or(0.0)).collect()
    }
}

/// The time and number of the runs of a program.
fn account(program: i32) -> Option<(u64, u64)> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: the structure is as long as it says, and asks for nothing that would need memory of ours.
    let failed = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program, &raw mut info, &raw mut length) };
    (failed == 0).then_some((info.run_time_ns, info.run_cnt))
}
