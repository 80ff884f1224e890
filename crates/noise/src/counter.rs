//! Kernel counters of a core and of the thread that works there, read between two quanta.
//!
//! Reading takes some tens of microseconds, which are left out of the quanta and of their time. What a counter moved by
//! since the last reading happened during the detour that was the reason to read, or in the quanta before it; readings
//! at random moments without a detour tell how much it moves anyway (`cause`).

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use clock::Stopwatch;
use procfs::process::{Schedstat, Status};
use procfs::{FromBufRead, FromBufReadSI, FromRead, KernelStats};
use rustix::time::{ClockId, clock_gettime};
use statistics::median;

use super::plan;

/// A file that takes longer to read is left out: on hosts with many cores, the table of interrupts is long.
const COST_NS_MAX: f64 = 2e6;
/// Readings whose median is a file's cost.
const N_COST_READINGS: usize = 5;

/// Files with the kernel's counts.
const FILES: [&str; 5] = ["stat", "interrupts", "softirqs", "thread-self/schedstat", "thread-self/status"];

/// Counts by the label of their line.
pub(crate) type Lines = Vec<(Box<str>, u64)>;

/// Counters of one core and of the thread that opened them.
#[derive(Debug)]
pub(crate) struct Counters {
    cpu: u32,
    /// The core's position among those of /proc/stat.
    position: usize,
    files: [Option<File>; FILES.len()],
    text: Vec<u8>,
    /// Reasons why files are not read.
    missing: Vec<String>,
    /// Median time of a reading, in nanoseconds.
    cost_ns: f64,
}

/// Counters at a moment; those of files that are not read are 0 or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// Ticks that the hypervisor took from this core.
    pub steal_ticks: u64,
    /// Ticks that the kernel found the core in an interrupt: 0 for ever where it does not measure that.
    pub interrupt_ticks: u64,
    /// Nanoseconds that this thread waited for the core.
    pub run_delay_ns: u64,
    /// Number of times that this thread lost the core to another.
    pub involuntary: u64,
    /// Interrupts on this core, by the label of their line.
    pub interrupts: Lines,
    /// Soft interrupts on this core.
    pub soft_interrupts: Lines,
}

impl Counters {
    /// Opens what can be opened for core `cpu`, by the thread that is to work there, below `root`, which is `/proc`;
    /// and reads all of it a few times.
    #[must_use]
    pub(crate) fn open(root: &Path, cpu: u32, clock: &Stopwatch) -> Self {
        let mut missing = Vec::new();
        let files = FILES.map(|name| {
            let opened = File::open(root.join(name));
            opened.map_err(|error| missing.push(format!("/proc/{name} cannot be opened: {error}"))).ok()
        });
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
        let online = online.and_then(|text| plan::cpus(&text).ok()).unwrap_or_else(|| (0..=cpu).collect());
        let position = online.iter().filter(|&&other| other < cpu).count();
        let mut counters = Self { cpu, position, files, text: Vec::new(), missing, cost_ns: 0.0 };
        (0..FILES.len()).for_each(|idx| counters.survey(idx, clock));
        counters
    }

    /// Returns the median time of a reading of all files, in nanoseconds.
    #[must_use]
    pub(crate) fn cost_ns(&self) -> f64 {
        self.cost_ns
    }

    /// Returns the files that are not read, with the reasons.
    #[must_use]
    pub(crate) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Whether the time that this thread waited for its core is known.
    #[must_use]
    pub(crate) fn has_run_delay(&self) -> bool {
        self.files[3].is_some()
    }

    /// All counters. A file that fails is left out from then on, and named among the missing.
    pub(crate) fn read(&mut self) -> Reading {
        let mut reading = Reading::default();
        for idx in 0..FILES.len() {
            if let Err(error) = self.read_file(idx, &mut reading) {
                self.drop_file(idx, &error.to_string());
            }
        }
        reading
    }

    /// Returns the names of interrupts beside their labels: the device or the purpose.
    #[must_use]
    pub(crate) fn descriptions(&mut self) -> Vec<(Box<str>, String)> {
        match self.fill(1) {
            Ok(true) => descriptions(&String::from_utf8_lossy(&self.text)),
            _ => Vec::new(),
        }
    }

    fn survey(&mut self, idx: usize, clock: &Stopwatch) {
        let mut costs = Vec::new();
        for _ in 0..N_COST_READINGS {
            let before = clock.elapsed_ns();
            if let Err(error) = self.read_file(idx, &mut Reading::default()) {
                self.drop_file(idx, &error.to_string());
                return;
            }
            costs.push((clock.elapsed_ns() - before) as f64);
        }
        let cost_ns = median(&costs).unwrap_or(0.0);
        if cost_ns > COST_NS_MAX {
            self.drop_file(idx, &format!("a reading takes {:.1} ms here, which is too long", cost_ns / 1e6));
        } else {
            self.cost_ns += cost_ns;
        }
    }

    fn drop_file(&mut self, idx: usize, why: &str) {
        self.files[idx] = None;
        self.missing.push(format!("/proc/{} is not read: {why}", FILES[idx]));
    }

    /// Whether there is such a file to be read.
    fn fill(&mut self, idx: usize) -> io::Result<bool> {
        let Some(file) = &mut self.files[idx] else { return Ok(false) };
        self.text.clear();
        file.rewind()?;
        file.read_to_end(&mut self.text)?;
        Ok(true)
    }

    fn read_file(&mut self, idx: usize, reading: &mut Reading) -> io::Result<()> {
        if !self.fill(idx)? {
            return Ok(());
        }
        let of_format = |error: procfs::ProcError| io::Error::new(io::ErrorKind::InvalidData, error);
        let text = &self.text[..];
        match idx {
            0 => {
                let stat = KernelStats::from_buf_read(text, procfs::current_system_info()).map_err(of_format)?;
                let core = stat.cpu_time.get(self.position).ok_or_else(|| no_column(self.cpu))?;
                reading.steal_ticks = core.steal.unwrap_or(0);
                reading.interrupt_ticks = core.irq.unwrap_or(0);
            }
            1 => {
                reading.interrupts =
                    column(&String::from_utf8_lossy(text), self.cpu).ok_or_else(|| no_column(self.cpu))?
            }
            2 => {
                reading.soft_interrupts =
                    column(&String::from_utf8_lossy(text), self.cpu).ok_or_else(|| no_column(self.cpu))?
            }
            3 => reading.run_delay_ns = Schedstat::from_read(text).map_err(of_format)?.run_delay,
            _ => {
                let status = Status::from_buf_read(text).map_err(of_format)?;
                reading.involuntary = status.nonvoluntary_ctxt_switches.unwrap_or(0);
            }
        }
        Ok(())
    }
}

impl Reading {
    /// Returns the lines that moved since `before`, by name: interrupts and then soft interrupts.
    /// A line that was not there before counts from 0.
    #[must_use]
    pub(crate) fn moved_since(&self, before: &Self) -> (Lines, Lines) {
        (moved(&self.interrupts, &before.interrupts), moved(&self.soft_interrupts, &before.soft_interrupts))
    }
}

fn moved(after: &[(Box<str>, u64)], before: &[(Box<str>, u64)]) -> Lines {
    let earlier = |idx: usize, label: &str| {
        // Lines come and go seldom, so that a label is nearly always where it was.
        let same = before.get(idx).filter(|line| &*line.0 == label);
        same.or_else(|| before.iter().find(|line| &*line.0 == label)).map_or(0, |line| line.1)
    };
    let moves = after
        .iter()
        .enumerate()
        .map(|(idx, (label, count))| (label.clone(), count.saturating_sub(earlier(idx, label))));
    moves.filter(|(_, by)| *by > 0).collect()
}

/// Nanoseconds that the calling thread waited for a core since it began; `None` where the kernel does not tell.
#[must_use]
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
pub(crate) fn run_delay_ns() -> Option<u64> {
    Schedstat::from_file("/proc/thread-self/schedstat").ok().map(|stat| stat.run_delay)
}

/// Nanoseconds of processor time that the calling thread had.
#[must_use]
pub(crate) fn thread_time_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn no_column(cpu: u32) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("there is no column of core {cpu}"))
}

/// The counts of one core in /proc/interrupts or /proc/softirqs, which `procfs` does not read: a column for each core
/// that is online, a line for each interrupt. Lines of the whole host (ERR, MIS) have fewer numbers and are left out.
fn column(text: &str, cpu: u32) -> Option<Lines> {
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next()?.split_whitespace().collect();
    let position =
        columns.iter().position(|name| name.strip_prefix("CPU").and_then(|number| number.parse().ok()) == Some(cpu))?;
    let counts = lines.filter_map(|line| {
        let (label, rest) = line.split_once(':')?;
        let mut numbers = rest.split_whitespace().take(columns.len());
        let count = numbers.nth(position)?.parse().ok()?;
        let is_whole = numbers.count() == columns.len() - position - 1;
        is_whole.then(|| (label.trim().into(), count))
    });
    Some(counts.collect())
}

/// Returns the text behind the counts of each line of /proc/interrupts: all of it for the kernel's own, the device for
/// others.
fn descriptions(text: &str) -> Vec<(Box<str>, String)> {
    let n_columns = text.lines().next().map_or(0, |header| header.split_whitespace().count());
    let of_line = |line: &str| {
        let (label, rest) = line.split_once(':')?;
        let words: Vec<&str> = rest.split_whitespace().skip(n_columns).collect();
        let label = label.trim();
        let is_numbered = label.bytes().all(|byte| byte.is_ascii_digit());
        let description = if is_numbered { words.last()?.to_string() } else { words.join(" ") };
        (!description.is_empty()).then(|| (label.into(), description))
    };
    text.lines().skip(1).filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU2
  1:          4          9   IO-APIC   1-edge      i8042
 36:          0    4881745 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:   10262801   10678247   Local timer interrupts
ERR:          7
";

    fn boxed(lines: &[(&str, u64)]) -> Vec<(Box<str>, u64)> {
        lines.iter().map(|(label, count)| ((*label).into(), *count)).collect()
    }

    #[test]
    fn a_core_has_the_column_with_its_number() {
        assert_eq!(column(INTERRUPTS, 2), Some(boxed(&[("1", 9), ("36", 4_881_745), ("LOC", 10_678_247)])));
        assert_eq!(column(INTERRUPTS, 0).unwrap()[2].1, 10_262_801);
        assert_eq!(column(INTERRUPTS, 1), None);
        assert_eq!(column("", 0), None);
        assert_eq!(column("CPU0\nx: y\nLOC: 99999999999999999999\n", 0), Some(vec![]));
    }

    #[test]
    fn interrupts_have_the_name_of_their_device_or_purpose() {
        let descriptions = descriptions(INTERRUPTS);
        assert_eq!(descriptions[1], ("36".into(), "virtio1-req.0".to_owned()));
        assert_eq!(descriptions[2], ("LOC".into(), "Local timer interrupts".to_owned()));
    }

    #[test]
    fn moves_are_found_by_label_when_lines_come_and_go() {
        let before = boxed(&[("1", 9), ("36", 5), ("LOC", 7)]);
        assert_eq!(moved(&boxed(&[("1", 9), ("36", 6), ("LOC", 9)]), &before), boxed(&[("36", 1), ("LOC", 2)]));
        assert_eq!(moved(&boxed(&[("36", 6), ("40", 2), ("LOC", 7)]), &before), boxed(&[("36", 1), ("40", 2)]));
        // An interrupt that was given away and back begins from 0.
        assert_eq!(moved(&boxed(&[("1", 2)]), &before), []);
    }

    #[test]
    fn this_host_can_be_read_or_says_why_not() {
        let cpu = mpi_run::allowed_cpus().first().copied().unwrap_or(0);
        let mut counters = Counters::open(Path::new("/proc"), cpu, &Stopwatch::start());
        let (first, second) = (counters.read(), counters.read());
        assert!(second.run_delay_ns >= first.run_delay_ns && second.steal_ticks >= first.steal_ticks);
        assert!(!second.interrupts.is_empty() || counters.missing().iter().any(|why| why.contains("interrupts")));
        let before = thread_time_ns();
        assert!(thread_time_ns() >= before);
    }

    #[test]
    fn files_that_are_not_there_are_named() {
        let empty = tempfile::tempdir().unwrap();
        let mut counters = Counters::open(empty.path(), 0, &Stopwatch::start());
        assert_eq!(counters.missing().len(), FILES.len());
        assert_eq!(counters.read(), Reading::default());
        assert!(!counters.has_run_delay());
        assert_eq!(counters.descriptions(), []);
    }

    #[test]
    fn a_file_of_something_else_is_left_out_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("interrupts"), "\0\x7f nothing of the kind").unwrap();
        std::fs::write(folder.path().join("stat"), "cpu zero\n").unwrap();
        let counters = Counters::open(folder.path(), 0, &Stopwatch::start());
        assert!(
            counters
                .missing()
                .iter()
                .any(|why| why.starts_with("/proc/interrupts is not read: there is no column of core 0"))
        );
        assert!(counters.missing().iter().any(|why| why.starts_with("/proc/stat is not read")));
    }
}
