//! The CPU use and limit of the container that this process is in, from its cgroup of version 2.
//!
//! Format: `Documentation/admin-guide/cgroup-v2.rst`, "CPU Interface Files". The limit is that of the cgroup
//! itself; a tighter one further up is not looked for, and inside a container it cannot be seen.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use procfs::{FromRead, ProcessCGroups};
use signal::{Family, Signal, row};

use crate::ReadError;
use crate::counter::Rate;
use crate::error::Absence;
use crate::file::{KernelFile, fields, number, value_of};
use crate::tick::{Sensor, Tick};

const USED: &Family = row("cgroup.cpu.used");
const LIMIT: &Family = row("cgroup.cpu.limit");
const THROTTLED: &Family = row("cgroup.cpu.throttled");

/// The mount points of the hierarchy: by itself, or beside the hierarchies of version 1.
const MOUNTS: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

const MICROSECOND: f64 = 1e-6;

/// The cgroup of a container.
pub(crate) struct Cgroup {
    stat: KernelFile,
    used: Rate,
    throttled: Arc<Signal>,
    last_periods: Option<Periods>,
    /// None when the cgroup has no limits because its parent does not hand the CPU out.
    max: Option<KernelFile>,
    limit: Arc<Signal>,
}

impl Cgroup {
    pub(crate) fn open(root: &Path) -> Result<Cgroup, Absence> {
        let own = own_path(root)?;
        let directory = find(root, &own)?;
        let max = directory.join("cpu.max");
        Ok(Cgroup {
            stat: KernelFile::at(directory.join("cpu.stat")),
            used: Rate::new(Signal::only(USED), MICROSECOND),
            throttled: Signal::only(THROTTLED),
            last_periods: None,
            max: max.is_file().then(|| KernelFile::at(max)),
            limit: Signal::only(LIMIT),
        })
    }
}

impl Sensor for Cgroup {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let text = self.stat.read(tick.text)?;
        let used = value_of(text, "usage_usec");
        let used = used.ok_or_else(|| self.stat.malformed("a line `usage_usec`", text))?;
        self.used.step(tick.at, used, tick.readings);
        // A cgroup without limits has no lines about them.
        let periods = Periods::parse(text);
        let throttled = self.last_periods.zip(periods).and_then(|(last, periods)| periods.throttled_since(last));
        tick.readings.push_some(&self.throttled, throttled);
        self.last_periods = periods;
        if let Some(max) = &self.max {
            let text = max.read(tick.text)?;
            let limit = parse_limit(text).ok_or_else(|| max.malformed("a quota or `max`, and a period", text))?;
            tick.readings.push_some(&self.limit, limit);
        }
        Ok(())
    }
}

/// The path of this process's cgroup from the hierarchy's root, without the leading slash.
fn own_path(root: &Path) -> Result<PathBuf, Absence> {
    let text = fs::read(root.join("proc/self/cgroup")).map_err(|_| Absence::NoCgroup)?;
    let groups = ProcessCGroups::from_read(text.as_slice()).map_err(|_| Absence::NoCgroup)?;
    let group = groups.into_iter().find(|group| group.hierarchy == 0).ok_or(Absence::NoCgroup)?;
    let path = Path::new(&group.pathname);
    let below_root = path.strip_prefix("/").unwrap_or(path);
    // A process outside the namespace's root has a path that leads up and away from all that is mounted.
    if below_root.components().any(|component| component == Component::ParentDir) {
        return Err(Absence::UnseenCgroup { path: group.pathname });
    }
    Ok(below_root.to_owned())
}

/// The directory of the cgroup `own`.
///
/// In a container only its own cgroup may be mounted, in the place of the root. The root of a host is no container
/// and has no `cpu.max`, which is how the two are told apart.
fn find(root: &Path, own: &Path) -> Result<PathBuf, Absence> {
    let is_root = own.as_os_str().is_empty();
    let mounts = MOUNTS.map(|mount| root.join(mount));
    let below = mounts.iter().map(|mount| mount.join(own)).find(|path| !is_root && path.join("cpu.stat").is_file());
    let mounted = || mounts.iter().find(|mount| mount.join("cpu.max").is_file()).cloned();
    let unseen = || Absence::UnseenCgroup { path: format!("/{}", own.display()) };
    below.or_else(mounted).ok_or_else(|| if is_root { Absence::RootCgroup } else { unseen() })
}

/// The limit in cores; none inside while there is no limit.
fn parse_limit(text: &[u8]) -> Option<Option<f64>> {
    let mut given = fields(text.trim_ascii_end());
    let (quota, period) = (given.next()?, number(given.next()?)?);
    match (quota, period) {
        (_, 0) => None,
        (b"max", _) => Some(None),
        _ => Some(Some(number(quota)? as f64 / period as f64)),
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
    fn a_limit_is_the_quota_over_the_period() {
        assert_eq!(parse_limit(b"150000 100000\n"), Some(Some(1.5)));
        assert_eq!(parse_limit(b"max 100000\n"), Some(None));
    }

    #[test]
    fn a_limit_without_a_period_is_refused() {
        for refused in [&b""[..], b"max", b"100000", b"100000 0", b"-1 100000"] {
            assert_eq!(parse_limit(refused), None);
        }
    }

    #[test]
    fn throttling_is_a_share_of_periods() {
        let last = Periods { n_all: 100, n_throttled: 40 };
        assert_eq!(Periods { n_all: 110, n_throttled: 44 }.throttled_since(last), Some(0.4));
        assert_eq!(last.throttled_since(last), Some(0.0));
        assert_eq!(Periods { n_all: 3, n_throttled: 0 }.throttled_since(last), None);
    }
}
