//! A control group with a limit on memory, for programs that are to be short of it.
//!
//! Files: `Documentation/admin-guide/cgroup-v1/memory.rst` for version 1, `Documentation/admin-guide/cgroup-v2.rst` for version 2.

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

/// A control group whose processes together have so much memory; what is beyond goes to swap, where there is some. Removed when dropped,
/// if no process is in it any more.
#[derive(Debug)]
pub struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// Makes one with this limit.
    ///
    /// # Errors
    /// When this host has no control groups for memory, or the kernel refuses.
    pub fn make(size_bytes: u64) -> Result<Self, LoadError> {
        let place = Place::find("memory")?;
        let group = place.make(&unique_name()).map_err(|(parent, source)| LoadError::Group { parent, source })?;
        let group = Self(group);
        let file = match place.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        let limited = fs::write(group.0.join(file), size_bytes.to_string());
        limited.map_err(|source| LoadError::MemoryLimit { group: group.0.clone(), size_bytes, source })?;
        Ok(group)
    }

    /// Its directory, where the kernel's files about it are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.0
    }

    /// Starts this program in the group: a shell enters it and becomes the program.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ >\"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs")).arg(program);
        command
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // What was killed for want of memory is still on its way out. Where a process stays, the group does, to be seen there.
        for _ in 0..N_TRIES {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            clock::sleep(PAUSE);
        }
    }
}
