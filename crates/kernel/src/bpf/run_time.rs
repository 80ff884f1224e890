//! Run times of programs, by the kernel's own account, which costs two looks at the clock for each run while it is on.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use super::BpfArm;
use crate::Ran;

/// The account while it is on, and what it said at the begin.
pub struct RunTimes {
    _account: OwnedFd,
    begin: Ran,
}

impl RunTimes {
    /// Turns the account on for all programs of this host, until this is dropped.
    pub fn begin(arm: &BpfArm) -> Option<Self> {
        // SAFETY: it gives a new descriptor or a negative number.
        let account = unsafe {
            let account = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
            (account >= 0).then(|| OwnedFd::from_raw_fd(account))?
        };
        Some(Self { _account: account, begin: accounts(arm)? })
    }

    /// Returns the run times of the programs since the begin.
    pub fn end(self, arm: &BpfArm) -> Option<Ran> {
        let end = accounts(arm)?;
        let since =
            |(end, begin): (&(u64, u64), &(u64, u64))| (end.0.saturating_sub(begin.0), end.1.saturating_sub(begin.1));
        let programs = end.programs.iter().zip(&self.begin.programs).map(since).collect();
        Some(Ran { programs, n_sampled: end.n_sampled.saturating_sub(self.begin.n_sampled) })
    }
}

fn accounts(arm: &BpfArm) -> Option<Ran> {
    let object = &arm.loaded.as_ref()?.object;
    let of = |name: &str| {
        let program = object.progs_mut().find(|program| program.name() == name)?;
        account(program.as_fd().as_raw_fd())
    };
    let mut seen: Vec<&str> = Vec::new();
    let programs = arm.subsystem.programs.iter().map(|program| {
        // A program that feeds several points of a user has one account, which is told once.
        let is_new = !seen.contains(&program.name);
        seen.push(program.name);
        if is_new { of(program.name).unwrap_or_default() } else { (0, 0) }
    });
    let programs = programs.collect();
    let reading = super::layout::read(object, arm.subsystem, arm.settings.epoch).ok()?;
    Some(Ran { programs, n_sampled: reading.n_sampled() })
}

/// Returns the number and time of the runs of a program.
fn account(program: i32) -> Option<(u64, u64)> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: the structure is as long as it says, and asks for nothing that would need memory of ours.
    let failed = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program, &raw mut info, &raw mut length) };
    (failed == 0).then_some((info.run_cnt, info.run_time_ns))
}
