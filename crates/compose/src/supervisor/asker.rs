//! Asks a component for its status, each second, on a thread of its own: one that hangs keeps nobody waiting.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use stream::{Answer, Ask, Caller, Endpoint, EndpointStatus, Role, Security, Status};

const ASK_EVERY: Duration = Duration::from_secs(1);

/// Greatest time for an answer: a component that needs longer is busy with something else.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Age at which an answer no longer describes the present.
const FRESH_FOR: Duration = Duration::from_secs(5);

/// Figures computed from a component's answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) in_per_second: Option<f64>,
    pub(super) out_per_second: Option<f64>,
    pub(super) backlog_bytes: u64,
    pub(super) dropped: u64,
    pub(super) latency: Option<String>,
    pub(super) error: Option<String>,
}

/// The thread that asks. It ends after this is dropped.
pub(super) struct Asker {
    answers: Arc<Mutex<Answers>>,
    /// Dropped to end the thread.
    _stop: Sender<()>,
}

/// The last answer, the one before, and the times at which they came.
#[derive(Debug, Default)]
struct Answers {
    last: Option<(Instant, Status)>,
    before: Option<(Instant, Status)>,
}

impl Asker {
    pub(super) fn start(endpoint: Endpoint) -> io::Result<Self> {
        let answers = Arc::new(Mutex::new(Answers::default()));
        let (stop, stopped) = mpsc::channel::<()>();
        let noted = Arc::clone(&answers);
        thread::Builder::new().name("asker".to_owned()).spawn(move || {
            let mut caller = None;
            let mut pause = Duration::from_millis(50);
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                match ask(&mut caller, &endpoint) {
                    Some(status) => {
                        lock(&noted).note(clock::instant(), status);
                        pause = ASK_EVERY;
                    }
                    // It may be about to start.
                    None => caller = None,
                }
            }
        })?;
        Ok(Self { answers, _stop: stop })
    }

    /// Returns the figures of its status; `None` if it has not answered for a while.
    pub(super) fn figures(&self) -> Option<Figures> {
        lock(&self.answers).figures()
    }

    /// Forgets the answers of a process that is gone.
    pub(super) fn forget(&self) {
        *lock(&self.answers) = Answers::default();
    }
}

fn lock(answers: &Mutex<Answers>) -> std::sync::MutexGuard<'_, Answers> {
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ask(caller: &mut Option<Caller>, endpoint: &Endpoint) -> Option<Status> {
    if caller.is_none() {
        *caller = Caller::open(endpoint, &Security::default()).ok();
    }
    match caller.as_mut()?.call(Ask::Status {}, ANSWER_WITHIN) {
        Ok((Answer::Status(status), _)) => Some(status),
        _ => None,
    }
}

impl Answers {
    fn note(&mut self, at: Instant, status: Status) {
        self.before = self.last.replace((at, status));
    }

    fn figures(&self) -> Option<Figures> {
        let (at, last) = self.last.as_ref().filter(|(at, _)| at.elapsed() < FRESH_FOR)?;
        let rate = |counts: fn(Role) -> bool| {
            let (then, before) = self.before.as_ref()?;
            // What has no such endpoint has no rate of them either.
            last.endpoints.iter().filter_map(role).find(|role| counts(*role))?;
            // A count that went back is that of another process.
            let n = n_frames(last, counts).checked_sub(n_frames(before, counts))?;
            Some(n as f64 / at.saturating_duration_since(*then).as_secs_f64()).filter(|rate| rate.is_finite())
        };
        let backlog = last.endpoints.iter().map(|endpoint| endpoint.counted.backlog_bytes).max();
        let latency = last.facts.iter().find(|(name, _)| name.contains("latency")).map(|(_, value)| value.clone());
        Some(Figures {
            in_per_second: rate(Role::is_input),
            out_per_second: rate(Role::is_output),
            backlog_bytes: backlog.unwrap_or(0),
            dropped: last.endpoints.iter().map(|endpoint| endpoint.counted.n_dropped).sum(),
            latency,
            error: last.endpoints.iter().find_map(error),
        })
    }
}

fn role(status: &EndpointStatus) -> Option<Role> {
    status.endpoint.parse::<Endpoint>().ok().map(|endpoint| endpoint.role)
}

fn n_frames(status: &Status, counts: fn(Role) -> bool) -> u64 {
    let counted = status.endpoints.iter().filter(|endpoint| role(endpoint).is_some_and(counts));
    counted.map(|endpoint| endpoint.counted.n_frames).sum()
}

/// Returns the error that keeps away a connection that this side makes. A connection that is there has mended the
/// error.
fn error(status: &EndpointStatus) -> Option<String> {
    let connects = role(status).is_some_and(|role| !role.listens());
    status.counted.last_error.clone().filter(|_| connects && status.counted.n_connected == 0)
}

#[cfg(test)]
mod tests {
    use stream::Counted;

    use super::*;

    fn status(n_in: u64, n_out: u64, n_connected: u64) -> Status {
        let endpoint = |endpoint: &str, n_frames| EndpointStatus {
            endpoint: endpoint.to_owned(),
            address: None,
            counted: Counted {
                n_frames,
                n_connected,
                n_dropped: 1,
                backlog_bytes: n_frames,
                last_error: Some("refused".to_owned()),
                ..Counted::default()
            },
        };
        let endpoints =
            vec![endpoint("source:tcp:a:1", n_in), endpoint("connect:tcp:2", n_out), endpoint("server:tcp:3", 9)];
        Status { component: "x".to_owned(), endpoints, facts: vec![("latency, median".to_owned(), "60 us".to_owned())] }
    }

    #[test]
    fn rates_are_differences_and_requests_are_no_messages() {
        let mut answers = Answers::default();
        let now = clock::instant();
        answers.note(now, status(100, 1000, 1));
        assert_eq!(answers.figures().unwrap().in_per_second, None);
        answers.note(now + Duration::from_secs(2), status(120, 1100, 1));
        let figures = answers.figures().unwrap();
        assert_eq!((figures.in_per_second, figures.out_per_second), (Some(10.0), Some(50.0)));
        assert_eq!((figures.dropped, figures.backlog_bytes, figures.error), (3, 1100, None));
        assert_eq!(figures.latency.as_deref(), Some("60 us"));
    }

    #[test]
    fn a_process_that_began_again_has_no_rate_at_first() {
        let mut answers = Answers::default();
        answers.note(clock::instant(), status(100, 100, 0));
        answers.note(clock::instant(), status(0, 0, 0));
        let figures = answers.figures().unwrap();
        assert_eq!((figures.in_per_second, figures.error.as_deref()), (None, Some("refused")));
    }
}
