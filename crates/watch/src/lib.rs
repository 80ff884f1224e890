//! Threads whose panics nobody misses: each is caught, logged and kept for the health of the process. Then the work
//! begins again after a pause, or the process is told that it has to end.
//!
//! A [`Watch`] knows all [`Thread`]s that were started with it. Work that begins again finds its own state as the panic
//! left it, so it must be such that each round makes up for what the one before left undone.
#![forbid(unsafe_code)]

mod thread;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::Clock;

pub use thread::{Stop, Thread};

/// Time for which something is a problem after it failed last: whoever looks once a minute sees it.
const RECENT: Duration = Duration::from_secs(60);

/// The consequence of a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnPanic {
    /// The work begins again, after a pause that grows from a tenth of a second to a minute.
    BeginAgain,
    /// Nothing can go on without it, and the process has to end: [`Watch::fatal`] says so.
    End,
}

/// The threads that run in a process, and those of them that failed. Clones share everything.
#[derive(Clone)]
pub struct Watch(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Failures, by the names of the threads.
    failures: BTreeMap<String, Failure>,
    n_panics: u64,
    fatal: Option<String>,
    log: Log,
}

/// State of writing the log.
#[derive(Default)]
struct Log {
    /// The reason why the last line could not be written.
    problem: Option<String>,
    n_lost: u64,
}

/// The last panic of a thread.
struct Failure {
    message: String,
    at: Duration,
    n_panics: u64,
    is_running: bool,
}

impl Watch {
    /// Takes the time from `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared { clock, state: Mutex::default() }))
    }

    /// One sentence for each thread that is down, or panicked within the last minute.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let now = self.0.clock.monotonic();
        let state = self.lock();
        let is_problem = |failure: &Failure| !failure.is_running || now.saturating_sub(failure.at) < RECENT;
        let begun_again = state.failures.iter().filter(|(_, failure)| is_problem(failure)).map(|(name, failure)| {
            let Failure { message, n_panics, is_running, .. } = failure;
            let ago = now.saturating_sub(failure.at).as_secs();
            let is = if *is_running { "was started again" } else { "is about to be started again" };
            let times = if *n_panics == 1 { String::new() } else { format!(", {n_panics} times so far") };
            format!("the thread `{name}` panicked {ago} s ago and {is}{times}: {message}")
        });
        let Log { problem, n_lost } = &state.log;
        let log =
            problem.iter().map(|problem| format!("the log cannot be written: {problem}; {n_lost} lines are lost"));
        state.fatal.iter().cloned().chain(begun_again).chain(log).collect()
    }

    /// Returns the reason why the process has to end, once a thread that it cannot do without has panicked.
    #[must_use]
    pub fn fatal(&self) -> Option<String> {
        self.lock().fatal.clone()
    }

    /// Panics so far, of all threads.
    #[must_use]
    pub fn n_panics(&self) -> u64 {
        self.lock().n_panics
    }

    /// Takes note of how writing a line of the log went. Whoever writes the log goes on either way.
    pub fn note_log(&self, written: &io::Result<()>) {
        let mut state = self.lock();
        state.log.n_lost += u64::from(written.is_err());
        state.log.problem = written.as_ref().err().map(ToString::to_string);
    }

    /// Lines of the log that could not be written.
    #[must_use]
    pub fn n_log_lines_lost(&self) -> u64 {
        self.lock().log.n_lost
    }

    /// Whether the last line of the log could not be written.
    #[must_use]
    pub fn is_log_failing(&self) -> bool {
        self.lock().log.problem.is_some()
    }

    fn panicked(&self, name: &str, on_panic: OnPanic, message: String) {
        let at = self.0.clock.monotonic();
        let mut state = self.lock();
        state.n_panics += 1;
        match on_panic {
            OnPanic::End => {
                state.fatal.get_or_insert(format!("the thread `{name}` panicked and cannot go on: {message}"));
            }
            OnPanic::BeginAgain => {
                let n_panics = state.failures.get(name).map_or(0, |failure| failure.n_panics) + 1;
                let failure = Failure { message, at, n_panics, is_running: false };
                state.failures.insert(name.to_owned(), failure);
            }
        }
    }

    fn begins_again(&self, name: &str) {
        if let Some(failure) = self.lock().failures.get_mut(name) {
            failure.is_running = true;
        }
    }

    /// Returns the time since the thread of this name failed last, if it ever did.
    fn since_failure(&self, name: &str) -> Option<Duration> {
        let now = self.0.clock.monotonic();
        self.lock().failures.get(name).map(|failure| now.saturating_sub(failure.at))
    }

    fn ended(&self, name: &str) {
        self.lock().failures.remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Watch {
    /// Takes the time from the system.
    fn default() -> Self {
        Self::new(Arc::new(clock::System::start()))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("problems", &self.problems()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use testkit::{PATIENCE, wait_until};
    use units::Timestamp;

    use super::*;

    fn watched() -> (Watch, Arc<clock::Manual>) {
        let clock = Arc::new(clock::Manual::at(Timestamp::from_nanos(0)));
        (Watch::new(clock.clone()), clock)
    }

    #[test]
    fn work_that_panics_begins_again_and_is_a_problem_for_a_minute() {
        let (watch, clock) = watched();
        let (says, heard) = mpsc::channel();
        let mut n_rounds = 0;
        let thread = Thread::start(&watch, "feed", OnPanic::BeginAgain, move |stop| {
            n_rounds += 1;
            says.send(n_rounds).unwrap();
            assert!(n_rounds > 2, "round {n_rounds}");
            while !stop.wait(Duration::MAX) {}
        });
        let thread = thread.unwrap();
        assert_eq!(heard.iter().take(3).collect::<Vec<_>>(), [1, 2, 3]);
        let problem = "the thread `feed` panicked 0 s ago and was started again, 2 times so far: round 2";
        assert_eq!((watch.problems(), watch.n_panics(), watch.fatal()), (vec![problem.to_owned()], 2, None));
        clock.pass(RECENT);
        assert_eq!(watch.problems(), [""; 0]);
        drop(thread);
    }

    #[test]
    fn a_thread_that_waits_to_begin_again_ends_when_it_is_dropped() {
        let (watch, _) = watched();
        let thread = Thread::start(&watch, "feed", OnPanic::BeginAgain, |_| panic!("again")).unwrap();
        wait_until("it waits", PATIENCE, || (watch.n_panics() > 1).then_some(()));
        drop(thread);
        assert_eq!(watch.problems(), [""; 0]);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_a_problem_until_it_can() {
        let (watch, _) = watched();
        watch.note_log(&Ok(()));
        assert_eq!(watch.problems(), [""; 0]);
        watch.note_log(&Err(io::ErrorKind::StorageFull.into()));
        assert_eq!(watch.problems(), ["the log cannot be written: no storage space; 1 lines are lost"]);
        assert!(watch.is_log_failing());
        watch.note_log(&Ok(()));
        assert_eq!((watch.problems(), watch.n_log_lines_lost()), (vec![], 1));
    }

    #[test]
    fn the_process_is_told_to_end_when_nothing_goes_on_without_the_thread() {
        let (watch, clock) = watched();
        let thread = Thread::start(&watch, "store", OnPanic::End, |_| panic!("disk {}", "gone")).unwrap();
        let reason = wait_until("it is told", PATIENCE, || watch.fatal());
        assert_eq!(reason, "the thread `store` panicked and cannot go on: disk gone");
        clock.pass(2 * RECENT);
        assert_eq!(watch.problems(), [reason]);
        drop(thread);
    }
}
