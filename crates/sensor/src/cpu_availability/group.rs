//! Groups that share as one: control groups of version 2 or 1, and the sessions that the kernel groups by itself.
//!
//! Formats: `Documentation/admin-guide/cgroup-v2.rst`, "CPU Interface Files";
//! `Documentation/scheduler/sched-design-CFS.rst`, section 7; `sched(7)`, "The autogroup feature".

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::cgroup::{CgroupController, CgroupHierarchy, CgroupVersion};
use crate::file::{fields, number, value_of};

use super::{
    model::{FULL_WEIGHT, Group},
    task::{IDLE_WEIGHT, weight_of},
};

/// The time for which the settings of a control group are kept before they are read again.
const SETTINGS_KEPT: Duration = Duration::from_secs(10);

/// The weight that a control group of version 2 has by default, and that stands for [`FULL_WEIGHT`].
const WEIGHT_DEFAULT: f64 = 100.0;

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
    hierarchy: Option<CgroupHierarchy>,
    has_sessions: bool,
    settings: HashMap<PathBuf, Settings>,
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
        let is_of_v1 = CgroupController::Cpu.path_in(&own, CgroupVersion::V1).is_some();
        let version = if is_of_v1 { CgroupVersion::V1 } else { CgroupVersion::V2 };
        let hierarchy = CgroupHierarchy::open(root, version, CgroupController::Cpu);
        Groups { proc, hierarchy, has_sessions, settings: HashMap::new() }
    }

    /// Returns the place of the process `pid`, or of this one for `self`. The root if the files of the process cannot
    /// be read.
    pub(crate) fn place_of(&mut self, pid: &str, at: Duration) -> Place {
        let directory = self.hierarchy.as_ref().and_then(|hierarchy| {
            let text = fs::read(self.proc.join(pid).join("cgroup")).ok()?;
            hierarchy.directory_in(&text)
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
        let (Place::Directory(directory), Some(hierarchy)) = (place, &self.hierarchy) else { return None };
        let directory = hierarchy.path.join(directory);
        match hierarchy.version {
            CgroupVersion::V2 => {
                let used_us = value_of(&fs::read(directory.join("cpu.stat")).ok()?, "usage_usec")?;
                Some(used_us as f64 * 1e-6)
            }
            CgroupVersion::V1 => {
                Some(number(fs::read(directory.join("cpuacct.usage")).ok()?.trim_ascii())? as f64 * 1e-9)
            }
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
        let group = self.hierarchy.as_ref().and_then(|hierarchy| read_settings(hierarchy, directory));
        self.settings.insert(directory.to_owned(), Settings { group, read_at: at });
        group
    }
}

fn read_settings(hierarchy: &CgroupHierarchy, directory: &Path) -> Option<(f64, f64)> {
    let count = |file: &str| number(fs::read(hierarchy.path.join(directory).join(file)).ok()?.trim_ascii());
    let limit = hierarchy.cpu_limit(directory, &mut Vec::new()).ok().flatten();
    let is_idle = count("cpu.idle") == Some(1);
    let weight = match hierarchy.version {
        // A host's root has no weight; a container's root is a group as any other.
        CgroupVersion::V2 => count("cpu.weight")? as f64 * FULL_WEIGHT / WEIGHT_DEFAULT,
        // The root has the file too, but its limit cannot be set, and it weighs against nothing.
        CgroupVersion::V1 if directory.as_os_str().is_empty() && limit.is_none() => return None,
        CgroupVersion::V1 => count("cpu.shares")? as f64,
    };
    Some((if is_idle { IDLE_WEIGHT } else { weight.max(1.0) }, limit.unwrap_or(f64::INFINITY)))
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
    fn a_session_has_a_number_and_a_nice_level() {
        assert_eq!(parse_session(b"/autogroup-487 nice -5\n"), Some(Place::Session(487, -5)));
        assert_eq!(parse_session(b""), None);
        assert_eq!(parse_session(b"/autogroup-x nice 0\n"), None);
    }
}
