//! What the kernel says of a process.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use procfs::process::{Process, Stat};
use testkit::{PATIENCE, wait_until};
use workload::{Load, Scenario, Worker};

/// The program of the tests as a worker.
pub fn worker() -> Worker {
    Worker { program: PathBuf::from(env!("CARGO_BIN_EXE_workload-for-tests")), arguments: Vec::new() }
}

/// The same, with its scratch files in this directory.
pub fn worker_with_scratch_in(directory: &Path) -> Worker {
    let mut variable = OsString::from("TMPDIR=");
    variable.push(directory);
    Worker { program: PathBuf::from("/usr/bin/env"), arguments: vec![variable, worker().program.into()] }
}

pub fn scenario(name: &str) -> &'static Scenario {
    workload::find(name).expect("a load of this name")
}

#[track_caller]
pub fn start(name: &str) -> Load {
    scenario(name).start(1, &worker()).unwrap()
}

/// What is running of it: nothing of one that has ended, also if nobody has waited for it.
pub fn stat(id: u32) -> Option<Stat> {
    let stat = Process::new(i32::try_from(id).unwrap()).and_then(|process| process.stat()).ok()?;
    (stat.state != 'Z' && stat.state != 'X').then_some(stat)
}

pub fn stat_of_running(id: u32) -> Stat {
    stat(id).expect("it runs")
}

/// How much CPU time it has had, in the kernel's ticks, its children that have ended included.
pub fn ticks(id: u32) -> u64 {
    let stat = stat_of_running(id);
    stat.utime + stat.stime + u64::try_from(stat.cutime + stat.cstime).unwrap()
}

/// Waits until each of them has had so many ticks of 10 ms more than at this moment.
pub fn wait_for_ticks(ids: &[u32], n: u64) {
    let before: Vec<u64> = ids.iter().map(|id| ticks(*id)).collect();
    for (id, before) in ids.iter().zip(before) {
        wait_until("it has computed", PATIENCE, || (ticks(*id) >= before + n).then_some(()));
    }
}

pub fn wait_until_gone(ids: &[u32]) {
    for id in ids {
        wait_until("it is gone", PATIENCE, || stat(*id).is_none().then_some(()));
    }
}

/// Running processes of this process group.
pub fn members(group: u32) -> Vec<u32> {
    let directories = fs::read_dir("/proc").unwrap().flatten();
    let ids = directories.filter_map(|directory| directory.file_name().to_str()?.parse().ok());
    let is_member = |id: &u32| stat(*id).is_some_and(|stat| u32::try_from(stat.pgrp) == Ok(group));
    ids.filter(is_member).collect()
}
