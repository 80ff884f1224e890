//! The queue of changes that wait to be sent one way, and the thread that sends them.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::Backoff;
use watch::{OnPanic, Thread, Watch};

use crate::{Alert, Way};

/// Changes that wait, at most; the oldest are given up first.
pub const N_WAITING_MAX: usize = 10_000;

/// Changes of one message, at most.
const N_TOLD_MAX: usize = 500;

/// The number of missed renewals after which a warning is over for Alertmanager, as when whoever warns is gone.
const TIMES_KEPT: u32 = 5;

/// The first wait after a failure, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// One way out. Dropping it ends its thread; what waits then is in [`Post::waiting`] before.
#[derive(Debug)]
pub struct Post {
    shared: Arc<Shared>,
    /// Ended by the drop of the post.
    _thread: Thread,
}

/// The state of a way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The name of the way for people.
    pub name: String,
    /// Changes that have still to be told.
    pub n_waiting: usize,
    /// Changes that were told.
    pub n_told: u64,
    /// Changes that were given up, because too many waited.
    pub n_given_up: u64,
    /// The reason why the last attempt failed.
    pub problem: Option<String>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    changes: VecDeque<Alert>,
    standing: Vec<Alert>,
    /// Whether the standing warnings are to be delivered again.
    is_due: bool,
    status: Status,
    is_stopping: bool,
}

impl Post {
    /// Starts to deliver warnings, those `waiting` first, and what stands `every` so often. Posts are told apart by
    /// name.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start(name: &str, way: Way, waiting: Vec<Alert>, every: Duration, watch: &Watch) -> io::Result<Self> {
        let (name, keep) = (name.to_owned(), every.saturating_mul(TIMES_KEPT));
        let status = Status { name: name.clone(), ..Status::default() };
        let state = State { changes: waiting.into(), status, ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let worked = Arc::clone(&shared);
        let thread = Thread::start(watch, format!("warnings, {name}"), OnPanic::BeginAgain, move |_| {
            worked.run(&way, keep);
        })?;
        Ok(Self { shared, _thread: thread })
    }

    /// Takes what has changed, in order, and all that stands now.
    pub fn put(&self, changes: &[Alert], standing: &[Alert]) {
        let mut state = self.shared.lock();
        state.changes.extend(changes.iter().cloned());
        let n_over = state.changes.len().saturating_sub(N_WAITING_MAX);
        state.changes.drain(..n_over);
        state.status.n_given_up += n_over as u64;
        state.standing = standing.to_vec();
        state.is_due = true;
        self.shared.changed.notify_all();
    }

    /// Changes that have still to be told.
    #[must_use]
    pub fn waiting(&self) -> Vec<Alert> {
        self.shared.lock().changes.iter().cloned().collect()
    }

    /// Returns the state of the way.
    #[must_use]
    pub fn status(&self) -> Status {
        let state = self.shared.lock();
        Status { n_waiting: state.changes.len(), ..state.status.clone() }
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.shared.lock().is_stopping = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn run(&self, way: &Way, keep: Duration) {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            let is_idle = |state: &mut State| {
                let has_work = !state.changes.is_empty() || (state.is_due && way.takes_standing());
                !has_work && !state.is_stopping
            };
            let mut state = self.changed.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
            if state.is_stopping {
                return;
            }
            state.is_due = false;
            let changes: Vec<Alert> = state.changes.iter().take(N_TOLD_MAX).cloned().collect();
            let standing = state.standing.clone();
            let n_given_up = state.status.n_given_up;
            drop(state);
            let delivered = way.deliver(&changes, &standing, keep);
            let mut state = self.lock();
            match delivered {
                Ok(()) => {
                    backoff.succeeded();
                    if state.status.problem.take().is_some() {
                        tracing::info!(way = state.status.name, "warnings are delivered again");
                    }
                    // Some of them may have been given up meanwhile.
                    let n_gone = (state.status.n_given_up - n_given_up) as usize;
                    state.changes.drain(..changes.len().saturating_sub(n_gone));
                    state.status.n_told += changes.len() as u64;
                }
                Err(error) => {
                    let problem = text::with_causes(&error);
                    // Once, and not at every attempt.
                    if state.status.problem.is_none() {
                        tracing::warn!(way = state.status.name, problem, "warnings cannot be delivered, and wait");
                    }
                    state.status.problem = Some(problem);
                    state.is_due = true;
                    let wait = backoff.next_wait();
                    let stops = self.changed.wait_timeout_while(state, wait, |state| !state.is_stopping);
                    drop(stops.unwrap_or_else(PoisonError::into_inner));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use testkit::{PATIENCE, wait_until};
    use units::Timestamp;

    use super::*;
    use crate::Command;

    fn alert(rule: &str, stands: bool) -> Alert {
        let at = Timestamp::from_nanos(0);
        Alert {
            rule: rule.to_owned(),
            host: "a".to_owned(),
            series: "load.1m".to_owned(),
            summary: "load.1m > 3 within 1h: 90 %".to_owned(),
            probability: 0.9,
            stands,
            repeated: false,
            escalated: false,
            since: at,
            at,
            origin: at,
            cause: None,
            culprit: None,
            url: "http://a/".to_owned(),
            acknowledge_url: String::new(),
            picture_url: String::new(),
            png: None,
        }
    }

    /// A post to a shell command, which has the folder as `$0`.
    fn post(script: &str, folder: &std::path::Path, waiting: Vec<Alert>) -> Post {
        let arguments = ["-c", script, folder.to_str().unwrap()].map(str::to_owned).to_vec();
        let way = Way::Command(Command { program: "/bin/sh".to_owned(), arguments });
        Post::start("a shell", way, waiting, Duration::from_secs(60), &Watch::default()).unwrap()
    }

    #[test]
    fn what_waited_is_told_first_and_all_of_it_once() {
        let folder = tempfile::tempdir().unwrap();
        let post = post("cat >> $0/said; echo >> $0/said", folder.path(), vec![alert("first", true)]);
        post.put(&[alert("second", true), alert("first", false)], &[]);
        wait_until("all is told", PATIENCE, || (post.status().n_told == 3).then_some(()));
        let said = std::fs::read_to_string(folder.path().join("said")).unwrap();
        let messages = said.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let told: Vec<(String, bool)> = messages
            .flat_map(|message| message["warnings"].as_array().unwrap().clone())
            .map(|one| (one["rule"].as_str().unwrap().to_owned(), one["stands"] == true))
            .collect();
        let expected = [("first", true), ("second", true), ("first", false)];
        assert_eq!(told, expected.map(|(rule, stands)| (rule.to_owned(), stands)));
        assert!(said.contains(r#""id":"a/second/1970-01-01T00:00:00Z","rule":"second""#), "{said}");
        assert!(post.waiting().is_empty());
    }

    #[test]
    fn what_nobody_takes_waits_and_the_oldest_are_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let post = post("exit 3", folder.path(), Vec::new());
        post.put(&vec![alert("old", true); N_WAITING_MAX], &[]);
        wait_until("it has failed", PATIENCE, || post.status().problem);
        post.put(&[alert("new", true)], &[]);
        let status = post.status();
        assert_eq!((status.n_waiting, status.n_given_up, status.n_told), (N_WAITING_MAX, 1, 0));
        assert!(status.problem.unwrap().contains("`/bin/sh` failed: exit status: 3"));
        assert_eq!(post.waiting().last().unwrap().rule, "new");
    }
}
