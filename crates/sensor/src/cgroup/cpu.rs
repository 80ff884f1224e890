//! The CPU use, limit and throttling of the container that this process is in.
//!
//! Formats: `Documentation/admin-guide/cgroup-v2.rst`, "CPU Interface Files"; `Documentation/scheduler/sched-bwc.rst`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use signal::{Family, Signal, row};

use super::hierarchy::whole;
use super::{CgroupController, CgroupHierarchy, CgroupVersion, Own};
use crate::ReadError;
use crate::counter::Rate;
use crate::error::Absence;
use crate::file::{KernelFile, value_of};
use crate::tick::{Sensor, Tick};

const USED: &Family = row("cgroup.cpu.used");
const LIMIT: &Family = row("cgroup.cpu.limit");
const THROTTLED: &Family = row("cgroup.cpu.throttled");

const MICROSECOND: f64 = 1e-6;
const NANOSECOND: f64 = 1e-9;

/// The CPU of a container.
pub(crate) struct CgroupCpu {
    hierarchy: CgroupHierarchy,
    /// The CPU time that the group itself has used; none where version 1 counts it in another hierarchy.
    used: Option<(KernelFile, Rate)>,
    /// The groups that can have a limit.
    limitable: Vec<PathBuf>,
    /// The file with the scheduler's counters of each of these groups, and the periods at the tick before.
    throttles: Vec<(KernelFile, Option<Periods>)>,
    throttled: Arc<Signal>,
    limit: Arc<Signal>,
}

impl CgroupCpu {
    pub(crate) fn open(root: &Path) -> Result<CgroupCpu, Absence> {
        let Own { hierarchy, directory, limitable } = Own::find(root, CgroupController::Cpu)?;
        let (file, unit) = match hierarchy.version {
            CgroupVersion::V2 => ("cpu.stat", MICROSECOND),
            CgroupVersion::V1 => ("cpuacct.usage", NANOSECOND),
        };
        let is_counted = hierarchy.path.join(&directory).join(file).is_file();
        let used = is_counted.then(|| (hierarchy.file(&directory, file), Rate::new(Signal::only(USED), unit)));
        let counted = limitable.iter().filter(|directory| hierarchy.path.join(directory).join("cpu.stat").is_file());
        let throttles = counted.map(|directory| (hierarchy.file(directory, "cpu.stat"), None)).collect();
        Ok(CgroupCpu {
            used,
            hierarchy,
            limitable,
            throttles,
            throttled: Signal::only(THROTTLED),
            limit: Signal::only(LIMIT),
        })
    }

    /// The tightest limit, in cores.
    pub(super) fn limit_cores(&self, text: &mut Vec<u8>) -> Result<Option<f64>, ReadError> {
        let mut tightest: Option<f64> = None;
        for directory in &self.limitable {
            let limit = self.hierarchy.cpu_limit(directory, text)?;
            tightest = limit.map(|limit| tightest.map_or(limit, |other| limit.min(other))).or(tightest);
        }
        Ok(tightest)
    }
}

impl Sensor for CgroupCpu {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        if let Some((file, rate)) = &mut self.used {
            let text = file.read(tick.text)?;
            let used = match self.hierarchy.version {
                CgroupVersion::V2 => {
                    value_of(text, "usage_usec").ok_or_else(|| file.malformed("a line `usage_usec`", text))?
                }
                CgroupVersion::V1 => whole(file, text)?,
            };
            rate.step(tick.at, used, tick.readings);
        }
        let mut throttled: Option<f64> = None;
        for (stat, last) in &mut self.throttles {
            // A group without limits has no lines about them.
            let periods = Periods::parse(stat.read(tick.text)?);
            let share = last.zip(periods).and_then(|(last, periods)| periods.throttled_since(last));
            throttled = share.map(|share| throttled.map_or(share, |other| share.max(other))).or(throttled);
            *last = periods;
        }
        tick.readings.push_some(&self.throttled, throttled);
        let limit = self.limit_cores(tick.text)?;
        tick.readings.push_some(&self.limit, limit);
        Ok(())
    }
}

/// The number of the scheduler's periods in which the cgroup ran, and of those in which the cgroup was stopped.
///
/// Periods and not `throttled_usec`, which adds up the waiting on all cores and is no share of anything.
#[derive(Clone, Copy)]
struct Periods {
    n_all: u64,
    n_throttled: u64,
}

impl Periods {
    fn parse(text: &[u8]) -> Option<Periods> {
        Some(Periods { n_all: value_of(text, "nr_periods")?, n_throttled: value_of(text, "nr_throttled")? })
    }

    /// The share throttled of the periods since `last`; 0 when there was none, and none after a reset.
    fn throttled_since(self, last: Periods) -> Option<f64> {
        let n_all = self.n_all.checked_sub(last.n_all)?;
        let n_throttled = self.n_throttled.checked_sub(last.n_throttled)?;
        Some(if n_all == 0 { 0.0 } else { n_throttled as f64 / n_all as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_is_a_share_of_periods() {
        let last = Periods { n_all: 100, n_throttled: 40 };
        assert_eq!(Periods { n_all: 110, n_throttled: 44 }.throttled_since(last), Some(0.4));
        assert_eq!(last.throttled_since(last), Some(0.0));
        assert_eq!(Periods { n_all: 3, n_throttled: 0 }.throttled_since(last), None);
    }
}
