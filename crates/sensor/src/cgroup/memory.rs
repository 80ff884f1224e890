//! The memory of the container that this process is in: its use, its limit, what is left, pressure and kills.
//!
//! Formats: `Documentation/admin-guide/cgroup-v2.rst`, "Memory Interface Files";
//! `Documentation/admin-guide/cgroup-v1/memory.rst`, section 5.2.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use signal::{Family, Signal, row};

use super::hierarchy::whole;
use super::{CgroupController, CgroupHierarchy, CgroupVersion, Own, total_bytes};
use crate::ReadError;
use crate::counter::Rate;
use crate::error::Absence;
use crate::file::{KernelFile, value_of};
use crate::pressure::Pressure;
use crate::tick::{Sensor, Tick};

const USED: &Family = row("cgroup.memory.used");
const LIMIT: &Family = row("cgroup.memory.limit");
const AVAILABLE: &Family = row("cgroup.memory.available");
const PRESSURE: &Family = row("cgroup.memory.pressure");
const KILLS: &Family = row("cgroup.memory.kills");

/// Memory that the kernel takes back before it kills: file pages that are neither locked nor of a tmpfs, and the slabs
/// that it counts as reclaimable. For a host, `MemAvailable` counts the same.
const RECLAIMABLE_V2: [&str; 3] = ["active_file", "inactive_file", "slab_reclaimable"];

/// CgroupVersion 1 does not count slabs. The totals include the groups below.
const RECLAIMABLE_V1: [&str; 2] = ["total_active_file", "total_inactive_file"];

/// The memory of a container.
pub(crate) struct CgroupMemory {
    hierarchy: CgroupHierarchy,
    /// The group itself, and those above it whose limits count.
    groups: Vec<PathBuf>,
    /// The memory of the host: a limit that is not below it is none.
    host_bytes: u64,
    kills_file: KernelFile,
    kills: Rate,
    pressure: Option<Pressure>,
    used: Arc<Signal>,
    limit: Arc<Signal>,
    available: Arc<Signal>,
}

impl CgroupMemory {
    pub(crate) fn open(root: &Path) -> Result<CgroupMemory, Absence> {
        let Own { hierarchy, limitable: mut groups, .. } = Own::find(root, CgroupController::Memory)?;
        let kills_file = match hierarchy.version {
            CgroupVersion::V2 => "memory.events",
            CgroupVersion::V1 => {
                groups.truncate(1 + n_parents_that_count(&hierarchy, &groups));
                "memory.oom_control"
            }
        };
        let own = groups.first().ok_or(Absence::NoMemoryCgroup)?;
        let host_bytes = total_bytes(root);
        let signal = |family| {
            let signal = Signal::listed(family, None);
            Arc::new(match host_bytes {
                Some(bytes) => signal.up_to(bytes as f64),
                None => signal,
            })
        };
        Ok(CgroupMemory {
            kills_file: hierarchy.file(own, kills_file),
            kills: Rate::new(Signal::only(KILLS), 1.0),
            pressure: Pressure::at(hierarchy.path.join(own).join("memory.pressure"), PRESSURE),
            used: signal(USED),
            limit: signal(LIMIT),
            available: signal(AVAILABLE),
            host_bytes: host_bytes.unwrap_or(u64::MAX),
            hierarchy,
            groups,
        })
    }

    /// The tightest limit, in bytes.
    pub(super) fn limit_bytes(&self, text: &mut Vec<u8>) -> Result<Option<u64>, ReadError> {
        let mut tightest = None;
        for group in &self.groups {
            let limit = self.limit_of(group, text)?;
            tightest = tightest.into_iter().chain(limit).min();
        }
        Ok(tightest)
    }

    fn limit_of(&self, group: &Path, text: &mut Vec<u8>) -> Result<Option<u64>, ReadError> {
        Ok(self.hierarchy.memory_limit(group, text)?.filter(|&limit| limit < self.host_bytes))
    }

    /// The memory that `group` uses and that the kernel cannot take back, in bytes.
    fn used_by(&self, group: &Path, text: &mut Vec<u8>) -> Result<u64, ReadError> {
        let (usage, reclaimable) = match self.hierarchy.version {
            CgroupVersion::V2 => ("memory.current", &RECLAIMABLE_V2[..]),
            CgroupVersion::V1 => ("memory.usage_in_bytes", &RECLAIMABLE_V1[..]),
        };
        let file = self.hierarchy.file(group, usage);
        let usage = whole(&file, file.read(text)?)?;
        let file = self.hierarchy.file(group, "memory.stat");
        let stat = file.read(text)?;
        value_of(stat, reclaimable[0]).ok_or_else(|| file.malformed("a line about active pages of files", stat))?;
        // A kernel that does not account for its own memory has no slabs. The files are not of one moment, so that the
        // sum can exceed the usage.
        let reclaimable = reclaimable.iter().filter_map(|key| value_of(stat, key));
        Ok(usage.saturating_sub(reclaimable.sum()))
    }
}

impl Sensor for CgroupMemory {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let (mut tightest, mut available) = (None, None);
        for (idx, group) in self.groups.iter().enumerate() {
            let limit = self.limit_of(group, tick.text)?;
            // To read the use of a large group takes the kernel a while.
            if idx > 0 && limit.is_none() {
                continue;
            }
            let used = self.used_by(group, tick.text)?;
            if idx == 0 {
                tick.readings.push(&self.used, used as f64);
            }
            tightest = tightest.into_iter().chain(limit).min();
            available = available.into_iter().chain(limit.map(|limit| limit.saturating_sub(used))).min();
        }
        tick.readings.push_some(&self.limit, tightest.map(|bytes| bytes as f64));
        tick.readings.push_some(&self.available, available.map(|bytes| bytes as f64));
        // Kernels before 4.13 do not count the kills of version 1.
        if let Some(n_kills) = value_of(self.kills_file.read(tick.text)?, "oom_kill") {
            self.kills.step(tick.at, n_kills, tick.readings);
        }
        self.pressure.as_mut().map_or(Ok(()), |pressure| pressure.read(tick))
    }
}

/// The number of groups above the first that limit it: in version 1 only those that count the groups below them.
fn n_parents_that_count(hierarchy: &CgroupHierarchy, groups: &[PathBuf]) -> usize {
    let counts = |group: &&PathBuf| {
        let text = &mut Vec::new();
        let file = hierarchy.file(group, "memory.use_hierarchy");
        // Missing where it cannot be turned off.
        file.read(text).map_or(true, |text| text.trim_ascii() != b"0")
    };
    groups.iter().skip(1).take_while(counts).count()
}
