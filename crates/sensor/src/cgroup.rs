//! The container that this process is in: the use and the limits of its control group, parents taken into account.
//!
//! A service of the host's is a container in this sense. Groups above the root of a cgroup namespace cannot be seen.

mod cpu;
mod hierarchy;
mod memory;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub(crate) use cpu::CgroupCpu;
pub(crate) use hierarchy::{CgroupController, CgroupHierarchy, CgroupVersion};
pub(crate) use memory::CgroupMemory;

use crate::error::Absence;
use crate::{host::n_cores, memory::total_bytes};

/// Limits of the container that this process is in. Only those that are tighter than the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContainerLimits {
    /// Most memory that the container may use, in bytes.
    pub memory_bytes: Option<u64>,
    /// Most cores that the container may use.
    pub cpu_cores: Option<f64>,
}

impl ContainerLimits {
    /// Reads the limits of this process's control group and of those above it, from the files under `root`. A limit
    /// that cannot be read is none.
    #[must_use]
    pub fn read(root: &Path) -> ContainerLimits {
        let text = &mut Vec::new();
        let memory = CgroupMemory::open(root).ok().and_then(|memory| memory.limit_bytes(text).ok()?);
        let cpu = CgroupCpu::open(root).ok().and_then(|cpu| cpu.limit_cores(text).ok()?);
        ContainerLimits {
            memory_bytes: memory,
            cpu_cores: cpu.filter(|&limit| n_cores(root).is_none_or(|n_cores| limit < n_cores as f64)),
        }
    }
}

/// The control group of this process, and those above it.
struct Own {
    hierarchy: CgroupHierarchy,
    /// The group itself, as the directory below the mount point.
    directory: PathBuf,
    /// The group itself and those above it, as far as they can have a limit.
    limitable: Vec<PathBuf>,
}

impl Own {
    fn find(root: &Path, controller: CgroupController) -> Result<Own, Absence> {
        let text = fs::read(root.join("proc/self/cgroup")).map_err(|_| Absence::NoCgroup)?;
        let found =
            [CgroupVersion::V1, CgroupVersion::V2].map(|version| Own::find_in(root, &text, version, controller));
        // If version 1 has the controller, the hierarchy of version 2 still counts the use of each group.
        let [by_v1, by_v2] = found;
        by_v1.or_else(|of_v1| by_v2.map_err(|of_v2| if matches!(of_v2, Absence::NoCgroup) { of_v1 } else { of_v2 }))
    }

    fn find_in(root: &Path, text: &[u8], version: CgroupVersion, controller: CgroupController) -> Result<Own, Absence> {
        let path = controller.path_in(text, version).ok_or(Absence::NoCgroup)?;
        let unseen = || match path {
            b"/" => Absence::RootCgroup,
            _ => Absence::UnseenCgroup { path: String::from_utf8_lossy(path).into_owned() },
        };
        let hierarchy = CgroupHierarchy::open(root, version, controller).ok_or_else(unseen)?;
        let directory = hierarchy.directory_in(text).ok_or_else(unseen)?;
        let is_below = !directory.as_os_str().is_empty();
        let limitable = directory.ancestors().filter(|directory| hierarchy.is_limitable(directory));
        let limitable: Vec<PathBuf> = limitable.map(Path::to_owned).collect();
        if is_below || !limitable.is_empty() { Ok(Own { hierarchy, directory, limitable }) } else { Err(unseen()) }
    }
}
