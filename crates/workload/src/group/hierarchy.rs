//! Places of control groups: the mounts of this process, and its place among them.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use procfs::{
    ProcessCGroups,
    process::{MountInfo, MountInfos, Process},
};

use crate::LoadError;

/// Version of control groups, whose rules the files follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// This process's place in the hierarchy that has a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// `cpu`, `memory`, or that of devices: `blkio`, in version 2 `io`.
    pub controller: &'static str,
    pub version: Version,
    /// The directory where the hierarchy is mounted.
    pub top: PathBuf,
    /// The directory of this process's group.
    pub own: PathBuf,
}

impl Place {
    /// # Errors
    /// When no hierarchy is mounted that has this controller.
    pub(super) fn find(controller: &'static str) -> Result<Place, LoadError> {
        let none = || LoadError::NoControlGroups { controller };
        let own = Process::myself().map_err(|_| none())?;
        let (Ok(mounts), Ok(groups)) = (own.mountinfo(), own.cgroups()) else {
            return Err(none());
        };
        Place::among(controller, &mounts, &groups).ok_or_else(none)
    }

    /// A controller is in one hierarchy only: in one of version 1, or else in that of version 2.
    fn among(controller: &'static str, mounts: &MountInfos, groups: &ProcessCGroups) -> Option<Place> {
        let is_it = |name: &String| name == controller;
        let first = groups.0.iter().find(|group| group.controllers.iter().any(is_it));
        let (group, version) = match first {
            Some(group) => (group, Version::One),
            None => (groups.0.iter().find(|group| group.hierarchy == 0)?, Version::Two),
        };
        let has_it = |mount: &&MountInfo| match version {
            Version::One => mount.fs_type == "cgroup" && mount.super_options.contains_key(controller),
            Version::Two => mount.fs_type == "cgroup2",
        };
        // Workers are told paths as text.
        let is_text = |mount: &&MountInfo| mount.mount_point.to_str().is_some();
        // In a container, what is mounted may be its own group in the place of the top.
        mounts.0.iter().filter(has_it).filter(is_text).find_map(|mount| {
            let below = Path::new(&group.pathname).strip_prefix(&mount.root).ok()?;
            // A process outside its namespace's top has a path that leads up and away from all that is mounted.
            let is_seen = !below.components().any(|component| component == Component::ParentDir);
            let (top, own) = (mount.mount_point.clone(), mount.mount_point.join(below));
            is_seen.then_some(Place { controller, version, top, own })
        })
    }

    /// Makes a group that the controller is at work in.
    ///
    /// Below this process's own group if it may have such children, or else beside it, or further up: in version 2 a
    /// group with processes in it has no children with controllers, the top excepted.
    ///
    /// # Errors
    /// With where it was tried first, and what the system said there.
    pub(super) fn make(&self, name: &str) -> Result<PathBuf, (PathBuf, io::Error)> {
        let mut refused = None;
        for parent in self.own.ancestors().take_while(|directory| directory.starts_with(&self.top)) {
            let directory = parent.join(name);
            match self.hand_out(parent).and_then(|()| fs::create_dir(&directory)) {
                Ok(()) => return Ok(directory),
                Err(error) => _ = refused.get_or_insert((parent.to_owned(), error)),
            }
        }
        Err(refused.unwrap_or_else(|| (self.own.clone(), io::ErrorKind::NotFound.into())))
    }

    /// Sees to it that children of this group have the controller.
    fn hand_out(&self, group: &Path) -> io::Result<()> {
        let control = group.join("cgroup.subtree_control");
        let is_there = |text: String| text.split_whitespace().any(|name| name == self.controller);
        if self.version == Version::One || is_there(fs::read_to_string(&control)?) {
            return Ok(());
        }
        fs::write(control, format!("+{}", self.controller))
    }
}

#[cfg(test)]
mod tests {
    use procfs::{FromBufRead, FromRead};

    use super::*;

    /// Mount tables, in the format of `/proc/self/mountinfo`.
    const OLD: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                       38 31 0:35 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                       41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const NEW: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

    fn place(mounts: &str, groups: &str) -> Option<(Version, PathBuf, PathBuf)> {
        let mounts = MountInfos::from_buf_read(mounts.as_bytes()).unwrap();
        let place = Place::among("cpu", &mounts, &ProcessCGroups::from_read(groups.as_bytes()).unwrap())?;
        Some((place.version, place.top, place.own))
    }

    #[track_caller]
    fn check_place(mounts: &str, groups: &str, version: Version, top: &str, own: &str) {
        assert_eq!(place(mounts, groups), Some((version, top.into(), own.into())));
    }

    #[test]
    fn a_controller_of_version_1_is_found_in_its_own_hierarchy() {
        let groups = "8:pids:/other\n1:cpu,cpuacct:/user\n0::/user.slice\n";
        check_place(OLD, groups, Version::One, "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/user");
    }

    #[test]
    fn the_group_of_version_2_is_below_the_only_mount() {
        let own = "/sys/fs/cgroup/user.slice/a.scope";
        check_place(NEW, "0::/user.slice/a.scope\n", Version::Two, "/sys/fs/cgroup", own);
    }

    #[test]
    fn a_container_sees_its_own_group_at_the_top() {
        let mounts = "32 31 0:29 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        check_place(mounts, "1:cpu:/docker/ab\n", Version::One, "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu/");
    }

    #[test]
    fn a_host_without_control_groups_has_no_place() {
        assert_eq!(place("31 23 0:28 / /proc rw - proc proc rw\n", "0::/\n"), None);
        assert_eq!(place(NEW, ""), None);
        let elsewhere = "31 23 0:28 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(place(elsewhere, "0::/docker/cd\n"), None);
        assert_eq!(place(NEW, "0::/../cd\n"), None);
    }

    /// A tree of version 2: a top, a slice that hands the CPU out, and in it the scope that this process is in.
    fn tree() -> (tempfile::TempDir, Place) {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().join("user.slice/a.scope");
        fs::create_dir_all(&own).unwrap();
        fs::write(top.path().join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        fs::write(top.path().join("user.slice/cgroup.subtree_control"), "memory cpu\n").unwrap();
        let place = Place { controller: "cpu", version: Version::Two, top: top.path().to_owned(), own };
        (top, place)
    }

    #[test]
    fn a_group_of_version_2_is_made_beside_one_that_may_have_no_children() {
        // Without the file, as where the kernel refuses to change it.
        let (top, place) = tree();
        assert_eq!(place.make("load").unwrap(), top.path().join("user.slice/load"));
    }

    #[test]
    fn a_group_that_does_not_hand_the_cpu_out_is_asked_to() {
        let (top, place) = tree();
        fs::write(place.own.join("cgroup.subtree_control"), "memory\n").unwrap();
        assert_eq!(place.make("load").unwrap(), place.own.join("load"));
        assert_eq!(fs::read_to_string(place.own.join("cgroup.subtree_control")).unwrap(), "+cpu");
        drop(top);
    }

    #[test]
    fn a_refusal_names_where_it_was_tried_first() {
        let (top, place) = tree();
        fs::remove_file(top.path().join("cgroup.subtree_control")).unwrap();
        fs::remove_file(top.path().join("user.slice/cgroup.subtree_control")).unwrap();
        let (parent, error) = place.make("load").unwrap_err();
        assert_eq!((parent, error.kind()), (place.own, io::ErrorKind::NotFound));
    }

    #[test]
    fn a_group_of_version_1_is_made_below_the_own_one() {
        let (_top, place) = tree();
        let place = Place { version: Version::One, ..place };
        assert_eq!(place.make("load").unwrap(), place.own.join("load"));
    }
}
