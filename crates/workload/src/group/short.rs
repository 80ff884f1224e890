//! A control group with a limit on memory or on the speed of a device, for programs that are to be short of it.
//!
//! Files: `Documentation/admin-guide/cgroup-v1/memory.rst` and `blkio-controller.rst` for version 1,
//! `Documentation/admin-guide/cgroup-v2.rst` for version 2.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::hierarchy::{Place, Version};
use super::unique_name;
use crate::LoadError;

/// Pauses until a group is given up that its last process does not leave: a second in all.
const N_TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A control group whose processes together have too little of something. Removed when dropped, if no process is in it
/// any more.
#[derive(Debug)]
pub struct ShortGroup(PathBuf);

/// A block device, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Number of its driver.
    pub major: u32,
    /// Number among the devices of its driver.
    pub minor: u32,
}

impl ShortGroup {
    /// One with so much memory; what is beyond goes to swap, where there is some.
    ///
    /// # Errors
    /// When this host has no control groups for memory, or the kernel refuses.
    pub fn of_memory(size_bytes: u64) -> Result<Self, LoadError> {
        Self::make(Place::find("memory")?, |version| match version {
            Version::One => ("memory.limit_in_bytes", size_bytes.to_string()),
            Version::Two => ("memory.max", size_bytes.to_string()),
        })
    }

    /// One that reads at most so much from a device in a second. What is in the page cache already is not read from it.
    ///
    /// # Errors
    /// When this host has no control groups for devices, or the kernel refuses.
    pub fn of_reads(device: Device, bytes_per_sec: u64) -> Result<Self, LoadError> {
        let mut place = Place::find("blkio")?;
        if place.version == Version::Two {
            place.controller = "io";
        }
        let Device { major, minor } = device;
        Self::make(place, |version| match version {
            Version::One => ("blkio.throttle.read_bps_device", format!("{major}:{minor} {bytes_per_sec}")),
            Version::Two => ("io.max", format!("{major}:{minor} rbps={bytes_per_sec}")),
        })
    }

    fn make(place: Place, limit: impl FnOnce(Version) -> (&'static str, String)) -> Result<Self, LoadError> {
        let group = place.make(&unique_name()).map_err(|(parent, source)| LoadError::Group { parent, source })?;
        let group = Self(group);
        let (file, limit) = limit(place.version);
        let file = group.0.join(file);
        fs::write(&file, &limit).map_err(|source| LoadError::Short { file, limit, source })?;
        Ok(group)
    }

    /// Its directory, where the kernel's files about it are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.0
    }

    /// Returns the number of processes that the kernel has killed in it for want of memory.
    #[must_use]
    pub fn n_killed(&self) -> u64 {
        // Of the two versions of control groups, each has one of the files.
        let texts = ["memory.oom_control", "memory.events"].map(|file| fs::read_to_string(self.0.join(file)));
        let texts: String = texts.into_iter().flatten().collect();
        let counts = texts.lines().filter_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok());
        counts.sum()
    }

    /// Starts this program in the group: a shell enters it and becomes the program.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ >\"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs")).arg(program);
        command
    }
}

impl Drop for ShortGroup {
    fn drop(&mut self) {
        // What was killed for want of memory is still on its way out. Where a process stays, the group does, to be seen
        // there.
        for _ in 0..N_TRIES {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            clock::sleep(PAUSE);
        }
    }
}
