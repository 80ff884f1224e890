//! Use of programs over an interval.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::file::{read_page, value_of};

use super::ProgramKey;

/// Use of a program over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramUsage {
    /// CPU time.
    pub cpu: Duration,
    /// Resident memory of its processes at the end of the interval, in bytes; shared pages count for each of them.
    pub memory_bytes: u64,
    /// Bytes read from disks; `None` if that of one of its processes may not be known.
    pub read_bytes: Option<u64>,
    /// Bytes written to disks, likewise.
    pub written_bytes: Option<u64>,
}

/// Use of all programs over an interval.
#[derive(Clone, Debug, Default)]
pub struct UsageInterval {
    /// Each program that used something or was there at the end, in the order of their names.
    pub programs: Vec<(Arc<ProgramKey>, ProgramUsage)>,
    /// CPU time that tasks used and no program accounts for; `None` if that is not known.
    pub short_lived: Option<Duration>,
    /// Memory that is in use and not available at the end of the interval, in bytes; `None` if the kernel does not
    /// tell. Of shared pages it holds each once, and it holds those of the kernel.
    pub memory_in_use_bytes: Option<u64>,
}

/// Use of a process since its start or since the read before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessUsed {
    /// CPU time, in the kernel's ticks.
    pub ticks: u64,
    /// Bytes read from disks and written to them; `None` if they may not be known.
    pub bytes: Option<[u64; 2]>,
}

impl ProcessUsed {
    /// Use of a process that has done nothing yet.
    pub(crate) const NOTHING: ProcessUsed = ProcessUsed { ticks: 0, bytes: Some([0; 2]) };

    /// Returns the use since the process had used `from`, where this is its use since its start. What a process did
    /// before it was met counts as nothing, and not as unknown.
    pub(crate) fn since(self, from: Option<ProcessUsed>) -> ProcessUsed {
        let bytes = match (self.bytes, from.and_then(|from| from.bytes)) {
            (Some(bytes), Some(from)) => Some([0, 1].map(|idx| bytes[idx].saturating_sub(from[idx]))),
            (Some(_), None) => Some([0; 2]),
            (None, _) => None,
        };
        ProcessUsed { ticks: from.map_or(0, |from| self.ticks.saturating_sub(from.ticks)), bytes }
    }

    /// Adds the use of another process. Bytes that are not known for one of the two are not known for both.
    pub(crate) fn add(&mut self, other: ProcessUsed) {
        self.ticks += other.ticks;
        self.bytes = self.bytes.zip(other.bytes).map(|(sum, used)| [sum[0] + used[0], sum[1] + used[1]]);
    }
}

/// Bytes that the process with this directory has read from disks and written to them since its start; `None` if this
/// user may not know.
pub(crate) fn disk_bytes(directory: &Path, text: &mut Vec<u8>) -> Option<[u64; 2]> {
    let text = read_page(&directory.join("io"), text)?;
    Some([value_of(text, "read_bytes:")?, value_of(text, "write_bytes:")?])
}

/// Sums over the processes of each program.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    of_program: BTreeMap<Arc<ProgramKey>, ProcessUsed>,
}

impl Ledger {
    /// Adds what a process of `program` used.
    pub(super) fn add(&mut self, program: &Arc<ProgramKey>, used: ProcessUsed) {
        let sum = match self.of_program.get_mut(program) {
            Some(sum) => sum,
            None => self.of_program.entry(Arc::clone(program)).or_insert(ProcessUsed::NOTHING),
        };
        sum.add(used);
    }

    /// Takes the sums out, and adds the resident memory of those processes that there are.
    pub(super) fn take<'a>(
        &mut self,
        memory: impl Iterator<Item = (&'a Arc<ProgramKey>, u64)>,
    ) -> Vec<(Arc<ProgramKey>, ProgramUsage)> {
        let usage = |used: ProcessUsed| ProgramUsage {
            cpu: time_of(used.ticks),
            memory_bytes: 0,
            read_bytes: used.bytes.map(|[read, _]| read),
            written_bytes: used.bytes.map(|[_, written]| written),
        };
        let sums = std::mem::take(&mut self.of_program);
        let mut programs: BTreeMap<_, _> = sums.into_iter().map(|(program, used)| (program, usage(used))).collect();
        for (program, bytes) in memory {
            let usage = match programs.get_mut(program) {
                Some(usage) => usage,
                None => programs.entry(Arc::clone(program)).or_default(),
            };
            usage.memory_bytes += bytes;
        }
        programs.into_iter().collect()
    }
}

/// The length of time that the kernel's ticks are.
pub(super) fn time_of(ticks: u64) -> Duration {
    let per_second = procfs::ticks_per_second();
    Duration::from_nanos(u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(per_second)).unwrap_or(u64::MAX))
}
