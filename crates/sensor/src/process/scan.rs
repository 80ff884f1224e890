//! Reading all processes in turns: often those that do something, the rest one after the other.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::cpu::Times;
use crate::file::{fields, hierarchies, lines, numbers_in, read_page, value_of};
use crate::memory;
use crate::task_stat::TaskStat;

use super::usage::{Ledger, ProcessUsed, disk_bytes, time_of};
use super::{ProcessCgroup, ProcessReading, ProgramKey, ScanReport, UsageInterval, text_of};

/// Number of scans in which each process is read at least once, as long as the budget suffices.
const N_TURNS: usize = 15;

/// Least number of processes whose turn comes at one scan: those of a small host are read more often.
const N_READ_MIN: usize = 10;

/// Share of the budget for what used something lately and for what is new. The rest is for those whose turn it is, so
/// that a storm of new processes does not keep them from being read.
const SHARE_OF_ACTIVE: f64 = 0.75;

/// The kernel's `kB` has 1,024 bytes.
const KIB: u64 = 1024;

/// The pid namespace that holds all others: `PROC_PID_INIT_INO` of `include/linux/proc_ns.h`.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// The processes of a host, as far as they were read.
#[derive(Debug)]
pub struct ProcessScan {
    proc: PathBuf,
    budget: Duration,
    page_bytes: u64,
    known: BTreeMap<u32, Known>,
    /// Numbers of the last scan's processes.
    listed: HashSet<u32>,
    /// Processes, by number and start, in the order in which their turn comes.
    turns: VecDeque<(u32, u64)>,
    programs: BTreeSet<Arc<ProgramKey>>,
    groups: BTreeSet<Arc<ProcessCgroup>>,
    ledger: Ledger,
    /// Ticks that tasks used and that processes accounted for, at each of the last scans.
    balances: VecDeque<Balance>,
    /// The balance when the last interval was taken.
    taken: Option<Balance>,
    is_first: bool,
    text: Vec<u8>,
}

/// A process between two reads.
#[derive(Debug)]
struct Known {
    reading: ProcessReading,
    /// Use since its start.
    total: ProcessUsed,
    read_at: Duration,
    is_active: bool,
}

/// Sums since some moment, in ticks.
#[derive(Clone, Copy, Debug)]
struct Balance {
    at: Duration,
    /// Ticks that tasks used; `None` where not all of their processes can be seen.
    busy: Option<u64>,
    accounted: u64,
}

impl Balance {
    /// Ticks since `earlier` that nobody accounts for.
    fn unaccounted_since(self, earlier: Balance) -> Option<u64> {
        let busy = self.busy?.checked_sub(earlier.busy?)?;
        Some(busy.saturating_sub(self.accounted - earlier.accounted))
    }
}

/// Limit of one scan, in processor time of the thread that scans.
struct Budget {
    start: Duration,
    limit: Duration,
}

impl Budget {
    fn is_left(&self, share: f64) -> bool {
        self.limit == Duration::MAX || clock::thread_cpu().saturating_sub(self.start) < self.limit.mul_f64(share)
    }
}

impl ProcessScan {
    /// Returns a scan of the host whose files are under `root`, with a `budget` of processor time for each scan;
    /// [`Duration::MAX`] for no limit. Reads nothing yet.
    #[must_use]
    pub fn open(root: &Path, budget: Duration) -> ProcessScan {
        ProcessScan {
            proc: root.join("proc"),
            budget,
            page_bytes: procfs::page_size(),
            known: BTreeMap::new(),
            listed: HashSet::new(),
            turns: VecDeque::new(),
            programs: BTreeSet::new(),
            groups: BTreeSet::new(),
            ledger: Ledger::default(),
            balances: VecDeque::new(),
            taken: None,
            is_first: true,
            text: Vec::new(),
        }
    }

    /// Reads the processes whose turn it is, `at` this moment: time since any fixed moment by a clock that is never
    /// set. A process that vanishes meanwhile is none; without a `proc` there is none.
    pub fn scan(&mut self, at: Duration) -> ScanReport {
        let budget = Budget { start: clock::thread_cpu(), limit: self.budget };
        // Before the processes, so that what they use while they are read is not missed.
        let busy = self.busy_ticks();
        let pids: HashSet<u32> = numbers_in(&self.proc).into_iter().flatten().collect();
        self.known.retain(|pid, _| pids.contains(pid));
        let mut n_left_out = 0;
        let mut accounted = self.balances.back().map_or(0, |balance| balance.accounted);
        let n_turns = self.turns.len().div_ceil(N_TURNS).max(N_READ_MIN).min(self.turns.len());
        let mut in_turn: Vec<(u32, u64)> = self.turns.drain(..n_turns).collect();
        in_turn.retain(|process| self.is_known(*process));
        let turn_pids: HashSet<u32> = in_turn.iter().map(|(pid, _)| *pid).collect();
        let active = self.known.iter().filter(|(pid, known)| known.is_active && !turn_pids.contains(pid));
        let mut due: Vec<u32> = active.map(|(pid, _)| *pid).collect();
        let n_active = due.len();
        due.extend(pids.iter().filter(|pid| !self.known.contains_key(pid)));
        due[n_active..].sort_unstable();
        for (idx, pid) in due.iter().enumerate() {
            if !budget.is_left(SHARE_OF_ACTIVE) {
                n_left_out += due.len() - idx;
                break;
            }
            accounted += self.read(*pid, at, false);
        }
        for process in in_turn {
            if budget.is_left(1.0) {
                accounted += self.read(process.0, at, true);
            } else {
                n_left_out += 1;
            }
            if self.is_known(process) {
                self.turns.push_back(process);
            }
        }
        let sees_all = pids.contains(&1) && self.is_in_first_namespace();
        self.listed = pids;
        self.is_first = false;
        self.forget_unused();
        let balance = Balance { at, busy: busy.filter(|_| sees_all), accounted };
        let oldest = self.balances.front().copied().unwrap_or(balance);
        self.balances.push_back(balance);
        if self.balances.len() > N_TURNS {
            self.balances.pop_front();
        }
        let over = at.saturating_sub(oldest.at);
        let unaccounted = balance.unaccounted_since(oldest).filter(|_| !over.is_zero());
        ScanReport {
            n_processes: self.listed.len(),
            n_left_out,
            short_lived_cores: unaccounted.map(|ticks| time_of(ticks).as_secs_f64() / over.as_secs_f64()),
            short_lived_over: over,
        }
    }

    /// Returns the processes as they were read last, in the order of their numbers.
    pub fn processes(&self) -> impl Iterator<Item = &ProcessReading> {
        self.known.values().map(|known| &known.reading)
    }

    /// Returns the use of each program since this was called last, or since the first scan.
    pub fn take_usage(&mut self) -> UsageInterval {
        let memory = self.known.values().map(|known| (&known.reading.program, known.reading.memory_bytes));
        let programs = self.ledger.take(memory);
        let last = self.balances.back().copied();
        let before = std::mem::replace(&mut self.taken, last).or_else(|| self.balances.front().copied());
        let unaccounted = last.zip(before).and_then(|(last, before)| last.unaccounted_since(before));
        let memory_in_use_bytes = read_page(&self.proc.join("meminfo"), &mut self.text).and_then(memory::in_use);
        UsageInterval { programs, short_lived: unaccounted.map(time_of), memory_in_use_bytes }
    }

    /// Reads one process, and forgets it if it is gone. Gives the ticks that it used since it was read before.
    fn read(&mut self, pid: u32, at: Duration, is_turn: bool) -> u64 {
        let directory = self.proc.join(pid.to_string());
        let Some((known, used)) = self.read_anew(pid, &directory, at, is_turn) else {
            self.known.remove(&pid);
            return 0;
        };
        self.ledger.add(&known.reading.program, used);
        let process = (pid, known.reading.started_ticks);
        if !self.is_known(process) {
            self.turns.push_back(process);
        }
        self.known.insert(pid, known);
        used.ticks
    }

    fn is_known(&self, (pid, started_ticks): (u32, u64)) -> bool {
        self.known.get(&pid).is_some_and(|known| known.reading.started_ticks == started_ticks)
    }

    fn read_anew(&mut self, pid: u32, directory: &Path, at: Duration, is_turn: bool) -> Option<(Known, ProcessUsed)> {
        let stat_text = read_page(&directory.join("stat"), &mut self.text)?;
        let stat = TaskStat::parse(stat_text)?;
        let before = self.known.get(&pid).filter(|known| known.reading.started_ticks == stat.started_ticks);
        let name = text_of(stat.name);
        let TaskStat { used_ticks, started_ticks, n_threads, is_kernel, state, .. } = stat;
        let memory_bytes = stat.resident_pages.saturating_mul(self.page_bytes);
        // A number that was not listed before is a process that began since; one that was has another's now.
        let is_young =
            before.is_none() && !self.is_first && (!self.listed.contains(&pid) || self.known.contains_key(&pid));
        let text = &mut self.text;
        let total = ProcessUsed { ticks: used_ticks, bytes: disk_bytes(directory, text) };
        let kept = before.filter(|before| !is_turn && before.reading.name == name);
        let (program, group, swap_bytes) = match kept {
            Some(Known { reading, .. }) => {
                (Arc::clone(&reading.program), Arc::clone(&reading.group), reading.swap_bytes)
            }
            None => {
                let swap = read_page(&directory.join("status"), text).and_then(|text| value_of(text, "VmSwap:"));
                let group =
                    read_page(&directory.join("cgroup"), text).filter(|text| hierarchies(text).next().is_some());
                let group = interned(&mut self.groups, group.map(ProcessCgroup::parse).unwrap_or_default());
                let program = ProgramKey {
                    name: if is_kernel { name.split('/').next().unwrap_or_default().to_owned() } else { name.clone() },
                    unit: group.unit.clone(),
                    container: group.container.clone(),
                };
                (interned(&mut self.programs, program), group, swap.map(|swap| swap.saturating_mul(KIB)))
            }
        };
        let (from, from_at) = match before {
            Some(before) => (Some(before.total), Some(before.read_at)),
            None if is_young => (Some(ProcessUsed::NOTHING), self.balances.back().map(|balance| balance.at)),
            None => (None, None),
        };
        let used = total.since(from);
        let span = from_at.map(|from| at.saturating_sub(from).as_secs_f64()).filter(|span| *span > 0.0);
        let rate = |idx: usize| {
            Some(used.bytes.filter(|_| from.is_some_and(|from| from.bytes.is_some()))?[idx] as f64 / span?)
        };
        let reading = ProcessReading {
            pid,
            started_ticks,
            name,
            program,
            group,
            state: char::from(state),
            n_threads,
            cpu_cores: from.and(span).map(|span| time_of(used.ticks).as_secs_f64() / span),
            memory_bytes,
            swap_bytes,
            read_bytes_per_sec: rate(0),
            written_bytes_per_sec: rate(1),
        };
        let is_active = used.ticks > 0 || used.bytes.is_some_and(|bytes| bytes != [0; 2]);
        Some((Known { reading, total, read_at: at, is_active }, used))
    }

    /// Ticks that all tasks used since the host was started.
    fn busy_ticks(&mut self) -> Option<u64> {
        let text = fs::read(self.proc.join("stat")).ok()?;
        lines(&text).find(|line| fields(line).next() == Some(b"cpu")).and_then(Times::parse).map(Times::of_tasks)
    }

    /// Whether there are no processes outside of those that this process can see. A recorded tree does not say.
    fn is_in_first_namespace(&self) -> bool {
        let namespace = fs::read_link(self.proc.join("self/ns/pid"));
        namespace.map_or(true, |namespace| namespace.as_os_str() == FIRST_PID_NAMESPACE)
    }

    /// Forgets programs and groups that no process belongs to, once they are many.
    fn forget_unused(&mut self) {
        let most = 2 * self.known.len() + 64;
        if self.programs.len() > most {
            self.programs.retain(|program| Arc::strong_count(program) > 1);
        }
        if self.groups.len() > most {
            self.groups.retain(|group| Arc::strong_count(group) > 1);
        }
    }
}

/// The one copy of `value` that all share.
fn interned<T: Ord>(known: &mut BTreeSet<Arc<T>>, value: T) -> Arc<T> {
    let value = Arc::new(value);
    if let Some(known) = known.get(&value) {
        return Arc::clone(known);
    }
    known.insert(Arc::clone(&value));
    value
}
