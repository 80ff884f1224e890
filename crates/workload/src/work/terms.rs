//! Rules of the scheduler by which this process runs.

use std::io;

use rustix::{
    io::Errno,
    process::nice,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

use crate::{Step, error::Fault, order::Terms};

/// The step to the lowest priority from any other; the kernel stops at 19.
const NICE_STEP: i32 = 39;

pub(super) fn apply(terms: Terms) -> Result<(), Fault> {
    match terms {
        Terms::Ordinary => Ok(()),
        Terms::Niced => nice(NICE_STEP).map(drop).map_err(Fault::at(Step::Nice)),
        Terms::RealTime => real_time().map_err(Fault::at(Step::RealTime)),
        Terms::OneCore => one_core().map_err(Fault::at(Step::OneCore)),
    }
}

fn real_time() -> io::Result<()> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).map_err(|error| match error {
        thread_priority::Error::OS(errno) => io::Error::from_raw_os_error(errno),
        other => io::Error::other(other),
    })
}

fn one_core() -> Result<(), Errno> {
    let usable = sched_getaffinity(None)?;
    let first = (0..CpuSet::MAX_CPU).find(|core| usable.is_set(*core)).ok_or(Errno::INVAL)?;
    let mut only = CpuSet::new();
    only.set(first);
    sched_setaffinity(None, &only)
}
