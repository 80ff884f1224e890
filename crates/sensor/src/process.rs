//! The processes of a host: what each of them uses, by process, by program and by control group.
//!
//! [`ProcessScan`] reads them in turns. Arguments are never read: they may hold secrets.

mod place;
mod scan;
mod usage;

use std::sync::Arc;
use std::time::Duration;

pub use place::ProcessCgroup;
pub use scan::ProcessScan;
pub(crate) use usage::{ProcessUsed, disk_bytes};
pub use usage::{ProgramUsage, UsageInterval};

/// A program: all processes of one name in one unit or container count as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgramKey {
    /// Name that the process gave itself, at most 15 bytes; of a thread of the kernel, the part before `/`. Bytes
    /// that are no UTF-8 are written as `\xNN`. It can hold control characters.
    pub name: String,
    /// Name of the systemd service that runs it: `postgresql.service`.
    pub unit: Option<String>,
    /// Container that it runs in: `docker:0123456789ab`.
    pub container: Option<String>,
}

/// A process as it was read last.
#[derive(Clone, Debug)]
pub struct ProcessReading {
    /// Number of the process, which another process gets after its end.
    pub pid: u32,
    /// Start of the process in the kernel's ticks since the host was started: tells it from others of its number.
    pub started_ticks: u64,
    /// Name as in [`ProgramKey::name`], whole for a thread of the kernel.
    pub name: String,
    /// Program of the process.
    pub program: Arc<ProgramKey>,
    /// Control group of the process.
    pub group: Arc<ProcessCgroup>,
    /// State as the kernel writes it: `R`, `S`, `D`, `Z`, …
    pub state: char,
    /// Number of its threads.
    pub n_threads: u64,
    /// CPU time per second since the read before, in cores; `None` before the second read.
    pub cpu_cores: Option<f64>,
    /// Resident memory in bytes; pages that it shares with others are in it.
    pub memory_bytes: u64,
    /// Memory in swap space, in bytes; `None` if it may not be read, and of threads of the kernel.
    pub swap_bytes: Option<u64>,
    /// Bytes per second read from disks; `None` if this user may not know, and before the second read.
    pub read_bytes_per_sec: Option<f64>,
    /// Bytes per second written to disks, likewise.
    pub written_bytes_per_sec: Option<f64>,
}

/// Outcome of one scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanReport {
    /// Number of processes.
    pub n_processes: usize,
    /// Number of processes whose turn it was, and that were left out because the budget was used up.
    pub n_left_out: usize,
    /// CPU time per second that tasks used and no process accounts for, in cores: that of processes that lived
    /// shorter than from one scan to the next. `None` before the second scan, and where not all processes can be
    /// seen.
    pub short_lived_cores: Option<f64>,
    /// Length of time that `short_lived_cores` is over.
    pub short_lived_over: Duration,
}

/// `bytes` as text, those that are no UTF-8 as `\xNN`.
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}
