//! The kernel's tables that can be full: tasks, open files, tracked connections.
//!
//! Formats: `Documentation/admin-guide/sysctl/fs.rst` and `kernel.rst`;
//! `Documentation/networking/nf_conntrack-sysctl.rst`. Connections are those of this process's network.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use procfs::{FromRead, LoadAverage};
use signal::{Family, Readings, Signal, row};

use crate::ReadError;
use crate::file::{fields, number, read_page};
use crate::tick::{Sensor, Tick};
use crate::value_file::integer_at;

const TASKS_USED: &Family = row("tasks.used");
const FILES: &Family = row("files.open");
const FILES_USED: &Family = row("files.used");
const CONNECTIONS: &Family = row("conntrack.entries");
const CONNECTIONS_USED: &Family = row("conntrack.used");

/// A limit of so many files is none: systemd sets the greatest number that there is.
const UNLIMITED_FILES: u64 = i64::MAX as u64;

/// The tables. One that is not there has no signals: the firewall's comes with its module.
pub(crate) struct Tables {
    proc: PathBuf,
    tasks_used: Arc<Signal>,
    files: [Arc<Signal>; 2],
    connections: [Arc<Signal>; 2],
}

impl Tables {
    pub(crate) fn open(root: &Path) -> Tables {
        Tables {
            proc: root.join("proc"),
            tasks_used: Signal::only(TASKS_USED),
            files: [FILES, FILES_USED].map(Signal::only),
            connections: [CONNECTIONS, CONNECTIONS_USED].map(Signal::only),
        }
    }

    /// The share of the tasks that there may be. Each takes an id, and memory by which the kernel has chosen a limit.
    fn tasks_used(&self, text: &mut Vec<u8>) -> Option<f64> {
        let limits = ["sys/kernel/pid_max", "sys/kernel/threads-max"];
        let limit = limits.iter().filter_map(|limit| integer_at(&self.proc.join(limit), text)).min()?;
        let load = LoadAverage::from_read(read_page(&self.proc.join("loadavg"), text)?).ok()?;
        share(load.max.into(), u64::try_from(limit).ok()?)
    }

    /// The number of open files, and the greatest number that there may be.
    fn files(&self, text: &mut Vec<u8>) -> Option<(u64, u64)> {
        let mut given = fields(read_page(&self.proc.join("sys/fs/file-nr"), text)?.trim_ascii_end()).map(number);
        // The second one was the number of free entries and is always 0, which older kernels counted as open.
        let (allocated, free, limit) = (given.next()??, given.next()??, given.next()??);
        Some((allocated.checked_sub(free)?, limit))
    }

    fn connections(&self, text: &mut Vec<u8>) -> Option<(u64, u64)> {
        let mut ask = |what| u64::try_from(integer_at(&self.proc.join("sys/net/netfilter").join(what), text)?).ok();
        Some((ask("nf_conntrack_count")?, ask("nf_conntrack_max")?))
    }
}

impl Sensor for Tables {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let tasks_used = self.tasks_used(tick.text);
        tick.readings.push_some(&self.tasks_used, tasks_used);
        let files = self.files(tick.text);
        hand_out(&self.files, files.map(|(n, max)| (n, if max < UNLIMITED_FILES { max } else { 0 })), tick.readings);
        hand_out(&self.connections, self.connections(tick.text), tick.readings);
        Ok(())
    }
}

/// Hands out the number of entries, and the share of the limit if there is one.
fn hand_out([number, used]: &[Arc<Signal>; 2], table: Option<(u64, u64)>, readings: &mut Readings) {
    if let Some((n, limit)) = table {
        readings.push(number, n as f64);
        readings.push_some(used, share(n, limit));
    }
}

fn share(n: u64, limit: u64) -> Option<f64> {
    (limit > 0).then(|| n as f64 / limit as f64)
}
