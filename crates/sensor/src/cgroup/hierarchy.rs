//! Mounted hierarchies of control groups, of version 2 or 1, and the limits of the groups in them.
//!
//! Formats: `Documentation/admin-guide/cgroup-v2.rst`, "CPU" and "Memory";
//! `Documentation/admin-guide/cgroup-v1/memory.rst`; `Documentation/scheduler/sched-bwc.rst`.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use crate::ReadError;
use crate::file::{KernelFile, fields, hierarchies, number};

/// The mount points of the hierarchy of version 2: beside the hierarchies of version 1, or by itself.
const MOUNTS_V2: [&str; 2] = ["sys/fs/cgroup/unified", "sys/fs/cgroup"];

/// A resource that control groups divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CgroupController {
    Cpu,
    Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CgroupVersion {
    V1,
    V2,
}

/// A mounted hierarchy that has a controller in it, or could have.
#[derive(Clone, Debug)]
pub(crate) struct CgroupHierarchy {
    pub(crate) path: PathBuf,
    pub(crate) version: CgroupVersion,
    controller: CgroupController,
}

impl CgroupController {
    /// The mount points of the hierarchy of version 1, and a file that every group in it has.
    fn v1(self) -> (&'static [&'static str], &'static str) {
        match self {
            CgroupController::Cpu => (&["sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu"], "cpu.shares"),
            CgroupController::Memory => (&["sys/fs/cgroup/memory"], "memory.usage_in_bytes"),
        }
    }

    /// The path in the text of a `/proc/PID/cgroup`, in the hierarchy of this version.
    pub(crate) fn path_in(self, text: &[u8], version: CgroupVersion) -> Option<&[u8]> {
        let name: &[u8] = match self {
            CgroupController::Cpu => b"cpu",
            CgroupController::Memory => b"memory",
        };
        let mut found = hierarchies(text).filter(|(number, controllers, _)| match version {
            CgroupVersion::V1 => controllers.split(|&byte| byte == b',').any(|controller| controller == name),
            CgroupVersion::V2 => *number == b"0",
        });
        found.next().map(|(_, _, path)| path)
    }
}

impl CgroupHierarchy {
    /// The hierarchy of this version below `root`, if it is mounted in one of its usual places.
    pub(crate) fn open(root: &Path, version: CgroupVersion, controller: CgroupController) -> Option<CgroupHierarchy> {
        let (mounts, mark) = match version {
            CgroupVersion::V1 => controller.v1(),
            // Before Linux 5.8 its root has no file that the recorded hosts have.
            CgroupVersion::V2 => (&MOUNTS_V2[..], ""),
        };
        let path = mounts.iter().map(|mount| root.join(mount)).find(|path| path.join(mark).exists())?;
        Some(CgroupHierarchy { path, version, controller })
    }

    /// The directory below the mount point, of the process whose `/proc/PID/cgroup` has this `text`.
    ///
    /// In a container its own group may be mounted in the place of the root, while the path is that outside.
    pub(crate) fn directory_in(&self, text: &[u8]) -> Option<PathBuf> {
        let path = Path::new(OsStr::from_bytes(self.controller.path_in(text, self.version)?));
        let below = path.strip_prefix("/").unwrap_or(path);
        // A process outside the namespace's root is none that is shared with inside of it.
        if below.components().any(|component| component == Component::ParentDir) {
            return None;
        }
        Some(if self.path.join(below).is_dir() { below.to_owned() } else { PathBuf::new() })
    }

    /// Whether the group at `directory` can have a limit: not the root of a host, nor where the controller is off.
    ///
    /// A root of version 1 has the files of a limit too. Without a limit it counts as that of a host.
    pub(crate) fn is_limitable(&self, directory: &Path) -> bool {
        let file = match (self.version, self.controller) {
            (CgroupVersion::V2, CgroupController::Cpu) => "cpu.max",
            (CgroupVersion::V2, CgroupController::Memory) => "memory.max",
            (CgroupVersion::V1, CgroupController::Cpu) => "cpu.cfs_quota_us",
            (CgroupVersion::V1, CgroupController::Memory) => "memory.limit_in_bytes",
        };
        self.path.join(directory).join(file).is_file()
            && (self.version == CgroupVersion::V2 || !directory.as_os_str().is_empty() || self.has_limit(directory))
    }

    fn has_limit(&self, directory: &Path) -> bool {
        let text = &mut Vec::new();
        match self.controller {
            CgroupController::Cpu => self.cpu_limit(directory, text).is_ok_and(|limit| limit.is_some()),
            CgroupController::Memory => self.memory_limit(directory, text).is_ok_and(|limit| limit.is_some()),
        }
    }

    /// The file called `name` of the group at `directory`.
    pub(crate) fn file(&self, directory: &Path, name: &str) -> KernelFile {
        KernelFile::at(self.path.join(directory).join(name))
    }

    /// The limit of the group at `directory`, in cores, if it has one of its own. The text goes into `text`.
    pub(crate) fn cpu_limit(&self, directory: &Path, text: &mut Vec<u8>) -> Result<Option<f64>, ReadError> {
        let (quota, period) = match self.version {
            CgroupVersion::V2 => {
                let file = self.file(directory, "cpu.max");
                let text = file.read(text)?;
                parse_max(text).ok_or_else(|| file.malformed("a quota or `max`, and a period", text))?
            }
            CgroupVersion::V1 => {
                let file = self.file(directory, "cpu.cfs_quota_us");
                let quota = file.read(text)?.trim_ascii();
                let quota = if quota.starts_with(b"-") { None } else { Some(whole(&file, quota)?) };
                let file = self.file(directory, "cpu.cfs_period_us");
                (quota, whole(&file, file.read(text)?)?)
            }
        };
        // A period or a quota of 0 cannot be set.
        Ok(quota.filter(|&quota| quota > 0 && period > 0).map(|quota| quota as f64 / period as f64))
    }

    /// The limit of the group at `directory`, in bytes, if it has one of its own. The text goes into `text`.
    pub(crate) fn memory_limit(&self, directory: &Path, text: &mut Vec<u8>) -> Result<Option<u64>, ReadError> {
        match self.version {
            CgroupVersion::V2 => {
                let file = self.file(directory, "memory.max");
                let text = file.read(text)?.trim_ascii();
                if text == b"max" { Ok(None) } else { whole(&file, text).map(Some) }
            }
            CgroupVersion::V1 => {
                let file = self.file(directory, "memory.limit_in_bytes");
                let limit = whole(&file, file.read(text)?)?;
                // No limit is the greatest number of whole pages in 63 bits, whatever a page has.
                Ok(Some(limit).filter(|&limit| limit < i64::MAX as u64 / 2))
            }
        }
    }
}

/// The whole number that the `text` of `file` is.
pub(crate) fn whole(file: &KernelFile, text: &[u8]) -> Result<u64, ReadError> {
    number(text.trim_ascii()).ok_or_else(|| file.malformed("a whole number", text))
}

/// The quota, if there is one, and the period that `cpu.max` has.
fn parse_max(text: &[u8]) -> Option<(Option<u64>, u64)> {
    let mut given = fields(text.trim_ascii_end());
    let (quota, period) = (given.next()?, number(given.next()?).filter(|&period| period > 0)?);
    Some(if quota == b"max" { (None, period) } else { (Some(number(quota)?), period) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_that_of_the_hierarchy_with_the_controller() {
        let text = b"4:memory:/m\n1:cpu,cpuacct:/a:b\n0::/user.slice\n";
        assert_eq!(CgroupController::Cpu.path_in(text, CgroupVersion::V1), Some(&b"/a:b"[..]));
        assert_eq!(CgroupController::Memory.path_in(text, CgroupVersion::V1), Some(&b"/m"[..]));
        assert_eq!(CgroupController::Cpu.path_in(text, CgroupVersion::V2), Some(&b"/user.slice"[..]));
        assert_eq!(CgroupController::Cpu.path_in(b"3:cpuset:/\n", CgroupVersion::V1), None);
    }

    #[test]
    fn a_limit_is_a_quota_and_a_period() {
        assert_eq!(parse_max(b"150000 100000\n"), Some((Some(150_000), 100_000)));
        assert_eq!(parse_max(b"max 100000\n"), Some((None, 100_000)));
    }

    #[test]
    fn a_limit_without_a_period_is_refused() {
        for refused in [&b""[..], b"max", b"100000", b"100000 0", b"-1 100000"] {
            assert_eq!(parse_max(refused), None);
        }
    }
}
