//! State that all ranks share: the world, whose turn it is, and notes on each of them.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use mpi_sim::compute::{Laws, Times};
use mpi_sim::machine::{Description, Machine};
use mpi_sim::process::{CallReport, Compute, RankReport, Report, Setup};
use mpi_sim::result::AlgorithmUsed;
use mpi_sim::{Futexes, Lock, Rank, Settings, Switch, World};
use units::{Rank as RankIdx, SimTime};

use crate::call;
use crate::collective::Collectives;

/// State that all ranks share.
pub struct Job {
    pub world: Lock<World>,
    pub turns: Turns,
    pub notes: Box<[Note]>,
    pub compute: Source,
    pub collectives: Lock<Collectives>,
    /// Algorithms that ran in calls of each function, a bit each.
    pub ran: Box<[AtomicU64]>,
    /// Time that a rank's clock shows when its simulated time is 0: the host's clocks at the start.
    pub real_time_ns: u64,
    pub monotonic_ns: u64,
}

/// Source of the time between calls.
pub enum Source {
    Direct,
    None,
    Record(PathBuf, Lock<Times>),
    Replay(Times),
    Model(Laws),
}

/// Note that a rank leaves for the keeper to read.
pub struct Note {
    /// The number of its call, or [`NO_CALL`].
    pub call: AtomicUsize,
    /// Address that the call came from.
    pub site: AtomicUsize,
    /// Its clock when it last began a call.
    pub at_ns: AtomicU64,
    pub is_initialized: AtomicBool,
    pub is_finalized: AtomicBool,
    /// Whether it has given up its turn for good.
    pub has_ended: AtomicBool,
    /// Changes with each call.
    pub n_calls: AtomicU64,
    /// Sent by the call so far.
    pub n_bytes_sent: AtomicU64,
    /// Stretches of recorded compute time that it was given.
    pub n_charged: AtomicUsize,
    /// Processes that it forked.
    pub n_forks: AtomicU64,
    /// Threads that have called MPI.
    pub n_threads: AtomicU32,
    /// Whether a thread called MPI while another one was in a call.
    pub is_crowded: AtomicBool,
    counts: Box<[CallCount]>,
}

#[derive(Default)]
struct CallCount {
    n: AtomicU64,
    span_ns: AtomicU64,
    n_bytes_sent: AtomicU64,
}

pub const NO_CALL: usize = usize::MAX;

/// Turns of the ranks, in words that the keeper reads too.
///
/// Each worker has a core, and a rank runs on that of the worker that it was given: left to itself, the system wakes a
/// rank on the core of the one that made way for it, where another may be running, and hands over at several times the
/// cost where it does not.
pub struct Turns {
    words: Futexes,
    /// The core of each worker.
    cores: Box<[usize]>,
    /// Workers that nobody has.
    idle: Lock<Vec<usize>>,
    seats: Box<[Seat]>,
}

/// The place where a rank runs.
struct Seat {
    pid: AtomicI32,
    is_running: AtomicBool,
    /// Its present worker, or the last one.
    worker: AtomicUsize,
}

/// No worker.
const NOBODY: usize = usize::MAX;

impl Turns {
    fn new(n_ranks: u32, n_workers: u32) -> Self {
        let cores = own_cores();
        let n_workers = n_workers as usize;
        let seat =
            || Seat { pid: AtomicI32::new(0), is_running: AtomicBool::new(false), worker: AtomicUsize::new(NOBODY) };
        Self {
            words: Futexes::new(n_ranks),
            cores: (0..n_workers).map(|worker| cores[worker % cores.len()]).collect(),
            idle: Lock::new((0..n_workers).rev().collect()),
            seats: (0..n_ranks).map(|_| seat()).collect(),
        }
    }

    /// Says which process a rank is; before anybody runs.
    pub fn seat(&self, rank: RankIdx, pid: i32) {
        self.seats[rank as usize].pid.store(pid, Ordering::Relaxed);
    }

    /// Waits for the right to run.
    pub fn wait(&self, me: RankIdx) {
        self.words.wait(me);
    }

    pub fn is_running(&self, rank: RankIdx) -> bool {
        self.seats[rank as usize].is_running.load(Ordering::Relaxed)
    }

    /// Lets a rank run as this worker.
    fn run(&self, rank: RankIdx, worker: usize) {
        let seat = &self.seats[rank as usize];
        if seat.worker.swap(worker, Ordering::Relaxed) != worker {
            stay_on(seat.pid.load(Ordering::Relaxed), self.cores[worker]);
        }
        seat.is_running.store(true, Ordering::Relaxed);
        self.words.wake(rank);
    }
}

impl Switch for Turns {
    fn give_way(&self, me: RankIdx, next: Option<RankIdx>) {
        self.leave(me, next);
        self.words.wait(me);
    }

    fn wake(&self, rank: RankIdx) {
        // The world knows of an idle worker a moment before whoever had it says so here.
        let worker = loop {
            match self.idle.hold().pop() {
                Some(worker) => break worker,
                None => std::thread::yield_now(),
            }
        };
        self.run(rank, worker);
    }

    fn leave(&self, me: RankIdx, next: Option<RankIdx>) {
        let seat = &self.seats[me as usize];
        seat.is_running.store(false, Ordering::Relaxed);
        let worker = seat.worker.load(Ordering::Relaxed);
        match next {
            Some(next) => self.run(next, worker),
            None => self.idle.hold().push(worker),
        }
    }
}

/// The cores that this process may run on, the one that it runs on first.
fn own_cores() -> Vec<usize> {
    // SAFETY: a set of zeros is an empty one, and the kernel writes no more than its size.
    let (cores, own) = unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&cores), &raw mut cores);
        (cores, usize::try_from(libc::sched_getcpu()).unwrap_or(0))
    };
    // SAFETY: the set is there, and the numbers are within it.
    let is_allowed = |core: &usize| unsafe { libc::CPU_ISSET(*core, &cores) };
    let others = (0..libc::CPU_SETSIZE as usize).filter(|core| *core != own && is_allowed(core));
    std::iter::once(own).chain(others).collect()
}

/// Keeps a process on a core; one that the system does not let it have leaves the process where it is.
fn stay_on(pid: i32, core: usize) {
    // SAFETY: a set of zeros is an empty one, and the kernel reads it only.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut cores);
        libc::sched_setaffinity(pid, size_of_val(&cores), &raw const cores);
    }
}

impl Source {
    fn of(setup: &Setup) -> Result<Self, String> {
        Ok(match &setup.compute {
            Compute::Direct => Self::Direct,
            Compute::None => Self::None,
            Compute::Record(path) => Self::Record(path.clone(), Lock::new(Times::new(setup.n_ranks))),
            Compute::Replay(path) => {
                let file = File::open(path).map_err(|error| error.to_string())?;
                Self::Replay(Times::read(BufReader::new(file)).map_err(|error| error.to_string())?)
            }
            Compute::Model(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
                Self::Model(Laws::read(&text).map_err(|error| error.to_string())?)
            }
        })
    }

    /// Writes what was recorded.
    pub fn keep(&self) -> Result<(), String> {
        let Self::Record(path, times) = self else { return Ok(()) };
        let told = |error| format!("cannot write `{}`: {error}", path.display());
        times.hold().write(BufWriter::new(File::create(path).map_err(told)?)).map_err(told)
    }
}

impl Job {
    /// All ranks at time zero.
    pub fn new(setup: &Setup) -> Result<Self, String> {
        let machine = Description::read(&setup.machine).map_err(|error| error.to_string())?;
        let machine = Machine::new(&machine, setup.n_ranks).map_err(|error| error.to_string())?;
        let settings =
            Settings { protocol: setup.protocol, n_workers: setup.n_workers, has_unique_tags: setup.has_unique_tags };
        Ok(Self {
            world: World::new(machine, settings),
            turns: Turns::new(setup.n_ranks, setup.n_workers.get()),
            notes: (0..setup.n_ranks).map(|_| Note::new()).collect(),
            compute: Source::of(setup)?,
            collectives: Lock::new(Collectives::default()),
            ran: (0..call::N_FUNCTIONS).map(|_| AtomicU64::new(0)).collect(),
            real_time_ns: crate::time::host(libc::CLOCK_REALTIME),
            monotonic_ns: crate::time::host(libc::CLOCK_MONOTONIC),
        })
    }

    pub fn rank(&self, me: RankIdx) -> Rank<'_, Turns> {
        Rank::new(&self.world, &self.turns, me)
    }

    /// The first rank that ended with compute times left, and what to tell of it.
    pub fn left_over(&self) -> Option<(RankIdx, String)> {
        let Source::Replay(times) = &self.compute else { return None };
        let counts = self.notes.iter().map(|note| note.n_charged.load(Ordering::Relaxed));
        let mut counts = (0..).zip(counts).map(|(rank, given)| (rank, given, times.of_rank(rank).len()));
        let (rank, given, recorded) = counts.find(|(_, given, recorded)| given < recorded)?;
        Some((rank, format!("it made {given} calls, and of {recorded} compute times were recorded: record them anew")))
    }

    /// Returns the progress of all ranks.
    pub fn progress(&self) -> Report {
        let world = self.world.hold();
        let clocks = (0..self.notes.len() as RankIdx).map(|rank| world.clock(rank));
        let (least, most) =
            clocks.fold((SimTime::NEVER, SimTime::ZERO), |(least, most), at| (least.min(at), most.max(at)));
        let is_ended = |note: &&Note| note.is_finalized.load(Ordering::Relaxed);
        let n_ended = self.notes.iter().filter(is_ended).count() as u32;
        Report::Progress { n_ended, least_ns: least.as_nanos(), most_ns: most.as_nanos() }
    }

    /// Returns the report at the end.
    pub fn report(&self) -> Report {
        let world = self.world.hold();
        let ranks = (0..).zip(&self.notes).map(|(rank, note)| RankReport {
            at: world.clock(rank),
            is_initialized: note.is_initialized.load(Ordering::Relaxed),
            counts: world.rank_counts(rank).clone(),
            calls: note.calls(),
            unreceived: world.unreceived(rank).map(|left| (left.source, left.tag, left.n_bytes)).collect(),
            n_unfinished: world.n_unfinished(rank),
            n_forks: note.n_forks.load(Ordering::Relaxed),
        });
        let shared_bytes = crate::MEMORY.used_bytes() as u64;
        Report::Ended { ranks: ranks.collect(), counts: world.counts(), algorithms: self.algorithms(), shared_bytes }
    }

    /// The algorithms that ran, with the program's calls in which they did.
    fn algorithms(&self) -> Vec<AlgorithmUsed> {
        let by_call =
            self.ran.iter().enumerate().map(|(function, ran)| (call::name(function), ran.load(Ordering::Relaxed)));
        let ran = by_call.flat_map(|(call, ran)| {
            let all = call::algorithms().iter().enumerate();
            all.filter(move |(bit, _)| ran >> bit & 1 == 1).map(move |(_, algorithm)| (call, algorithm))
        });
        ran.map(|(call, algorithm)| AlgorithmUsed::of(call, algorithm.operation, algorithm.name)).collect()
    }
}

impl Note {
    fn new() -> Self {
        Self {
            call: AtomicUsize::new(NO_CALL),
            site: AtomicUsize::new(0),
            at_ns: AtomicU64::new(0),
            is_initialized: AtomicBool::new(false),
            is_finalized: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            n_calls: AtomicU64::new(0),
            n_bytes_sent: AtomicU64::new(0),
            n_charged: AtomicUsize::new(0),
            n_forks: AtomicU64::new(0),
            n_threads: AtomicU32::new(0),
            is_crowded: AtomicBool::new(false),
            counts: (0..call::N_FUNCTIONS).map(|_| CallCount::default()).collect(),
        }
    }

    /// Whether the rank called `MPI_Init`, and has still to call `MPI_Finalize`.
    pub fn is_open(&self) -> bool {
        self.is_initialized.load(Ordering::Relaxed) && !self.is_finalized.load(Ordering::Relaxed)
    }

    /// The name of the call that the rank is in.
    pub fn call_name(&self) -> Option<&'static str> {
        let call = self.call.load(Ordering::Relaxed);
        (call != NO_CALL).then(|| call::name(call))
    }

    /// Counts a call that took so long.
    pub fn count(&self, function: usize, span_ns: u64) {
        let CallCount { n, span_ns: spans_ns, n_bytes_sent } = &self.counts[function];
        n.fetch_add(1, Ordering::Relaxed);
        spans_ns.fetch_add(span_ns, Ordering::Relaxed);
        n_bytes_sent.fetch_add(self.n_bytes_sent.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }

    fn calls(&self) -> Vec<CallReport> {
        let counts = self.counts.iter().enumerate();
        let counts = counts.map(|(function, CallCount { n, span_ns, n_bytes_sent })| CallReport {
            name: call::name(function).to_owned(),
            n: n.load(Ordering::Relaxed),
            span: units::SimDuration::from_nanos(span_ns.load(Ordering::Relaxed)),
            n_bytes_sent: n_bytes_sent.load(Ordering::Relaxed),
        });
        counts.filter(|call| call.n > 0).collect()
    }
}
