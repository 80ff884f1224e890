//! The tasks of a host, followed from one reading to the next: how much of a core each uses and how long it waits.
//!
//! Reading all of `/proc` costs about 4 microseconds for each process. So one that does nothing is looked at less and
//! less often, threads are looked at only while their process does something, and a reading looks at a limited number
//! of files and goes on with the others at the next. What is missed for that time is not lost: it is part of what the
//! cores were seen to do and no task was.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::file::{numbers_in, read_page};

use super::{
    PERIOD,
    core_set::CoreSet,
    group::{Groups, Place},
    model::FULL_WEIGHT,
    recent::Recent,
    task::{Class, Nature, Spent},
    thread::{Now, Seen, Thread},
};

/// The greatest number of files that one reading looks at: about half a millisecond.
const N_READS_MAX: usize = 256;

/// The greatest number of processes that are followed, and of threads of one process: bounds for memory, not for
/// accuracy.
const N_PROCESSES_MAX: usize = 8192;
const N_THREADS_MAX: usize = 64;

/// The longest time for which a process that does nothing is left alone.
const PATIENCE_MAX: Duration = Duration::from_secs(8);

/// The time for which the place of a process, its threads, and the scheduling of each of them are taken as known.
const PLACE_KEPT: Duration = Duration::from_secs(10);

/// The list of processes is read at every second look, and for each so many of them at two looks less: on a busy host a
/// hundred names were measured to cost a quarter of a millisecond, as much as reading 40 files.
const LIST_EVERY: Duration = PERIOD.saturating_mul(2);
const N_LISTED_AT_ONCE: usize = 512;

/// The tasks of a host.
#[derive(Debug)]
pub(crate) struct Population {
    proc: PathBuf,
    processes: BTreeMap<u32, Process>,
    list_at: Duration,
    /// The process at which the last reading came to its limit.
    next_pid: u32,
    n_reads: usize,
    text: Vec<u8>,
    /// The time that tasks that are gone used and waited, in seconds.
    gone: Recent<2>,
    read_at: Option<Duration>,
}

#[derive(Debug)]
struct Process {
    nature: Nature,
    place: Option<(Place, Duration)>,
    listed_at: Option<Duration>,
    threads: BTreeMap<u32, Thread>,
    look_at: Duration,
    patience: Duration,
}

impl Population {
    pub(crate) fn open(root: &Path) -> Population {
        Population {
            proc: root.join("proc"),
            processes: BTreeMap::new(),
            list_at: Duration::ZERO,
            next_pid: 0,
            n_reads: 0,
            text: Vec::new(),
            gone: Recent::idle(),
            read_at: None,
        }
    }

    /// Returns the time that tasks that were followed and are gone lately used and waited for a core, in seconds.
    ///
    /// The cores remember it for a while, and it is not the work of any task that there still is. What the young did is
    /// not in it: where such come and go, others follow.
    pub(crate) fn gone(&self) -> [f64; 2] {
        self.gone.sums()
    }

    /// Looks at the processes whose turn it is.
    pub(crate) fn read(&mut self, now: Now, groups: &mut Groups) {
        self.n_reads = 0;
        let span = self.read_at.replace(now.at).map_or(Duration::ZERO, |read_at| now.at.saturating_sub(read_at));
        self.gone.add(span, [0.0; 2]);
        if now.at >= self.list_at {
            self.list(now);
        }
        let from_next = self.processes.range(self.next_pid..).map(|(pid, _)| *pid);
        let before = self.processes.range(..self.next_pid).map(|(pid, _)| *pid);
        let order: Vec<u32> = from_next.chain(before).collect();
        self.next_pid = 0;
        for pid in order {
            if self.n_reads >= N_READS_MAX {
                self.next_pid = pid;
                break;
            }
            let Some(mut process) = self.processes.remove(&pid) else { continue };
            if now.at < process.look_at || self.look(pid, &mut process, now, groups).is_some() {
                self.processes.insert(pid, process);
            } else {
                process.bequeath(&mut self.gone);
            }
        }
    }

    /// Every task that did something lately, in the order of the numbers.
    pub(crate) fn seen(&self, now: Now) -> impl Iterator<Item = Seen<'_>> {
        self.processes.iter().flat_map(move |(&pid, process)| {
            let place = process.place.as_ref().map(|(place, _)| place);
            process.threads.values().filter_map(move |thread| thread.seen(pid, place?, now))
        })
    }

    /// Drops the processes that are gone and takes in those that came.
    fn list(&mut self, now: Now) {
        let Ok(pids) = numbers_in(&self.proc) else { return };
        let pids: BTreeSet<u32> = pids.take(N_PROCESSES_MAX).collect();
        let gone = self.processes.extract_if(.., |pid, _| !pids.contains(pid));
        gone.for_each(|(_, process)| process.bequeath(&mut self.gone));
        let n_lists = u32::try_from(1 + pids.len() / N_LISTED_AT_ONCE).unwrap_or(u32::MAX);
        self.list_at = now.at + LIST_EVERY * n_lists;
        for pid in pids {
            self.processes.entry(pid).or_insert_with(|| Process::unknown(now));
        }
    }

    /// Looks at one process; none when it is gone.
    fn look(&mut self, pid: u32, process: &mut Process, now: Now, groups: &mut Groups) -> Option<()> {
        let nature = Nature::parse(self.file(&format!("{pid}/stat"))?)?;
        if nature.started_ticks != process.nature.started_ticks {
            *process = Process { nature, look_at: now.at, ..Process::unknown(now) };
        }
        let has_run = nature.used_ticks != process.nature.used_ticks || process.threads.is_empty();
        process.nature = nature;
        if has_run || process.is_busy() {
            self.look_at_threads(pid, process, now)?;
        }
        if process.is_busy() {
            process.patience = Duration::ZERO;
            if !now.is_fresh(process.place.as_ref().map(|(_, at)| *at)) {
                self.n_reads += 2;
                process.place = Some((groups.place_of(&pid.to_string(), now.at), now.at));
            }
        } else {
            process.patience = (2 * process.patience).clamp(PERIOD, PATIENCE_MAX);
        }
        process.look_at = now.at + process.patience;
        Some(())
    }

    fn look_at_threads(&mut self, pid: u32, process: &mut Process, now: Now) -> Option<()> {
        let n_expected = usize::try_from(process.nature.n_threads).unwrap_or(usize::MAX).min(N_THREADS_MAX);
        if process.nature.n_threads == 1 {
            self.follow(process, BTreeSet::from([pid]), now);
            process.threads.values_mut().for_each(|thread| thread.nature = process.nature);
        } else if process.threads.len() != n_expected || !now.is_fresh(process.listed_at) {
            process.listed_at = Some(now.at);
            let tids = numbers_in(&self.proc.join(format!("{pid}/task"))).ok()?.take(N_THREADS_MAX).collect();
            self.follow(process, tids, now);
            for (tid, thread) in &mut process.threads {
                let nature = self.file(&format!("{pid}/task/{tid}/stat")).and_then(Nature::parse);
                thread.nature = nature.unwrap_or(thread.nature);
            }
        }
        for (tid, thread) in &mut process.threads {
            // One that is gone since the list was made is missed at the next.
            if now.at >= thread.look_at
                && let Some(spent) = self.file(&format!("{pid}/task/{tid}/schedstat")).and_then(Spent::parse)
            {
                thread.step(now, spent);
            }
            if thread.is_busy() && !now.is_fresh(thread.core_set.as_ref().map(|(_, at)| *at)) {
                let core_set = self.file(&format!("{pid}/task/{tid}/status")).and_then(CoreSet::parse_status);
                thread.core_set = core_set.map(|core_set| (core_set, now.at));
            }
        }
        Some(())
    }

    /// Keeps of a process's threads those with the numbers `tids`, and takes in those that are missing.
    fn follow(&mut self, process: &mut Process, tids: BTreeSet<u32>, now: Now) {
        let gone = process.threads.extract_if(.., |tid, _| !tids.contains(tid));
        gone.for_each(|(_, thread)| thread.bequeath(&mut self.gone));
        for tid in tids {
            process.threads.entry(tid).or_insert_with(|| Thread::new(process.nature, now));
        }
    }

    /// The text of a file below `/proc`, if it is there.
    fn file(&mut self, path: &str) -> Option<&[u8]> {
        self.n_reads += 1;
        read_page(&self.proc.join(path), &mut self.text)
    }
}

impl Now {
    /// Whether what was found out at `then` is taken as known.
    fn is_fresh(self, then: Option<Duration>) -> bool {
        then.is_some_and(|then| self.at.saturating_sub(then) < PLACE_KEPT)
    }
}

impl Process {
    fn unknown(now: Now) -> Process {
        // No process has this start, so that the first look takes it for another.
        let nature =
            Nature { started_ticks: u64::MAX, n_threads: 0, core: 0, used_ticks: 0, class: Class::Fair(FULL_WEIGHT) };
        Process {
            nature,
            place: None,
            listed_at: None,
            threads: BTreeMap::new(),
            look_at: now.at,
            patience: Duration::ZERO,
        }
    }

    /// Leaves what its threads did to those that are `gone`.
    fn bequeath(&self, gone: &mut Recent<2>) {
        self.threads.values().for_each(|thread| thread.bequeath(gone));
    }

    fn is_busy(&self) -> bool {
        self.threads.values().any(Thread::is_busy)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Writes processes that have used `used_ticks` each.
    fn write(root: &Path, pids: std::ops::Range<u32>, used_ticks: u64) {
        for pid in pids {
            let thread = root.join(format!("proc/{pid}/task/{pid}"));
            fs::create_dir_all(&thread).unwrap();
            let zeros = "0 ".repeat(15);
            let stat = format!("{pid} (a) S 1 1 1 0 -1 0 0 0 0 0 {used_ticks} 0 0 0 20 0 1 0 5 {zeros}17 0 0 0");
            fs::write(root.join(format!("proc/{pid}/stat")), stat).unwrap();
            fs::write(thread.join("schedstat"), format!("{} 0 1", used_ticks * 10_000_000)).unwrap();
        }
    }

    /// Returns the number of files that are read at each of `n_looks` looks, a second apart.
    fn n_reads(population: &mut Population, root: &Path, n_looks: u64) -> Vec<usize> {
        let mut groups = Groups::open(root);
        let looks = (0..n_looks).map(|look| {
            let at = Duration::from_secs(look);
            population.read(Now { at, uptime: Some(Duration::from_secs(1000) + at) }, &mut groups);
            population.n_reads
        });
        looks.collect()
    }

    #[test]
    fn idle_processes_are_hardly_looked_at() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), 100..140, 7);
        let looks = n_reads(&mut Population::open(root.path()), root.path(), 32);
        // What and how it has spent, and then once in 8 seconds that it has spent no more.
        assert_eq!(looks[0], 80);
        assert_eq!(looks[24..].iter().sum::<usize>(), 40);
    }

    #[test]
    fn a_look_has_a_limit_and_the_next_goes_on() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), 100..400, 7);
        let mut population = Population::open(root.path());
        let looks = n_reads(&mut population, root.path(), 4);
        assert_eq!(looks[..2], [N_READS_MAX; 2]);
        assert!(population.processes.values().all(|process| !process.threads.is_empty()));
    }
}
