//! The tasks of a host, followed from one reading to the next: how much of a core each uses and how long it waits.
//!
//! Reading all of `/proc` costs about 4 microseconds for each process. So one that does nothing is looked at less and
//! less often, threads are looked at only while their process does something, and a reading looks at a limited number
//! of files and goes on with the others at the next. What is missed for that time is not lost: it is part of what the
//! cores were seen to do and no task was.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    group::{Groups, Place},
    recent::Recent,
    task::{Class, Nature, Spent},
};

/// How many files one reading looks at, at most: about half a millisecond.
const N_READS_MAX: usize = 256;

/// How many processes are followed at most, and how many threads of one: bounds for memory, not for accuracy.
const N_PROCESSES_MAX: usize = 8192;
const N_THREADS_MAX: usize = 64;

/// How long a process that does nothing is left alone at most.
const PATIENCE_MAX: Duration = Duration::from_secs(8);

/// How long a process's place is taken as known, and how each of its threads is scheduled.
const PLACE_KEPT: Duration = Duration::from_secs(10);

/// The list of processes is read once in so long for every so many: a thousand names cost about a third of a
/// millisecond.
const LIST_EVERY: Duration = Duration::from_secs(1);
const N_LISTED_AT_ONCE: usize = 512;

/// Tasks younger than this are not followed one by one: most such are gone before they can be.
const YOUNG: Duration = Duration::from_secs(3);

/// A process or thread that uses less of a core than this is idle.
const USED_MIN: f64 = 0.002;

/// A task that was followed for some time.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'a> {
    pub place: &'a Place,
    pub class: Class,
    /// The core that it ran on last.
    pub core: u64,
    /// The share of a core that it used.
    pub used: f64,
    /// The share of the time that it waited for one.
    pub waited: f64,
    /// Both in seconds, as far as they count.
    pub seconds: [f64; 2],
    /// Whether it is so young that it will probably be gone soon.
    pub is_young: bool,
}

/// The tasks of a host.
#[derive(Debug)]
pub(crate) struct Population {
    proc: PathBuf,
    processes: BTreeMap<u32, Process>,
    list_at: Duration,
    /// Where the last reading came to its limit.
    next_pid: u32,
    n_reads: usize,
    text: Vec<u8>,
    /// What tasks that are gone used and waited, in seconds.
    gone: Recent<2>,
    read_at: Option<Duration>,
}

#[derive(Debug)]
struct Process {
    nature: Nature,
    place: Option<(Place, Duration)>,
    threads: BTreeMap<u32, Thread>,
    look_at: Duration,
    patience: Duration,
}

#[derive(Debug)]
struct Thread {
    class: Class,
    core: u64,
    born_at: Option<Duration>,
    last: Option<(Duration, Spent)>,
    /// Used and waited, in seconds.
    recent: Recent<2>,
}

/// The time, by the clock of the readings and by that of the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub at: Duration,
    /// Time since the host was started, if that is known.
    pub uptime: Option<Duration>,
}

impl Now {
    /// How long ago it was that the kernel's clock stood at `ticks`.
    fn age(self, ticks: u64) -> Option<Duration> {
        let since_start = Duration::from_secs_f64(ticks as f64 / procfs::ticks_per_second() as f64);
        Some(self.uptime?.saturating_sub(since_start))
    }
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

    /// For how long tasks used and waited for a core lately that were followed and are gone, in seconds.
    ///
    /// The cores remember it for a while, and it is not the work of any task that there still is.
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
                inherit(&mut self.gone, process.threads.values());
            }
        }
    }

    /// Every task that did something lately, in the order of the numbers.
    pub(crate) fn seen(&self, now: Now) -> impl Iterator<Item = Seen<'_>> {
        self.processes.values().flat_map(move |process| {
            let place = process.place.as_ref().map(|(place, _)| place);
            process.threads.values().filter_map(move |thread| thread.seen(place?, now))
        })
    }

    /// Drops the processes that are gone and takes in those that came.
    fn list(&mut self, now: Now) {
        let Ok(entries) = fs::read_dir(&self.proc) else { return };
        let pids: BTreeSet<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).take(N_PROCESSES_MAX).collect();
        let gone = self.processes.extract_if(.., |pid, _| !pids.contains(pid));
        gone.for_each(|(_, process)| inherit(&mut self.gone, process.threads.values()));
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
            if !process.has_fresh_place(now) {
                self.n_reads += 2;
                process.place = Some((groups.place_of(&pid.to_string(), now.at), now.at));
            }
        } else {
            process.patience = (2 * process.patience).clamp(LIST_EVERY, PATIENCE_MAX);
        }
        process.look_at = now.at + process.patience;
        Some(())
    }

    fn look_at_threads(&mut self, pid: u32, process: &mut Process, now: Now) -> Option<()> {
        if process.nature.n_threads == 1 {
            process.threads.retain(|tid, _| *tid == pid);
            let spent = Spent::parse(self.file(&format!("{pid}/schedstat"))?)?;
            let thread = process.threads.entry(pid).or_insert_with(|| Thread::new(process.nature, now));
            (thread.class, thread.core) = (process.nature.class, process.nature.core);
            thread.step(now, spent);
            return Some(());
        }
        let entries = fs::read_dir(self.proc.join(format!("{pid}/task"))).ok()?;
        let tids: BTreeSet<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).take(N_THREADS_MAX).collect();
        let gone: Vec<Thread> =
            process.threads.extract_if(.., |tid, _| !tids.contains(tid)).map(|(_, thread)| thread).collect();
        inherit(&mut self.gone, gone.iter());
        for tid in tids {
            // A thread that is gone between the list and here is no reason to give up its process.
            let Some(spent) = self.file(&format!("{pid}/task/{tid}/schedstat")).and_then(Spent::parse) else {
                continue;
            };
            let is_fresh = process.threads.contains_key(&tid) && process.has_fresh_place(now);
            let nature =
                if is_fresh { None } else { self.file(&format!("{pid}/task/{tid}/stat")).and_then(Nature::parse) };
            let parent = process.nature;
            let thread = process.threads.entry(tid).or_insert_with(|| Thread::new(nature.unwrap_or(parent), now));
            if let Some(Nature { class, core, .. }) = nature {
                (thread.class, thread.core) = (class, core);
            }
            thread.step(now, spent);
        }
        Some(())
    }

    /// The text of a file below `/proc`, if it is there.
    fn file(&mut self, path: &str) -> Option<&[u8]> {
        self.n_reads += 1;
        self.text.clear();
        // These files have a line; what is longer than a page is no such file.
        File::open(self.proc.join(path)).ok()?.take(4096).read_to_end(&mut self.text).ok()?;
        Some(&self.text)
    }
}

/// Adds what `threads` did to what those that are `gone` did.
fn inherit<'a>(gone: &mut Recent<2>, threads: impl Iterator<Item = &'a Thread>) {
    threads.for_each(|thread| gone.inherit(&thread.recent));
}

impl Process {
    fn unknown(now: Now) -> Process {
        // No process has this start, so that the first look takes it for another.
        let nature = Nature {
            started_ticks: u64::MAX,
            n_threads: 0,
            core: 0,
            used_ticks: 0,
            class: Class::Fair(super::model::FULL_WEIGHT),
        };
        Process { nature, place: None, threads: BTreeMap::new(), look_at: now.at, patience: Duration::ZERO }
    }

    /// Whether its place, and how its threads are scheduled, are taken as known.
    fn has_fresh_place(&self, now: Now) -> bool {
        self.place.as_ref().is_some_and(|(_, at)| now.at.saturating_sub(*at) < PLACE_KEPT)
    }

    fn is_busy(&self) -> bool {
        self.threads.values().any(|thread| thread.recent.rates().is_some_and(|[used, _]| used >= USED_MIN))
    }
}

impl Thread {
    fn new(nature: Nature, now: Now) -> Thread {
        let born_at = now.age(nature.started_ticks).and_then(|age| now.at.checked_sub(age));
        Thread { class: nature.class, core: nature.core, born_at, last: None, recent: Recent::new() }
    }

    fn step(&mut self, now: Now, spent: Spent) {
        let from = match self.last {
            Some(last) => Some(last),
            // What a young one has had, it has had since its birth.
            None => self.born_at.map(|born_at| (born_at, Spent::default())).filter(|_| self.is_young(now)),
        };
        self.last = Some((now.at, spent));
        let Some((last_at, last)) = from else { return };
        if let Some(Spent { used_ns, waited_ns }) = spent.since(last) {
            let seconds = [used_ns, waited_ns].map(|ns| ns as f64 * 1e-9);
            self.recent.add(now.at.saturating_sub(last_at), seconds);
        }
    }

    fn is_young(&self, now: Now) -> bool {
        self.born_at.is_some_and(|born_at| now.at.saturating_sub(born_at) < YOUNG)
    }

    fn seen<'a>(&self, place: &'a Place, now: Now) -> Option<Seen<'a>> {
        // The kernel's clock and the caller's are read one after the other, and a share can come out beyond 1.
        let [used, waited] = self.recent.rates()?;
        let used = used.clamp(0.0, 1.0);
        let waited = waited.clamp(0.0, 1.0 - used);
        let (is_young, seconds) = (self.is_young(now), self.recent.sums());
        let seen = Seen { place, class: self.class, core: self.core, used, waited, seconds, is_young };
        (used >= USED_MIN).then_some(seen)
    }
}
