//! A control group with a limit on CPU time.
//!
//! Files: `Documentation/scheduler/sched-bwc.rst` for version 1, `Documentation/admin-guide/cgroup-v2.rst` for version
//! 2.

mod hierarchy;
mod short;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use hierarchy::{Place, Version};
pub use short::{Device, ShortGroup};

use crate::{
    LoadError, Worker,
    chance::Stream,
    order::{Order, Task, Terms},
    process::Process,
};

/// Period over which a limit is kept, in microseconds: the kernel's default.
const PERIOD_US: f64 = 100_000.0;

/// A control group of this process's own making that may use some share of the cores; removed when dropped.
///
/// One that is still in use at that time is removed when it no longer is.
#[derive(Debug)]
pub struct ControlGroup {
    directory: PathBuf,
    /// Group of this process when it made the control group.
    home: PathBuf,
    keeper: Option<Process>,
}

/// Stay of this process, and of each process that it starts, in a control group; ends when dropped.
#[derive(Debug)]
#[must_use = "this process leaves the group when it is dropped"]
pub struct Inside {
    home: PathBuf,
}

impl ControlGroup {
    /// Makes one in which all processes together may use `cores` cores.
    pub(crate) fn make(cores: f64, worker: &Worker) -> Result<ControlGroup, LoadError> {
        let place = Place::find("cpu")?;
        let directory = place.make(&unique_name()).map_err(|(parent, source)| LoadError::Group { parent, source })?;
        let mut group = ControlGroup { directory, home: place.own, keeper: None };
        let limited = limit(&group.directory, place.version, cores);
        limited.map_err(|source| LoadError::Limit { group: group.directory.clone(), cores, source })?;
        group.keeper = Some(start_keeper(&group.directory, worker)?);
        Ok(group)
    }

    /// Its directory, where the kernel's files about it are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Moves this process into it, for as long as what is returned lives.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn enter(&self) -> Result<Inside, LoadError> {
        self.adopt(process::id())?;
        Ok(Inside { home: self.home.clone() })
    }

    /// Moves a running process into it, for good.
    ///
    /// # Errors
    /// When the kernel refuses, or there is no such process.
    pub fn adopt(&self, process: u32) -> Result<(), LoadError> {
        let moved = move_process(process, &self.directory);
        moved.map_err(|source| LoadError::Move { process, group: self.directory.clone(), source })
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let removed = fs::remove_dir(&self.directory);
        if let (Err(_), Some(keeper)) = (removed, self.keeper.take()) {
            keeper.release();
        }
    }
}

impl Inside {
    /// Moves this process back to where it was.
    ///
    /// # Errors
    /// When the kernel refuses; this process is still in the group then.
    pub fn leave(self) -> Result<(), LoadError> {
        let process = process::id();
        move_process(process, &self.home).map_err(|source| LoadError::Move {
            process,
            group: self.home.clone(),
            source,
        })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // A second time after `leave` changes nothing. What fails here leaves this process where it is, to be seen
        // there.
        let _ = move_process(process::id(), &self.home);
    }
}

/// Moves all threads of a process.
pub(crate) fn move_process(process: u32, group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), process.to_string())
}

fn limit(directory: &Path, version: Version, cores: f64) -> io::Result<()> {
    let quota_us = (cores * PERIOD_US).round();
    match version {
        Version::One => {
            fs::write(directory.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
            fs::write(directory.join("cpu.cfs_quota_us"), quota_us.to_string())
        }
        Version::Two => fs::write(directory.join("cpu.max"), format!("{quota_us} {PERIOD_US}")),
    }
}

/// Removes the group if this process is killed.
fn start_keeper(directory: &Path, worker: &Worker) -> Result<Process, LoadError> {
    let task = Task::Keep { group: directory.to_owned() };
    let stream = Stream { seed: 0, number: 0 };
    let mut keeper = Process::spawn(worker, &Order { task, terms: Terms::Ordinary, stream, group: None })?;
    keeper.wait_until_ready()?;
    Ok(keeper)
}

/// Returns a name that is unique to this process and to this group among its own.
fn unique_name() -> String {
    static N_MADE: AtomicU64 = AtomicU64::new(0);
    format!("foretop-load-{}-{}", process::id(), N_MADE.fetch_add(1, Ordering::Relaxed))
}
