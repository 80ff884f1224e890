//! Where control groups are: the mounts of this process, and its place among them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use procfs::{
    ProcessCGroups,
    process::{MountInfos, Process},
};

use crate::LoadError;

/// Which rules the files follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// This process's place in the hierarchy that has the CPU controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub version: Version,
    /// The directory where the hierarchy is mounted.
    pub top: PathBuf,
    /// The directory of this process's group.
    pub own: PathBuf,
}

impl Place {
    /// # Errors
    /// When no hierarchy is mounted that could limit the CPU.
    pub(super) fn find() -> Result<Place, LoadError> {
        let own = Process::myself().map_err(|_| LoadError::NoControlGroups)?;
        let (Ok(mounts), Ok(groups)) = (own.mountinfo(), own.cgroups()) else {
            return Err(LoadError::NoControlGroups);
        };
        Place::among(&mounts, &groups).ok_or(LoadError::NoControlGroups)
    }

    /// A controller is in one hierarchy only: in one of version 1, or else in that of version 2.
    fn among(mounts: &MountInfos, groups: &ProcessCGroups) -> Option<Place> {
        let is_cpu = |name: &String| name == "cpu";
        let first = groups.0.iter().find(|group| group.controllers.iter().any(is_cpu));
        let (group, version) = match first {
            Some(group) => (group, Version::One),
            None => (groups.0.iter().find(|group| group.hierarchy == 0)?, Version::Two),
        };
        let has_cpu = |mount: &&procfs::process::MountInfo| match version {
            Version::One => mount.fs_type == "cgroup" && mount.super_options.contains_key("cpu"),
            Version::Two => mount.fs_type == "cgroup2",
        };
        // In a container, what is mounted may be its own group in the place of the top.
        mounts.0.iter().filter(has_cpu).find_map(|mount| {
            let below = Path::new(&group.pathname).strip_prefix(&mount.root).ok()?;
            Some(Place { version, top: mount.mount_point.clone(), own: mount.mount_point.join(below) })
        })
    }

    /// Makes a group that the CPU controller is at work in.
    ///
    /// Below this process's own group if it may have such children, or else beside it, or further up: in version 2 a group
    /// with processes in it has no children with controllers, the top excepted.
    ///
    /// # Errors
    /// With where it was tried first, and what the system said there.
    pub(super) fn make(&self, name: &str) -> Result<PathBuf, (PathBuf, io::Error)> {
        let mut refused = None;
        for parent in self.own.ancestors().take_while(|directory| directory.starts_with(&self.top)) {
            let directory = parent.join(name);
            match self.hand_out_cpu(parent).and_then(|()| fs::create_dir(&directory)) {
                Ok(()) => return Ok(directory),
                Err(error) => _ = refused.get_or_insert((parent.to_owned(), error)),
            }
        }
        Err(refused.unwrap_or_else(|| (self.own.clone(), io::ErrorKind::NotFound.into())))
    }

    /// Sees to it that children of this group have the CPU controller.
    fn hand_out_cpu(&self, group: &Path) -> io::Result<()> {
        let control = group.join("cgroup.subtree_control");
        if self.version == Version::One || fs::read_to_string(&control)?.split_whitespace().any(|name| name == "cpu") {
            return Ok(());
        }
        fs::write(control, "+cpu")
    }
}
