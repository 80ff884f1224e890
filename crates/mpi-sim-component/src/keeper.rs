//! The process that the ranks are forked from: it stays behind, sees how they end, and tells the launcher.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::Ordering;

use mpi_sim::process::{DESCRIPTORS, Failure, Report, Setup};
use mpi_sim::result::Waiting;
use mpi_sim::{Reason, Stopped, Switch};
use units::{Rank, SimTime};

use crate::job::Job;
use crate::script::ScriptProcess;
use crate::{library, rank};

const PRELOAD: &str = "LD_PRELOAD";
const SEARCHED: &str = "LD_LIBRARY_PATH";
/// Seconds between two reports of progress to the launcher.
const TICK_S: i64 = 1;
/// Any child, for `waitpid`.
const ANY: i32 = -1;
/// Number of ranks beyond which others that have ended as well are looked for at a tick only: the system goes through
/// all to find one.
const SOUGHT_MAX: usize = 64;
/// Looks at a rank's other threads after a deadlock, and nanoseconds between them.
const N_LOOKS: u32 = 100;
const LOOK_NS: i64 = 10_000_000;
/// Ticks without a call or any processor time of those that may run.
const IDLE_TICKS_MAX: u32 = 20;

/// Runs before `main`, where the launcher has left a setup: returns in the ranks only.
pub fn begin() {
    let Some((job, report)) = prepare() else { return };
    // What is there when ranks are forked is one thing in shared memory, which only the keeper may give back, and it
    // never ends.
    let mut teller = ManuallyDrop::new(Teller(BufWriter::new(report)));
    let job: &'static Job = match job {
        Ok(job) => Box::leak(Box::new(job)),
        Err(what) => teller.give_up(0, &what),
    };
    if library::has_other_mpich() {
        let what = "the program loads an MPICH of its own (RPATH): link it without, so that the simulator's is found";
        teller.give_up(0, what);
    }
    // SAFETY: the call takes nothing.
    teller.tell(&Report::Begun { keeper: unsafe { libc::getpid() } });
    die_with_parent();
    rank::prepare(job);
    let signals = block_signals();
    let mut pids = ManuallyDrop::new(Vec::with_capacity(job.notes.len()));
    for me in 0..job.notes.len() as Rank {
        // SAFETY: this process has one thread.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: the rank has nothing to tell, and the launcher waits until nobody can.
                unsafe { libc::close(teller.0.get_ref().as_raw_fd()) };
                unblock(&signals);
                become_rank(job, me);
                return;
            }
            -1 => {
                let error = std::io::Error::last_os_error();
                kill_all(&pids);
                teller.give_up(me, &format!("rank {me} of {} cannot be made: {error}", job.notes.len()));
            }
            pid => {
                job.turns.seat(me, pid);
                pids.push(pid);
            }
        }
    }
    Keeper {
        job,
        pids: ManuallyDrop::into_inner(pids),
        teller: ManuallyDrop::into_inner(teller),
        n_idle_ticks: 0,
        seen: 0,
    }
    .keep(&signals)
}

/// Reads what the launcher left: the job, or why there is none, and where to report. Nothing where this process is on
/// the way to the program.
fn prepare() -> Option<(Result<Job, String>, File)> {
    let descriptors = std::env::var(DESCRIPTORS).ok()?;
    let numbers: Vec<i32> = descriptors.split(',').filter_map(|number| number.parse().ok()).collect();
    let [setup, report, launcher] = numbers[..] else { return None };
    // Opened anew, it is read from its beginning however often it was read.
    let text = std::fs::read_to_string(format!("/proc/self/fd/{setup}")).map_err(|error| error.to_string());
    let read = text.and_then(|text| serde_json::from_str::<Setup>(&text).map_err(|error| error.to_string()));
    if read.as_ref().is_ok_and(|setup| !is_program(setup, launcher)) {
        return None;
    }
    // SAFETY: the launcher opened both for this process; nothing else has been done in it.
    let (mut setup, report) = unsafe { (File::from_raw_fd(setup), File::from_raw_fd(report)) };
    let job = read.and_then(|read| {
        // All processes of a script share this position.
        if setup.stream_position().is_ok_and(|position| position > 0) {
            return Err("a script starts a second program with MPI, and one is simulated at a time".to_owned());
        }
        setup.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
        // SAFETY: no thread is there yet.
        unsafe { clean_environment(&read) };
        Job::new(&read)
    });
    Some((job, report))
}

/// Whether this process is the program, and not a shell that starts it or one of the shell's helpers.
fn is_program(setup: &Setup, launcher: i32) -> bool {
    let file = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    // SAFETY: the call takes nothing.
    let is_launched = unsafe { libc::getppid() } == launcher;
    ScriptProcess { file: &file, arguments: &arguments, is_launched, has_mpi: library::is_linked() }
        .is_program(&setup.arguments)
}

/// Removes the simulation from the environment: what the ranks start is not simulated.
unsafe fn clean_environment(setup: &Setup) {
    // SAFETY: the caller's.
    unsafe {
        std::env::remove_var(DESCRIPTORS);
        for (variable, own) in [(PRELOAD, &setup.preloaded), (SEARCHED, &setup.searched)] {
            let others = std::env::var(variable).unwrap_or_default();
            let others: Vec<&str> = others.split([':', ' ']).filter(|path| path != own && !path.is_empty()).collect();
            if others.is_empty() {
                std::env::remove_var(variable);
            } else {
                std::env::set_var(variable, others.join(":"));
            }
        }
    }
}

fn die_with_parent() {
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

fn become_rank(job: &'static Job, me: Rank) {
    die_with_parent();
    if me > 0 {
        // Standard input is rank 0's, as with other launchers.
        // SAFETY: descriptors of this process.
        unsafe {
            let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
            libc::dup2(nothing, 0);
            libc::close(nothing);
        }
    }
    rank::begin(job, me);
}

/// Blocks the signals that the keeper waits for: the end of a rank, a rank's signal, the launcher's.
fn block_signals() -> libc::sigset_t {
    // SAFETY: the set is initialized by the first call.
    unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        for signal in [libc::SIGCHLD, libc::SIGUSR1, libc::SIGTERM, libc::SIGINT] {
            libc::sigaddset(&raw mut signals, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        signals
    }
}

fn unblock(signals: &libc::sigset_t) {
    // SAFETY: a set that was initialized.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, signals, std::ptr::null_mut()) };
}

fn kill_all(pids: &[i32]) {
    for &pid in pids {
        // SAFETY: a child that has not been waited for.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// Tells the launcher.
struct Teller(BufWriter<File>);

impl Teller {
    fn tell(&mut self, report: &Report) {
        // A launcher that is gone has taken this process with it.
        let _ = serde_json::to_writer(&mut self.0, report);
        let _ = self.0.write_all(b"\n").and_then(|()| self.0.flush());
    }

    fn give_up(&mut self, rank: Rank, what: &str) -> ! {
        let at = SimTime::ZERO;
        self.tell(&Report::Failed(Failure { rank, call: None, at, what: what.to_owned(), waits: Vec::new() }));
        // SAFETY: the launcher has been told, and the program has not begun.
        unsafe { libc::_exit(1) }
    }
}

struct Keeper {
    job: &'static Job,
    /// 0 for those that have ended.
    pids: Vec<i32>,
    teller: Teller,
    n_idle_ticks: u32,
    /// Sum that changes while ranks do anything.
    seen: u64,
}

impl Keeper {
    fn keep(mut self, signals: &libc::sigset_t) -> ! {
        let first = self.job.world.hold().first();
        first.for_each(|rank| self.job.turns.wake(rank));
        let (mut is_failed, mut has_world) = (false, true);
        let mut n_left = self.pids.len();
        while n_left > 0 && !is_failed {
            let tick = libc::timespec { tv_sec: TICK_S, tv_nsec: 0 };
            // Only one that has ended is told of where several have.
            let mut ended = ANY;
            // SAFETY: plain words, for which zeros are values; all is there until the call returns.
            let signal = unsafe {
                let mut told: libc::siginfo_t = std::mem::zeroed();
                let signal = libc::sigtimedwait(signals, &raw mut told, &raw const tick);
                if signal == libc::SIGCHLD && n_left > SOUGHT_MAX {
                    ended = told.si_pid();
                }
                signal
            };
            match signal {
                libc::SIGCHLD => {}
                libc::SIGTERM | libc::SIGINT => {
                    self.fail(0, "the run was interrupted".to_owned());
                    is_failed = true;
                }
                libc::SIGUSR1 => {}
                _ => {
                    let progress = self.job.progress();
                    self.teller.tell(&progress);
                    is_failed |= self.is_stuck();
                }
            }
            while !is_failed && let Some((rank, status)) = self.reap(ended) {
                n_left -= 1;
                match wrong_end(self.job, rank, status) {
                    Some(what) => {
                        self.fail(rank, what);
                        is_failed = true;
                        has_world = libc::WIFEXITED(status);
                    }
                    None if self.job.notes[rank as usize].has_ended.load(Ordering::Relaxed) => {}
                    None => self.job.rank(rank).end(),
                }
            }
            if !is_failed {
                let stopped = self.job.world.hold().stopped().cloned();
                if let Some(stopped) = stopped {
                    self.explain(stopped);
                    is_failed = true;
                }
            }
        }
        if !is_failed && let Some((rank, what)) = self.job.left_over() {
            self.fail(rank, what);
            is_failed = true;
        }
        if !is_failed && let Err(what) = self.job.compute.keep() {
            self.fail(0, what);
            is_failed = true;
        }
        let pids: Vec<i32> = self.pids.iter().copied().filter(|pid| *pid != 0).collect();
        kill_all(&pids);
        if has_world {
            let ended = self.job.report();
            self.teller.tell(&ended);
        }
        // SAFETY: the program of this process has never begun.
        unsafe { libc::_exit(i32::from(is_failed)) }
    }

    /// A rank that has ended, and how: of that process, or of any.
    fn reap(&mut self, ended: i32) -> Option<(Rank, i32)> {
        loop {
            let mut status = 0;
            // SAFETY: the status is there until the call returns.
            let pid = unsafe { libc::waitpid(ended, &raw mut status, libc::WNOHANG) };
            if pid <= 0 {
                return None;
            }
            if let Some(rank) = self.pids.iter().position(|own| *own == pid) {
                self.pids[rank] = 0;
                return Some((rank as Rank, status));
            }
        }
    }

    fn fail(&mut self, rank: Rank, what: String) {
        self.fail_with(rank, what, Vec::new());
    }

    fn fail_with(&mut self, rank: Rank, what: String, waits: Vec<Waiting>) {
        // The rank may have died with the right to the world.
        let at = SimTime::from_nanos(self.job.notes[rank as usize].at_ns.load(Ordering::Relaxed));
        let call = self.job.notes[rank as usize].call_name().map(str::to_owned);
        self.teller.tell(&Report::Failed(Failure { rank, call, at, what, waits }));
    }

    fn explain(&mut self, stopped: Stopped) {
        let Stopped { rank, reason, .. } = stopped;
        let mut what = reason.to_string();
        let n_ended = self.pids.iter().filter(|pid| **pid == 0).count();
        if reason == Reason::Deadlock && n_ended > 0 {
            what += &format!("; ranks that have ended: {n_ended}");
        }
        if reason == Reason::Deadlock
            && let Some(why) = self.crowded()
        {
            what = why;
        }
        let call = |rank: Rank| self.job.notes[rank as usize].call_name().map(str::to_owned);
        let world = self.job.world.hold();
        let waits = world.waits().iter().map(|wait| Waiting { call: call(wait.rank), ..Waiting::of(wait) }).collect();
        drop(world);
        self.fail_with(rank, what, waits);
    }

    /// The reason for a deadlock where a rank has several threads that call MPI: while one waits inside, another may be
    /// about to send what all wait for.
    fn crowded(&self) -> Option<String> {
        let notes = || (0..).zip(&self.job.notes);
        let (rank, note) = notes().find(|(_, note)| note.n_threads.load(Ordering::Relaxed) > 1)?;
        let is_crowded = || notes().find(|(_, note)| note.is_crowded.load(Ordering::Relaxed));
        for _ in 0..N_LOOKS {
            if let Some((rank, _)) = is_crowded() {
                return Some(rank::crowded(rank));
            }
            let pause = libc::timespec { tv_sec: 0, tv_nsec: LOOK_NS };
            // SAFETY: the time is there until the call returns.
            unsafe { libc::syscall(libc::SYS_nanosleep, &raw const pause, std::ptr::null_mut::<libc::timespec>()) };
        }
        let n = note.n_threads.load(Ordering::Relaxed);
        Some(format!(
            "every rank waits for another, and none can go on; rank {rank} has {n} threads that call MPI, one at a time: \
             the simulator provides SERIALIZED"
        ))
    }

    /// Whether those that may run have done nothing for long: they wait for something that is not simulated.
    fn is_stuck(&mut self) -> bool {
        let running = (0..self.pids.len()).filter(|rank| self.job.turns.is_running(*rank as Rank));
        let running: Vec<usize> = running.filter(|rank| self.pids[*rank] != 0).collect();
        let calls: u64 = self.job.notes.iter().map(|note| note.n_calls.load(Ordering::Relaxed)).sum();
        let times: u64 = running.iter().map(|rank| processor_ticks(self.pids[*rank])).sum();
        let seen = calls.wrapping_mul(31) + times + running.iter().sum::<usize>() as u64;
        self.n_idle_ticks = if seen == self.seen { self.n_idle_ticks + 1 } else { 0 };
        self.seen = seen;
        let is_stuck = self.n_idle_ticks >= IDLE_TICKS_MAX;
        if is_stuck {
            let seconds = i64::from(IDLE_TICKS_MAX) * TICK_S;
            let what =
                format!("it waits for something that is not simulated: {seconds} s without a call or processor time");
            self.fail(running.first().map_or(0, |rank| *rank as Rank), what);
        }
        is_stuck
    }
}

/// The processor time of a process, in the kernel's ticks.
fn processor_ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Returns the problem with the way in which a rank ended.
fn wrong_end(job: &Job, rank: Rank, status: i32) -> Option<String> {
    let note = &job.notes[rank as usize];
    if libc::WIFSIGNALED(status) {
        if libc::WTERMSIG(status) == libc::SIGINT {
            return Some("the run was interrupted".to_owned());
        }
        let core = if libc::WCOREDUMP(status) { ", and left a core file" } else { "" };
        return Some(format!("it was ended by signal {}{core}", libc::WTERMSIG(status)));
    }
    let status = libc::WEXITSTATUS(status);
    match (status, note.is_open()) {
        (0, false) => None,
        (_, false) => Some(format!("it ended with status {status}")),
        (_, true) => Some(format!("it ended with status {status} and without MPI_Finalize")),
    }
}
