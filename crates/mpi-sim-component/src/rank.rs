//! This process as a rank: what passes between its calls, and what happens at their beginning and end.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use mpi_sim::{Rank, Reason, Stopped};
use units::{SimDuration, SimTime};

use crate::collective::Collective;
use crate::holder::{HoldPurpose, Holder, n_threads};
use crate::job::{Job, NO_CALL, Source, Turns};
use crate::{call, early, face, time};

/// Time that a look at a clock takes where processor time does not count, so that a loop until some time comes to an
/// end.
const LOOK: SimDuration = SimDuration::from_nanos(25);

/// Functions that any thread may call at any time (MPI 4.0, 11.6), and the clock.
const ANY_THREAD: [&str; 8] = [
    "MPI_Finalized",
    "MPI_Get_library_version",
    "MPI_Get_version",
    "MPI_Initialized",
    "MPI_Is_thread_main",
    "MPI_Query_thread",
    "MPI_Wtick",
    "MPI_Wtime",
];

static JOB: AtomicPtr<Job> = AtomicPtr::new(std::ptr::null_mut());
static ME: AtomicU32 = AtomicU32::new(0);
/// False in children that the rank forked.
static IS_RANK: AtomicBool = AtomicBool::new(false);
static HOLDER: Holder = Holder::nobody();
/// Number of collective calls that this rank has begun on each communicator.
static N_COLLECTIVE: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The processor time of this thread up to which its clock has come; nothing before its first call.
    static COMPUTED_NS: Cell<Option<u64>> = const { Cell::new(None) };
    /// Whether another thread was in a call when its own began.
    static IS_GUEST: Cell<bool> = const { Cell::new(false) };
    /// The simulated time at which its call began.
    static BEGAN: Cell<SimTime> = const { Cell::new(SimTime::ZERO) };
}

/// Has MPI set up what all ranks share.
pub fn prepare(job: &'static Job) {
    JOB.store(std::ptr::from_ref(job).cast_mut(), Ordering::Release);
    // None of them.
    ME.store(n_ranks(), Ordering::Relaxed);
    early::prepare();
}

/// Makes this process rank `me`, and returns when it may run.
pub fn begin(job: &'static Job, me: units::Rank) {
    ME.store(me, Ordering::Relaxed);
    // SAFETY: all functions are there until the process ends.
    unsafe {
        libc::pthread_atfork(None, Some(note_fork), Some(forked));
        libc::atexit(end);
    }
    job.turns.wait(me);
    IS_RANK.store(true, Ordering::Release);
    early::become_rank();
    mark();
}

extern "C" fn note_fork() {
    if let Some(job) = job() {
        job.notes[me() as usize].n_forks.fetch_add(1, Ordering::Relaxed);
    }
}

extern "C" fn forked() {
    IS_RANK.store(false, Ordering::Release);
}

/// Lets the next rank run while the system takes this process apart. One that ends otherwise than by `exit` and well is
/// the keeper's.
extern "C" fn end() {
    if let Some(job) = job()
        && !job.notes[me() as usize].is_open()
    {
        IS_RANK.store(false, Ordering::Release);
        job.notes[me() as usize].has_ended.store(true, Ordering::Relaxed);
        job.rank(me()).end();
    }
}

/// Whether this process is a rank.
pub fn is_simulated() -> bool {
    IS_RANK.load(Ordering::Relaxed)
}

/// Returns the state that all ranks share; nothing where this is none.
pub fn job() -> Option<&'static Job> {
    // SAFETY: the job was leaked before the ranks were forked.
    if is_simulated() { unsafe { JOB.load(Ordering::Relaxed).as_ref() } } else { None }
}

/// Returns the number of ranks.
pub fn n_ranks() -> u32 {
    // SAFETY: as in `job`.
    unsafe { JOB.load(Ordering::Relaxed).as_ref() }.map_or(1, |job| job.notes.len() as u32)
}

/// The job, for calls that only ranks make.
fn own_job() -> &'static Job {
    job().unwrap_or_else(|| {
        eprintln!("a process that rank {} forked calls MPI, and only ranks can", me());
        // SAFETY: what the rank has set up to be done at its end is not this process's to do.
        unsafe { libc::_exit(1) }
    })
}

pub fn me() -> units::Rank {
    ME.load(Ordering::Relaxed)
}

pub fn rank() -> Rank<'static, Turns> {
    own_job().rank(me())
}

/// MPI has begun for the program.
pub fn initialized() {
    own_job().notes[me() as usize].is_initialized.store(true, Ordering::Relaxed);
}

/// A call begins, and nothing else of this thread is under way.
pub fn enter(function: usize, site: usize, size_bytes: impl Fn() -> u64) {
    let job = own_job();
    let is_guest = HOLDER.take(HoldPurpose::Call).is_err();
    IS_GUEST.set(is_guest);
    if is_guest {
        if ANY_THREAD.contains(&call::name(function)) {
            return;
        }
        job.notes[me() as usize].is_crowded.store(true, Ordering::Relaxed);
        fail(crowded(me()));
    }
    charge(job, || (site_name(function, site), size_bytes()));
    let now = job.rank(me()).now();
    BEGAN.set(now);
    let note = &job.notes[me() as usize];
    note.at_ns.store(now.as_nanos(), Ordering::Relaxed);
    note.site.store(site, Ordering::Relaxed);
    note.n_threads.store(n_threads(), Ordering::Relaxed);
    note.call.store(function, Ordering::Relaxed);
    note.n_calls.fetch_add(1, Ordering::Relaxed);
}

/// The outermost call ends.
pub fn leave() {
    if IS_GUEST.get() {
        return;
    }
    let job = own_job();
    let note = &job.notes[me() as usize];
    let function = note.call.swap(NO_CALL, Ordering::Relaxed);
    if function != NO_CALL {
        note.count(function, job.rank(me()).now().saturating_since(BEGAN.get()).as_nanos());
    }
    mark();
    HOLDER.give_back();
}

/// A collective call begins, which has to be the one that the communicator's other ranks make.
pub fn begin_collective(function: usize, comm: usize, root: Option<i32>) {
    let Some((comm, n_members)) = face::communicator(comm) else { return };
    let nth = {
        let mut all = N_COLLECTIVE.lock().expect("nothing panics with it");
        let n_begun = all.entry(comm).or_default();
        *n_begun += 1;
        *n_begun
    };
    let call = Collective { function, root };
    let met = own_job().collectives.hold().meet((comm, nth), call, me(), n_members);
    met.unwrap_or_else(|(other, by)| {
        fail(format!("its collective call {nth} on this communicator is {call}, and that of rank {by} is {other}"))
    });
}

/// The name of the call that this rank is in.
pub fn call_name() -> Option<&'static str> {
    own_job().notes[me() as usize].call_name()
}

/// An algorithm of a collective operation runs.
pub fn ran(algorithm: usize) {
    let Some(job) = job() else { return };
    let call = job.notes[me() as usize].call.load(Ordering::Relaxed);
    if let Some(ran) = job.ran.get(call) {
        ran.fetch_or(1 << algorithm, Ordering::Relaxed);
    }
}

/// The call that is under way sends so many bytes.
pub fn note_sent(n_bytes: usize) {
    own_job().notes[me() as usize].n_bytes_sent.fetch_add(n_bytes as u64, Ordering::Relaxed);
}

/// The time since the last call counts.
fn charge(job: &Job, place: impl Fn() -> (String, u64)) {
    let span = match &job.compute {
        Source::None => return,
        Source::Direct => computed(),
        Source::Record(_, times) => {
            let span = computed();
            let (site, size_bytes) = place();
            times.hold().record(me(), &site, size_bytes, span);
            mark();
            span
        }
        Source::Replay(times) => {
            let nth = job.notes[me() as usize].n_charged.fetch_add(1, Ordering::Relaxed);
            times.span(me(), nth, &place().0).unwrap_or_else(|differs| fail(differs.to_string()))
        }
        Source::Model(laws) => {
            let (site, size_bytes) = place();
            let span = laws.span(&site, job.notes.len() as u32, size_bytes);
            span.unwrap_or_else(|| fail(format!("it is at `{site}`, for which there is no law: record and fit anew")))
        }
    };
    job.rank(me()).compute(span);
}

/// The processor time since the last call.
fn computed() -> SimDuration {
    let now = time::host(libc::CLOCK_THREAD_CPUTIME_ID);
    // A thread counts from its first call on.
    let since = COMPUTED_NS.replace(Some(now)).unwrap_or(now);
    SimDuration::from_nanos(now - since)
}

/// The name of a place in the program: its file, how far in that, and the function that it calls.
fn site_name(function: usize, site: usize) -> String {
    // SAFETY: plain words and pointers, for which zeros are values.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is only looked up.
    let is_known = unsafe { libc::dladdr(site as *const libc::c_void, &raw mut found) } != 0;
    let name = call::name(function);
    if !is_known || found.dli_fname.is_null() {
        return name.to_owned();
    }
    // SAFETY: the loader's name of a file, which stays while the file is loaded.
    let file = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy();
    let file = file.rsplit('/').next().unwrap_or_default();
    format!("{file}+{:#x} {name}", site - found.dli_fbase.addr())
}

/// Marks the time until now as not counting.
fn mark() {
    let is_measured = matches!(own_job().compute, Source::Direct | Source::Record(..));
    COMPUTED_NS.set(Some(if is_measured { time::host(libc::CLOCK_THREAD_CPUTIME_ID) } else { 0 }));
}

/// Returns the time that a clock shows: simulated time, where this is a rank.
pub fn read_clock() -> Option<SimTime> {
    let job = job()?;
    // Another thread than the one that calls MPI may look, and must not count its own time.
    if call::depth() == 0 && COMPUTED_NS.get().is_some() && HOLDER.take(HoldPurpose::Time).is_ok() {
        if matches!(job.compute, Source::None) {
            job.rank(me()).sleep(LOOK);
        } else {
            charge(job, || ("clock".to_owned(), 0));
        }
        HOLDER.give_back();
    }
    Some(job.rank(me()).now())
}

/// Sleeps in simulated time, outside of any call; false for threads that never called MPI, and while another thread is
/// in a call: then the sleep is real.
pub fn sleep(span: SimDuration) -> bool {
    let is_own = COMPUTED_NS.get().is_some() && HOLDER.take(HoldPurpose::Time).is_ok();
    if is_own {
        let job = own_job();
        charge(job, || ("sleep".to_owned(), 0));
        job.rank(me()).sleep(span);
        HOLDER.give_back();
    }
    is_own
}

/// Ends the run: the simulation stands still.
pub fn stopped(_: Stopped) -> ! {
    // The keeper finds out why, and ends this process.
    // SAFETY: both only concern signals to own processes.
    unsafe {
        libc::kill(libc::getppid(), libc::SIGUSR1);
        loop {
            libc::pause();
        }
    }
}

/// Ends the run for a reason.
pub fn fail(what: String) -> ! {
    let mut rank = rank();
    let why = Stopped { rank: me(), at: rank.now(), reason: Reason::Ended(what) };
    rank.stop(why.clone());
    stopped(why)
}

/// Returns the reason why two threads end the run.
pub fn crowded(rank: units::Rank) -> String {
    format!("two threads of rank {rank} are in MPI at one time; the simulator provides SERIALIZED")
}

/// Ends the run because of a call that is not simulated.
pub fn refuse(name: &str) -> ! {
    let later = ["_port", "_name", "_accept", "_connect", "_join", "_spawn", "_spawn_multiple"];
    let why = if name.starts_with("MPI_T_") {
        "the variables of the MPI library are not simulated"
    } else if name.starts_with("MPI_File") || name.starts_with("MPI_Register_datarep") {
        "files are not simulated"
    } else if name.starts_with("MPI_Win_allocate_shared") {
        "memory that ranks reach without a call is not simulated"
    } else if later.iter().any(|end| name.ends_with(end)) {
        "processes that start later are not simulated"
    } else {
        "what MPI 4 brought is not simulated"
    };
    fail(format!("{name} was called, and {why}"))
}
