//! Groups that share as one: control groups of version 2 or 1, and the sessions that the kernel groups by itself.
//!
//! Formats: `Documentation/admin-guide/cgroup-v2.rst`, "CPU Interface Files";
//! `Documentation/scheduler/sched-design-CFS.rst`, section 7; `sched(7)`, "The autogroup feature".

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use crate::file::{fields, hierarchies, number, value_of};

use super::{
    model::{FULL_WEIGHT, Group},
    task::{IDLE_WEIGHT, weight_of},
};

/// The time for which the settings of a control group are kept before they are read again.
const SETTINGS_KEPT: Duration = Duration::from_secs(10);

/// The weight that a control group of version 2 has by default, and that stands for [`FULL_WEIGHT`].
const WEIGHT_DEFAULT: f64 = 100.0;

/// The mount points of the hierarchy of version 2: by itself, or beside the hierarchies of version 1.
const MOUNTS_V2: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// The mount points of the hierarchy of version 1 that has the CPU in it.
const MOUNTS_V1: [&str; 2] = ["sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu"];

/// The group that a task shares with, as a name that stays the same from one reading to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Everything.
    Root,
    /// The others of its session, by the number and the nice level of the kernel's group for it.
    Session(u64, i8),
    /// The others of its control group, by the path below the mount point.
    Directory(PathBuf),
}

/// The groups of a host, as far as tasks in them were met.
#[derive(Debug)]
pub(crate) struct Groups {
    proc: PathBuf,
    mount: Option<Mount>,
    has_sessions: bool,
    settings: HashMap<PathBuf, Settings>,
}

/// A mounted hierarchy with the CPU in it.
#[derive(Debug)]
struct Mount {
    path: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// The settings of a control group.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// None when the CPU is not handed out at this level, so that its tasks are its parent's.
    group: Option<(f64, f64)>,
    read_at: Duration,
}

impl Groups {
    pub(crate) fn open(root: &Path) -> Groups {
        let proc = root.join("proc");
        let own = fs::read(proc.join("self/cgroup")).unwrap_or_default();
        let enabled = fs::read(proc.join("sys/kernel/sched_autogroup_enabled")).unwrap_or_default();
        let has_sessions = enabled.trim_ascii() == b"1";
        Groups { proc, mount: Mount::find(root, &own), has_sessions, settings: HashMap::new() }
    }

    /// Returns the place of the process `pid`, or of this one for `self`. The root if the files of the process cannot
    /// be read.
    pub(crate) fn place_of(&mut self, pid: &str, at: Duration) -> Place {
        let directory = self.mount.as_ref().and_then(|mount| {
            let text = fs::read(self.proc.join(pid).join("cgroup")).ok()?;
            mount.directory_in(&text)
        });
        if let Some(directory) = directory.filter(|directory| self.is_grouped(directory, at)) {
            return Place::Directory(directory);
        }
        if !self.has_sessions {
            return Place::Root;
        }
        let text = fs::read(self.proc.join(pid).join("autogroup")).unwrap_or_default();
        parse_session(&text).unwrap_or(Place::Root)
    }

    /// Whether there is a process `pid`.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.proc.join(pid.to_string()).is_dir()
    }

    /// The text of the `status` of the process `pid`, or of this one for `self`.
    pub(crate) fn status_of(&self, pid: &str) -> Option<Vec<u8>> {
        fs::read(self.proc.join(pid).join("status")).ok()
    }

    /// The CPU time that the control group at `place` has used, in seconds, if it counts that.
    pub(crate) fn used_s(&self, place: &Place) -> Option<f64> {
        let (Place::Directory(directory), Some(mount)) = (place, &self.mount) else { return None };
        let directory = mount.path.join(directory);
        match mount.version {
            Version::V2 => {
                let used_us = value_of(&fs::read(directory.join("cpu.stat")).ok()?, "usage_usec")?;
                Some(used_us as f64 * 1e-6)
            }
            Version::V1 => Some(number(fs::read(directory.join("cpuacct.usage")).ok()?.trim_ascii())? as f64 * 1e-9),
        }
    }

    /// Forgets settings that nobody asked for in a while.
    pub(crate) fn forget_old(&mut self, at: Duration) {
        self.settings.retain(|_, settings| at.saturating_sub(settings.read_at) < 2 * SETTINGS_KEPT);
    }

    /// Whether any group on the way to `directory` has a weight.
    fn is_grouped(&mut self, directory: &Path, at: Duration) -> bool {
        directory.ancestors().any(|ancestor| self.settings(ancestor, at).is_some())
    }

    /// Weight and limit of the control group at `directory`, if the CPU is handed out there.
    fn settings(&mut self, directory: &Path, at: Duration) -> Option<(f64, f64)> {
        if let Some(known) = self.settings.get(directory)
            && at.saturating_sub(known.read_at) < SETTINGS_KEPT
        {
            return known.group;
        }
        let group = self.mount.as_ref().and_then(|mount| mount.read_settings(directory));
        self.settings.insert(directory.to_owned(), Settings { group, read_at: at });
        group
    }
}

impl Mount {
    /// The hierarchy that hands out the CPU to the process whose `/proc/PID/cgroup` says `own`.
    fn find(root: &Path, own: &[u8]) -> Option<Mount> {
        let version = if path_in(own, Version::V1).is_some() { Version::V1 } else { Version::V2 };
        let mounts = match version {
            Version::V1 => MOUNTS_V1,
            Version::V2 => MOUNTS_V2,
        };
        let is_mounted = |path: &PathBuf| match version {
            Version::V1 => path.join("cpu.shares").is_file(),
            Version::V2 => path.join("cpu.stat").is_file(),
        };
        let path = mounts.map(|mount| root.join(mount)).into_iter().find(is_mounted)?;
        Some(Mount { path, version })
    }

    /// The directory below the mount point, of the process whose `/proc/PID/cgroup` says `text`.
    ///
    /// In a container its own group may be mounted in the place of the root, while the path is that outside.
    fn directory_in(&self, text: &[u8]) -> Option<PathBuf> {
        let path = Path::new(OsStr::from_bytes(path_in(text, self.version)?));
        let below = path.strip_prefix("/").unwrap_or(path);
        // A process outside the namespace's root is none that is shared with inside of it.
        if below.components().any(|component| component == Component::ParentDir) {
            return None;
        }
        Some(if self.path.join(below).is_dir() { below.to_owned() } else { PathBuf::new() })
    }

    fn read_settings(&self, directory: &Path) -> Option<(f64, f64)> {
        let read = |file: &str| fs::read(self.path.join(directory).join(file)).ok();
        let count = |file: &str| number(read(file)?.trim_ascii());
        match self.version {
            Version::V2 => {
                // A host's root has no weight; a container's root is a group as any other.
                let weight = count("cpu.weight")? as f64 * FULL_WEIGHT / WEIGHT_DEFAULT;
                let is_idle = count("cpu.idle") == Some(1);
                let limit = read("cpu.max").as_deref().and_then(parse_max);
                Some((if is_idle { IDLE_WEIGHT } else { weight.max(1.0) }, limit.unwrap_or(f64::INFINITY)))
            }
            Version::V1 => {
                // The root has the file too, but its limit cannot be set, and it weighs against nothing.
                let quota = count("cpu.cfs_quota_us").filter(|&quota| quota > 0);
                let period = count("cpu.cfs_period_us").filter(|&period| period > 0);
                let limit = quota.zip(period).map(|(quota, period)| quota as f64 / period as f64);
                if directory.as_os_str().is_empty() && limit.is_none() {
                    return None;
                }
                let weight = if count("cpu.idle") == Some(1) { IDLE_WEIGHT } else { count("cpu.shares")? as f64 };
                Some((weight.max(1.0), limit.unwrap_or(f64::INFINITY)))
            }
        }
    }
}

/// The path in the text of a `/proc/PID/cgroup`, in the hierarchy that has the CPU in it.
fn path_in(text: &[u8], version: Version) -> Option<&[u8]> {
    let mut found = hierarchies(text).filter(|(number, controllers, _)| match version {
        Version::V1 => controllers.split(|&byte| byte == b',').any(|controller| controller == b"cpu"),
        Version::V2 => *number == b"0",
    });
    found.next().map(|(_, _, path)| path)
}

/// The limit in cores that `cpu.max` says, if there is one.
fn parse_max(text: &[u8]) -> Option<f64> {
    let mut given = fields(text.trim_ascii_end());
    let (quota, period) = (number(given.next()?)?, number(given.next()?)?);
    (period > 0).then(|| quota as f64 / period as f64)
}

/// `/autogroup-487 nice 0`; a task in none, as the kernel's own are, has an empty file.
fn parse_session(text: &[u8]) -> Option<Place> {
    let mut given = fields(text.trim_ascii_end());
    let id = number(given.next()?.strip_prefix(b"/autogroup-")?)?;
    let nice = std::str::from_utf8(given.nth(1)?).ok()?.parse().ok()?;
    Some(Place::Session(id, nice))
}

/// The groups of one reading, numbered for the model.
#[derive(Debug)]
pub(crate) struct Numbering {
    pub(crate) groups: Vec<Group>,
    positions: HashMap<Place, usize>,
}

impl Numbering {
    pub(crate) fn new() -> Numbering {
        Numbering { groups: vec![Group::ROOT], positions: HashMap::from([(Place::Root, 0)]) }
    }

    /// The position of `place`, added with all above it if it was not there.
    pub(crate) fn position(&mut self, place: &Place, known: &mut Groups, at: Duration) -> usize {
        if let Some(&position) = self.positions.get(place) {
            return position;
        }
        let (parent, settings) = match place {
            Place::Root => (0, None),
            Place::Session(_, nice) => (0, Some((weight_of(*nice), f64::INFINITY))),
            Place::Directory(directory) => {
                let above = directory.parent().map_or(Place::Root, |parent| Place::Directory(parent.to_owned()));
                (self.position(&above, known, at), known.settings(directory, at))
            }
        };
        let position = settings.map_or(parent, |(weight, limit)| {
            self.groups.push(Group { parent, weight, limit });
            self.groups.len() - 1
        });
        self.positions.insert(place.clone(), position);
        position
    }

    /// Whether `group` is `ancestor` or below it.
    pub(crate) fn is_below(&self, mut group: usize, ancestor: usize) -> bool {
        while group != ancestor && group != 0 {
            group = self.groups[group].parent;
        }
        group == ancestor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_that_of_the_hierarchy_with_the_cpu() {
        let text = b"4:memory:/m\n1:cpu,cpuacct:/a:b\n0::/user.slice\n";
        assert_eq!(path_in(text, Version::V1), Some(&b"/a:b"[..]));
        assert_eq!(path_in(text, Version::V2), Some(&b"/user.slice"[..]));
        assert_eq!(path_in(b"3:cpuset:/\n", Version::V1), None);
    }

    #[test]
    fn a_session_has_a_number_and_a_nice_level() {
        assert_eq!(parse_session(b"/autogroup-487 nice -5\n"), Some(Place::Session(487, -5)));
        assert_eq!(parse_session(b""), None);
        assert_eq!(parse_session(b"/autogroup-x nice 0\n"), None);
    }

    #[test]
    fn a_limit_is_a_quota_over_a_period() {
        assert_eq!(parse_max(b"50000 100000\n"), Some(0.5));
        assert_eq!(parse_max(b"max 100000\n"), None);
        assert_eq!(parse_max(b"5 0\n"), None);
    }
}
