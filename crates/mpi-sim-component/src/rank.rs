//! This process as a rank: what passes between its calls, and what happens at their beginning and end.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use mpi_sim::process::Compute;
use mpi_sim::{Rank, Reason, Stopped};
use units::{SimDuration, SimTime};

use crate::job::{Job, NO_CALL, Turns};
use crate::{call, time};

/// What a look at a clock takes where processor time does not count, so that a loop until some time comes to an end.
const LOOK: SimDuration = SimDuration::from_nanos(25);

static JOB: AtomicPtr<Job> = AtomicPtr::new(std::ptr::null_mut());
static ME: AtomicU32 = AtomicU32::new(0);
/// False in children that the rank forked.
static IS_RANK: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The processor time of this thread up to which its clock has come; nothing before its first call.
    static COMPUTED_NS: Cell<Option<u64>> = const { Cell::new(None) };
    /// The simulated time at which its call began.
    static BEGAN: Cell<SimTime> = const { Cell::new(SimTime::ZERO) };
}

/// Makes this process rank `me`, and returns when it may run.
pub fn begin(job: &'static Job, me: units::Rank) {
    JOB.store(std::ptr::from_ref(job).cast_mut(), Ordering::Release);
    ME.store(me, Ordering::Relaxed);
    // SAFETY: the function only stores a word.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    job.turns.wait(me);
    IS_RANK.store(true, Ordering::Release);
    mark();
}

extern "C" fn forked() {
    IS_RANK.store(false, Ordering::Release);
}

/// Whether this process is a rank.
pub fn is_simulated() -> bool {
    IS_RANK.load(Ordering::Relaxed)
}

/// What all ranks share; nothing where this is none.
pub fn job() -> Option<&'static Job> {
    // SAFETY: the job was leaked before the ranks were forked.
    if is_simulated() { unsafe { JOB.load(Ordering::Relaxed).as_ref() } } else { None }
}

/// The job, for calls that only ranks make.
fn own_job() -> &'static Job {
    job().expect("only ranks call the simulation")
}

pub fn me() -> units::Rank {
    ME.load(Ordering::Relaxed)
}

pub fn rank() -> Rank<'static, Turns> {
    own_job().rank(me())
}

/// A call begins, and nothing else is under way.
pub fn enter(function: usize, site: usize) {
    let job = own_job();
    charge(job);
    let now = job.rank(me()).now();
    BEGAN.set(now);
    let note = &job.notes[me() as usize];
    note.at_ns.store(now.as_nanos(), Ordering::Relaxed);
    note.site.store(site, Ordering::Relaxed);
    note.call.store(function, Ordering::Relaxed);
    note.n_calls.fetch_add(1, Ordering::Relaxed);
}

/// The outermost call ends.
pub fn leave() {
    let job = own_job();
    let note = &job.notes[me() as usize];
    let function = note.call.swap(NO_CALL, Ordering::Relaxed);
    if function != NO_CALL {
        note.count(function, job.rank(me()).now().saturating_since(BEGAN.get()).as_nanos());
        if call::name(function).starts_with("MPI_Init") {
            note.is_initialized.store(true, Ordering::Relaxed);
        }
    }
    mark();
}

/// The call that is under way sends so many bytes.
pub fn note_sent(n_bytes: usize) {
    own_job().notes[me() as usize].n_bytes_sent.fetch_add(n_bytes as u64, Ordering::Relaxed);
}

/// The processor time since the last call counts.
fn charge(job: &Job) {
    if job.compute == Compute::Direct {
        let now = time::host(libc::CLOCK_THREAD_CPUTIME_ID);
        // A thread counts from its first call on.
        let since = COMPUTED_NS.replace(Some(now)).unwrap_or(now);
        job.rank(me()).compute(SimDuration::from_nanos(now - since));
    }
}

/// What passed until now does not count.
fn mark() {
    COMPUTED_NS.set(Some(time::host(libc::CLOCK_THREAD_CPUTIME_ID)));
}

/// What a clock shows: simulated time, where this is a rank.
pub fn read_clock() -> Option<SimTime> {
    let job = job()?;
    // Another thread than the one that calls MPI may look, and must not count its own time.
    if call::depth() == 0 && COMPUTED_NS.get().is_some() {
        if job.compute == Compute::Direct {
            charge(job);
        } else {
            job.rank(me()).sleep(LOOK);
        }
    }
    Some(job.rank(me()).now())
}

/// Sleeps in simulated time; false for threads that never called MPI, whose sleeps are real.
pub fn sleep(span: SimDuration) -> bool {
    let is_own = COMPUTED_NS.get().is_some();
    if is_own {
        let job = own_job();
        charge(job);
        job.rank(me()).sleep(span);
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
    let why = Stopped { rank: me(), at: rank.now(), reason: Reason::Told(what) };
    rank.stop(why.clone());
    stopped(why)
}

/// Ends the run because of a call that is not simulated.
pub fn refuse(name: &str) -> ! {
    let why = if name.starts_with("MPI_T_") {
        "the variables of the MPI library are not simulated"
    } else if name.starts_with("MPI_File") || name == "MPI_Register_datarep" {
        "files are not simulated"
    } else {
        "processes that start later are not simulated"
    };
    fail(format!("{name} was called, and {why}"))
}
