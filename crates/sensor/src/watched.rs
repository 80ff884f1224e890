//! Processes that are watched by the name of their program, their systemd service or their container.
//!
//! Each tick lists the processes and reads those that are watched. Others are read when they appear and at a few ticks
//! after that, because a process gets its name and its group shortly after its start, and then once in [`N_TURNS`]
//! ticks. Processes that live shorter than a tick, and what a process uses between the last tick and its end, are not
//! counted. Arguments are never read.

mod list;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use signal::{Family, Readings, Signal, row};

use crate::ReadError;
use crate::counter::Rate;
use crate::file::{numbers_in, read_page};
use crate::process::{ProcessCgroup, ProcessUsed, disk_bytes};
use crate::task_stat::TaskStat;
use crate::tick::{Sensor, Tick};

use list::WatchEntry;
pub use list::{WatchList, WatchListError};

const CPU: &Family = row("process.{watched}.cpu");
const MEMORY: &Family = row("process.{watched}.memory");
const READ: &Family = row("process.{watched}.read");
const WRITTEN: &Family = row("process.{watched}.written");
const PROCESSES: &Family = row("process.{watched}.processes");

/// Number of ticks in which each process that is not watched is read once.
const N_TURNS: u64 = 30;

/// Number of ticks at which a process is read after it appeared.
const N_LOOKS: u8 = 5;

/// The processes of a host, and which of them are watched.
pub(crate) struct WatchedProcesses {
    proc: PathBuf,
    page_bytes: u64,
    /// Whether an entry is a unit or a container.
    needs_groups: bool,
    targets: Vec<Target>,
    seen: HashMap<u32, Seen>,
    /// Latest start among the processes of the tick before, in the kernel's ticks; `None` at the first tick.
    newest_ticks: Option<u64>,
    n_ticks: u64,
}

/// A process as it was read last.
#[derive(Clone, Copy)]
struct Seen {
    started_ticks: u64,
    /// Targets that its name and its group belong to, a bit for each.
    by_name: u64,
    by_group: u64,
    /// Use since its start.
    total: ProcessUsed,
    /// Number of the tick at which it was read.
    tick_idx: u64,
    /// Number of times that it was read, as far as they are counted.
    n_looks: u8,
}

/// An entry of the list, its signals and its sums.
struct Target {
    entry: WatchEntry,
    cpu: Rate,
    memory: Arc<Signal>,
    read: Rate,
    written: Rate,
    processes: Arc<Signal>,
    /// Use since the first tick, in the kernel's ticks and in bytes.
    total_ticks: u64,
    total_bytes: [u64; 2],
    sum: Sum,
}

/// Sums over the processes of one tick.
struct Sum {
    used: ProcessUsed,
    memory_bytes: u64,
    n_processes: u64,
}

impl WatchedProcesses {
    /// Returns a reader of the processes on `list` whose files are under `root`. Reads nothing yet.
    pub(crate) fn open(root: &Path, list: &WatchList) -> WatchedProcesses {
        WatchedProcesses {
            proc: root.join("proc"),
            page_bytes: procfs::page_size(),
            needs_groups: list.entries().iter().any(WatchEntry::is_of_groups),
            targets: list.entries().iter().cloned().map(Target::new).collect(),
            seen: HashMap::new(),
            newest_ticks: None,
            n_ticks: 0,
        }
    }

    /// Reads a process and adds it to its targets; `None` if it is gone.
    fn look(&mut self, pid: u32, last: Option<Seen>, is_turn: bool, text: &mut Vec<u8>) -> Option<Seen> {
        let directory = self.proc.join(pid.to_string());
        let stat = TaskStat::parse(read_page(&directory.join("stat"), text)?)?;
        let by_name = self.mask(|entry| entry.is_program(&stat));
        let TaskStat { started_ticks, used_ticks, resident_pages, n_threads, state, .. } = stat;
        // A number that is used again is another process.
        let same = last.filter(|last| last.started_ticks == started_ticks);
        let n_looks = same.map_or(0, |same| same.n_looks);
        let by_group = match same {
            Some(same) if n_looks >= N_LOOKS && !is_turn => same.by_group,
            _ if self.needs_groups => {
                let group = read_page(&directory.join("cgroup"), text).map(ProcessCgroup::parse);
                group.map_or(0, |group| self.mask(|entry| entry.is_in(&group)))
            }
            _ => 0,
        };
        let mask = by_name | by_group;
        let bytes = if mask == 0 { None } else { disk_bytes(&directory, text) };
        let total = ProcessUsed { ticks: used_ticks, bytes };
        let is_of_last_tick = |seen: Seen| seen.tick_idx + 1 == self.n_ticks;
        let from = match same {
            Some(same) => Some(same.total).filter(|_| is_of_last_tick(same)),
            // One that began before others which were there at the tick before was overlooked then.
            None => {
                let is_young = last.is_none_or(is_of_last_tick)
                    && self.newest_ticks.is_some_and(|newest_ticks| started_ticks >= newest_ticks);
                is_young.then_some(ProcessUsed::NOTHING)
            }
        };
        // The last thread of a process that has ended waits for its parent to ask.
        let is_over = matches!(state, b'Z' | b'X') && n_threads <= 1;
        let used = total.since(from);
        for (_, target) in self.targets.iter_mut().enumerate().filter(|(idx, _)| mask >> idx & 1 == 1) {
            target.sum.used.add(used);
            target.sum.memory_bytes += resident_pages.saturating_mul(self.page_bytes);
            target.sum.n_processes += u64::from(!is_over);
        }
        let n_looks = n_looks.saturating_add(1);
        Some(Seen { started_ticks, by_name, by_group, total, tick_idx: self.n_ticks, n_looks })
    }

    fn mask(&self, is_meant: impl Fn(&WatchEntry) -> bool) -> u64 {
        let meant = self.targets.iter().enumerate().filter(|(_, target)| is_meant(&target.entry));
        meant.fold(0, |mask, (idx, _)| mask | 1 << idx)
    }
}

impl Sensor for WatchedProcesses {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let unreadable = |source| ReadError::Unreadable { path: self.proc.clone(), source };
        let pids: Vec<u32> = numbers_in(&self.proc).map_err(unreadable)?.collect();
        self.n_ticks += 1;
        let mut before = std::mem::take(&mut self.seen);
        for pid in pids {
            let last = before.remove(&pid);
            let is_turn = u64::from(pid) % N_TURNS == self.n_ticks % N_TURNS;
            let seen = match last {
                Some(last) if !is_turn && last.n_looks >= N_LOOKS && last.by_name | last.by_group == 0 => Some(last),
                last => self.look(pid, last, is_turn, tick.text),
            };
            self.seen.extend(seen.map(|seen| (pid, seen)));
        }
        self.newest_ticks = Some(self.seen.values().map(|seen| seen.started_ticks).max().unwrap_or(0));
        // `/proc` may hide the processes of other users (`hidepid`), the first one among them.
        let sees_all = self.seen.contains_key(&1);
        for target in &mut self.targets {
            target.step(tick.at, sees_all, tick.readings);
        }
        Ok(())
    }
}

impl Target {
    fn new(entry: WatchEntry) -> Target {
        let signal = |family| Signal::labelled(family, entry.given.as_bytes());
        Target {
            cpu: Rate::new(signal(CPU), 1.0 / procfs::ticks_per_second() as f64),
            memory: signal(MEMORY),
            read: Rate::new(signal(READ), 1.0),
            written: Rate::new(signal(WRITTEN), 1.0),
            processes: signal(PROCESSES),
            total_ticks: 0,
            total_bytes: [0; 2],
            sum: Sum::EMPTY,
            entry,
        }
    }

    /// Hands out the sums of a tick, and begins those of the next one. If there is no process and some cannot be
    /// seen, nothing is known.
    fn step(&mut self, at: Duration, sees_all: bool, readings: &mut Readings) {
        let Sum { used, memory_bytes, n_processes } = std::mem::replace(&mut self.sum, Sum::EMPTY);
        let is_known = n_processes > 0 || sees_all;
        self.total_ticks += used.ticks;
        if is_known {
            self.cpu.step(at, self.total_ticks, readings);
            readings.push(&self.memory, memory_bytes as f64);
            readings.push(&self.processes, n_processes as f64);
        } else {
            self.cpu.restart();
        }
        match used.bytes.filter(|_| is_known) {
            Some([read, written]) => {
                self.total_bytes[0] += read;
                self.total_bytes[1] += written;
                self.read.step(at, self.total_bytes[0], readings);
                self.written.step(at, self.total_bytes[1], readings);
            }
            None => {
                self.read.restart();
                self.written.restart();
            }
        }
    }
}

impl Sum {
    const EMPTY: Sum = Sum { used: ProcessUsed::NOTHING, memory_bytes: 0, n_processes: 0 };
}
